{{- define "interlock.name" -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{- define "interlock.selector" -}}
app.kubernetes.io/name: interlock
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "interlock.labels" -}}
{{ include "interlock.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "interlock.image" -}}
{{ printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) | quote }}
{{- end -}}

{{- define "interlock.container" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{/* interlock.file is the server's file. Jobs report to the Service, which reaches any replica. */}}
{{- define "interlock.file" -}}
listen: 0.0.0.0:8740
data: /var/lib/interlock/data
pipelines: [/etc/interlock/pipelines]
{{- if not .Values.config.callbackURL }}
callbackURL: http://{{ include "interlock.name" . }}.{{ .Release.Namespace }}.svc:{{ .Values.service.port }}
{{- end }}
{{- if .Values.config }}
{{ toYaml .Values.config }}
{{- end }}
{{- end -}}

{{/* interlock.mustExist is not empty if an empty volume is refused. A pod that is added on a Redis begins with one. */}}
{{- define "interlock.mustExist" -}}
{{- $auto := and .Release.IsUpgrade (not (include "interlock.shared" .)) (not .Values.persistence.ephemeral) -}}
{{- if or (eq .Values.persistence.mustExist "always") (and (eq .Values.persistence.mustExist "auto") $auto) }}true{{ end -}}
{{- end -}}
