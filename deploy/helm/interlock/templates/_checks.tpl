{{/*
interlock.shared is "true" if the server's file names a store that several controllers can share, and
empty if the state is in the embedded store of each pod's own volume.
*/}}
{{- define "interlock.shared" -}}
{{- $store := toString (default "sqlite" .Values.config.store) -}}
{{- $redis := default dict .Values.config.redis -}}
{{- if or (hasPrefix "redis://" $store) (hasPrefix "rediss://" $store) $redis.addr -}}true{{- end -}}
{{- end -}}

{{/* interlock.store differs if the store does. */}}
{{- define "interlock.store" -}}
{{- $redis := default dict .Values.config.redis -}}
{{- printf "%s %s %d %s" (toString (default "sqlite" .Values.config.store)) (toString $redis.addr) (int $redis.db) (toString (default "interlock" $redis.keyPrefix)) | sha256sum | trunc 16 -}}
{{- end -}}

{{/*
interlock.check fails if the values cannot be safe. values.schema.json checks their names and types.
*/}}
{{- define "interlock.check" -}}
{{- $shared := include "interlock.shared" . -}}
{{- $redis := default dict .Values.config.redis -}}
{{- if regexMatch "^rediss?://[^/]*:[^/]*@" (toString .Values.config.store) -}}
  {{- fail "config.store contains a password, and everyone who may read the config map could read it: keep it in the secret, and name its variable in config.redis.passwordEnv and secretEnv" -}}
{{- end -}}
{{- if and .Values.config.store $redis.addr -}}
  {{- fail "config.store and config.redis.addr both name a store: remove one of the two" -}}
{{- end -}}
{{- if and (not $shared) .Values.config.redis -}}
  {{- fail "config.redis has settings, but no Redis is named: set config.store=redis://HOST:6379/0, or remove config.redis" -}}
{{- end -}}
{{- if and (not $shared) (ne (toString (default "sqlite" .Values.config.store)) "sqlite") -}}
  {{- fail "config.store is not a store of this chart: use sqlite with one replica, or redis://HOST:6379/0" -}}
{{- end -}}
{{- if and (gt (int .Values.replicas) 1) (not $shared) -}}
  {{- fail (printf "replicas is %d, and each replica would have an embedded store of its own, so that every job would run %d times: set config.store=redis://HOST:6379/0, or replicas=1" (int .Values.replicas) (int .Values.replicas)) -}}
{{- end -}}
{{- $running := lookup "apps/v1" "StatefulSet" .Release.Namespace (include "interlock.name" .) -}}
{{- if and $running (gt (int .Values.replicas) 0) (gt (int $running.status.replicas) 0) -}}
  {{- $other := index (default dict $running.metadata.annotations) "interlock/store" -}}
  {{- if and $other (ne $other (include "interlock.store" .)) -}}
    {{- fail "the store changes while pods run on the old one, so that jobs would run on both: upgrade with replicas=0 first, wait until the pods have ended, and then upgrade again" -}}
  {{- end -}}
{{- end -}}
{{- if not (has .Values.persistence.accessMode (list "ReadWriteOnce" "ReadWriteOncePod")) -}}
  {{- fail (printf "persistence.accessMode is %s: a volume of several nodes does not keep two pods off one store; use ReadWriteOnce or ReadWriteOncePod" .Values.persistence.accessMode) -}}
{{- end -}}
{{- range $key := list "listen" "socketMode" "tls" "data" "pipelines" -}}
  {{- if hasKey $.Values.config $key -}}
    {{- fail (printf "config.%s cannot be set: the chart sets the address, the data directory and the pipelines; end TLS at the ingress" $key) -}}
  {{- end -}}
{{- end -}}
{{- if and .Values.pipelines .Values.pipelinesConfigMap -}}
  {{- fail "pipelines and pipelinesConfigMap are both set: remove one of the two" -}}
{{- end -}}
{{- if and .Values.ingress.enabled (not .Values.ingress.host) -}}
  {{- fail "ingress.enabled needs ingress.host, the public name of the server" -}}
{{- end -}}
{{- if and .Values.metrics.serviceMonitor.enabled (not .Values.metrics.serviceMonitor.tokenSecret.key) -}}
  {{- fail "metrics.serviceMonitor needs tokenSecret.name and tokenSecret.key, a secret's key with a token of the role viewer: add that token to config.auth.tokens" -}}
{{- end -}}
{{- end -}}
