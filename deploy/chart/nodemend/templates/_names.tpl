{{- /* The user names under which the API server knows our controllers. */ -}}
{{- define "nodemend.checker" -}}
system:serviceaccount:{{ .Release.Namespace }}:nodemend-checker
{{- end -}}
{{- define "nodemend.remediator" -}}
system:serviceaccount:{{ .Release.Namespace }}:nodemend-remediator
{{- end -}}

{{- /* Labels of every object; those of one component, if the argument names one: (list $ "checker"). */ -}}
{{- define "nodemend.labels" -}}
app.kubernetes.io/name: nodemend
app.kubernetes.io/part-of: nodemend
{{- end -}}
{{- define "nodemend.component" -}}
app.kubernetes.io/name: nodemend
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{- define "nodemend.image" -}}
{{- $image := .Values.image -}}
{{ $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}{{ with $image.digest }}@{{ . }}{{ end }}
{{- end -}}

{{- /* The mode of the RemediationPolicy that is in the cluster already; empty where there is none. */ -}}
{{- define "nodemend.presentMode" -}}
{{- if .Capabilities.APIVersions.Has "nodemend.io/v1alpha1/RemediationPolicy" -}}
{{- with lookup "nodemend.io/v1alpha1" "RemediationPolicy" "" "cluster" -}}
{{ .spec.mode }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* What people need to see of Machines, where their checks are served: rules of a role. */}}
{{- define "nodemend.seeMachines" -}}
{{- if .Values.machineHealthChecks.enabled -}}
- apiGroups: [cluster.x-k8s.io, machine.openshift.io]
  resources: [machines, machinehealthchecks]
  verbs: [get, list, watch]
- apiGroups: [cluster.x-k8s.io]
  resources: [clusters]
  verbs: [get, list, watch]
# Whose definition it is tells who serves the checks.
- apiGroups: [apiextensions.k8s.io]
  resources: [customresourcedefinitions]
  resourceNames: [machinehealthchecks.cluster.x-k8s.io]
  verbs: [get]
{{- end -}}
{{- end }}
