{{- /* The init container that installs feeder and boot gate on the host, and the volumes that it needs. */ -}}
{{- define "nodemend.agentInstaller" -}}
- name: host-parts
  image: {{ include "nodemend.image" . }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  command: [python3, -m, nodemend.agent.host_bundle, /given, /installed, $(NODE_NAME)]
  env:
    - name: NODE_NAME
      valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
    - {name: TMPDIR, value: /scratch}
  resources: {requests: {cpu: 10m, memory: 32Mi}, limits: {memory: 64Mi}}
  securityContext:
    runAsUser: 0
    runAsGroup: 0
    allowPrivilegeEscalation: false
    readOnlyRootFilesystem: true
    capabilities: {drop: [ALL]}
  volumeMounts:
    - {name: host-parts, mountPath: /given, readOnly: true}
    - {name: scratch, mountPath: /scratch}
    - {name: host-systemd, mountPath: /installed/systemd}
    - {name: host-settings, mountPath: /installed/settings}
    - {name: host-program, mountPath: /installed/program}
{{- end -}}
{{- define "nodemend.agentInstallerVolumes" -}}
- name: host-parts
  configMap: {name: nodemend-host-parts}
- name: scratch
  emptyDir: {medium: Memory, sizeLimit: 4Mi}
- name: host-systemd
  hostPath: {path: /etc/systemd/system, type: Directory}
- name: host-settings
  hostPath: {path: /etc/nodemend, type: DirectoryOrCreate}
- name: host-program
  hostPath: {path: /usr/lib/nodemend, type: DirectoryOrCreate}
{{- end -}}
