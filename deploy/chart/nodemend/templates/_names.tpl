{{- /* The user names under which the API server knows our controllers. */ -}}
{{- define "nodemend.checker" -}}
system:serviceaccount:{{ .Release.Namespace }}:nodemend-checker
{{- end -}}
{{- define "nodemend.remediator" -}}
system:serviceaccount:{{ .Release.Namespace }}:nodemend-remediator
{{- end -}}

{{- define "nodemend.signer" -}}
system:serviceaccount:{{ .Release.Namespace }}:nodemend-signer
{{- end -}}
{{- define "nodemend.windDown" -}}
system:serviceaccount:{{ .Release.Namespace }}:nodemend-wind-down
{{- end -}}

{{- /* The controllers that are installed. */ -}}
{{- define "nodemend.components" -}}
checker remediator{{ if .Values.selfFencing.enabled }} signer{{ end }}
{{- end -}}

{{- /* Where agents run, and where each node has its Lease with us; and as whom the API server knows them. */ -}}
{{- define "nodemend.agents" -}}
nodemend-agents
{{- end -}}
{{- define "nodemend.agent" -}}
system:serviceaccount:{{ include "nodemend.agents" . }}:nodemend-agent
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

{{- /* Why it is paused, if it is: a pause outlives an uninstall. */ -}}
{{- define "nodemend.presentPause" -}}
{{- if .Capabilities.APIVersions.Has "nodemend.io/v1alpha1/RemediationPolicy" -}}
{{- with lookup "nodemend.io/v1alpha1" "RemediationPolicy" "" "cluster" -}}
{{ dig "spec" "pause" "reason" "" . }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* What people need to see of Machines: rules of a role. `status` counts Machines that it may not list as unread. */}}
{{- define "nodemend.seeMachines" -}}
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
{{- end }}

{{/* What people need to see for `kubectl mend tree` and `timeline` besides: rules of a role. Pods are not among it: what
they are given in their environment may be secret. */}}
{{- define "nodemend.seeStories" -}}
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [list]
- apiGroups: [storage.k8s.io]
  resources: [volumeattachments]
  verbs: [list]
{{- if .Values.powerCycle.enabled }}
- apiGroups: [metal3.io]
  resources: [baremetalhosts]
  verbs: [get, list]
- apiGroups: [cluster.x-k8s.io, machine.openshift.io]
  resources: [machines]
  verbs: [get]
- apiGroups: [infrastructure.cluster.x-k8s.io]
  resources: [metal3machines]
  verbs: [get]
{{- end }}
{{- end }}

{{/* The admission policies of ours, which each of our accounts reads to see that they are as shipped: rules of a role. */}}
{{- define "nodemend.readPolicies" -}}
- apiGroups: [admissionregistration.k8s.io]
  resources: [validatingadmissionpolicies, validatingadmissionpolicybindings]
  resourceNames:
    - nodemend-accounts
    - nodemend-agent-leases
    - nodemend-agent-namespace
    - nodemend-agent-requests
    - nodemend-agent-trust
    - nodemend-capm3
    - nodemend-confirmation
    - nodemend-external-remediation
    - nodemend-hosts
    - nodemend-machines
    - nodemend-node-exclusion
    - nodemend-nodes
    - nodemend-orders
    - nodemend-remediations
    - nodemend-settings
  verbs: [get]
{{- end }}

{{/* A write that nodemend-settings must refuse, tried as a dry run: rules of a role. By the name it is worth nothing else: a
creation under a right for one name goes through server-side apply alone, and the policy refuses it to our accounts. */}}
{{- define "nodemend.trySettings" -}}
- apiGroups: [nodemend.io]
  resources: [nodehealthchecks]
  resourceNames: [nodemend-policy-probe]
  verbs: [create, patch]
{{- end }}
