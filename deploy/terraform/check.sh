#!/bin/sh
# check.sh INTERLOCK TIMELIMIT PATH... answers Terraform with {"problems": "…"}: what `interlock validate` has against the files, where
# an execution may take that long; nothing where they are fine.
set -u
command=$1 limit=$2
shift 2
if ! command -v "$command" >/dev/null 2>&1; then
	echo "there is no $command to check the files with; install Interlock, or name it with interlock_path" >&2
	exit 1
fi
problems=$("$command" validate --platform aws --time-limit "$limit" "$@" 2>&1) && problems=
printf '%s' "$problems" | awk '
	BEGIN { printf "{\"problems\": \"" }
	{ gsub(/\\/, "&&"); gsub(/"/, "\\\""); gsub(/\t/, "\\t"); gsub(/[\001-\037]/, ""); printf "%s%s", (NR > 1 ? "\\n" : ""), $0 }
	END { print "\"}" }'
