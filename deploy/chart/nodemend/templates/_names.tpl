{{- /* The user names of Nodemend's controllers at the API server. */ -}}
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

{{- /* The namespace of the agents and of the Leases with their reports; and the agents' user name at the API server. */ -}}
{{- define "nodemend.agents" -}}
nodemend-agents
{{- end -}}
{{- define "nodemend.agent" -}}
system:serviceaccount:{{ include "nodemend.agents" . }}:nodemend-agent
{{- end -}}

{{- /* Labels of every object; and the labels of one component, with the argument (list $ "checker"). */ -}}
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

{{- /* The mode of the RemediationPolicy that is already in the cluster; empty if it does not exist. */ -}}
{{- define "nodemend.presentMode" -}}
{{- if .Capabilities.APIVersions.Has "nodemend.io/v1alpha1/RemediationPolicy" -}}
{{- with lookup "nodemend.io/v1alpha1" "RemediationPolicy" "" "cluster" -}}
{{ .spec.mode }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* The reason of the pause, if the policy is paused: a pause outlives an uninstall. */ -}}
{{- define "nodemend.presentPause" -}}
{{- if .Capabilities.APIVersions.Has "nodemend.io/v1alpha1/RemediationPolicy" -}}
{{- with lookup "nodemend.io/v1alpha1" "RemediationPolicy" "" "cluster" -}}
{{ dig "spec" "pause" "reason" "" . }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Rules of a role: the rights of users to read Machines. `status` counts Machines that it may not list as unread. */}}
{{- define "nodemend.seeMachines" -}}
- apiGroups: [cluster.x-k8s.io, machine.openshift.io]
  resources: [machines, machinehealthchecks]
  verbs: [get, list, watch]
- apiGroups: [cluster.x-k8s.io]
  resources: [clusters]
  verbs: [get, list, watch]
# The labels and versions of this definition show which project serves the checks.
- apiGroups: [apiextensions.k8s.io]
  resources: [customresourcedefinitions]
  resourceNames: [machinehealthchecks.cluster.x-k8s.io]
  verbs: [get]
{{- end }}

{{/* Rules of a role: the other rights that `kubectl mend tree` and `timeline` need. Pods are not included: their
environment variables may contain secrets. */}}
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

{{/* Rules of a role: each account of Nodemend reads Nodemend's admission policies, to check that they are as shipped. */}}
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

{{/* Rules of a role: a write that nodemend-settings must deny, which the controllers send as a dry run. The right is for
one name, so it allows only server-side apply of that name, and the policy denies that to Nodemend's accounts. */}}
{{- define "nodemend.trySettings" -}}
- apiGroups: [nodemend.io]
  resources: [nodehealthchecks]
  resourceNames: [nodemend-policy-probe]
  verbs: [create, patch]
{{- end }}
