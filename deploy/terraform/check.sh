#!/bin/sh
# check.sh INTERLOCK TIMELIMIT JOBTYPES ENV SECRETS PARAMETERS PATH... prints {"problems": "…",
# "warnings": "…"} for Terraform: the report of `interlock validate` on the files. TIMELIMIT is the
# longest execution, JOBTYPES the job types that may be started, ENV the variables that ${env:NAME}
# may read, and SECRETS and PARAMETERS the ARNs that ${secret:NAME} and ${ssm:NAME} may read. A
# report without errors goes to warnings.
set -u
command=$1 limit=$2 types=$3 env=$4 secrets=$5 parameters=$6
shift 6
if ! command -v "$command" >/dev/null 2>&1; then
	echo "there is no $command to check the files with; install Interlock, or name it with interlock_path" >&2
	exit 1
fi
validate() {
	"$command" validate --platform aws --time-limit "$limit" --job-types "$types" ${env:+--env "$env"} \
		${secrets:+--secrets "$secrets"} ${parameters:+--parameters "$parameters"} "$@"
}

# text encodes a text as a JSON string.
text() {
	printf '%s' "$1" | awk '
		BEGIN { printf "\"" }
		{ gsub(/\\/, "&&"); gsub(/"/, "\\\""); gsub(/\t/, "\\t"); gsub(/[\001-\037]/, ""); printf "%s%s", (NR > 1 ? "\\n" : ""), $0 }
		END { printf "\"" }'
}

problems= warnings=
if found=$(validate --format json "$@" 2>&1); then
	[ "$found" = "[]" ] || warnings=$(validate "$@" 2>&1)
else
	problems=$(validate "$@" 2>&1)
fi
printf '{"problems": %s, "warnings": %s}\n' "$(text "$problems")" "$(text "$warnings")"
