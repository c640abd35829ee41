#!/usr/bin/env bash
# Runs INTERLOCK_ACTION_RUN under the gate. Inputs come as environment variables, so that nothing in them is taken for code.
set -u
ran=$(mktemp -u)
args=(exec "$INTERLOCK_ACTION_PIPELINE" --wait "$INTERLOCK_ACTION_WAIT" --worker "$INTERLOCK_ACTION_WORKER" --on-unreachable "$INTERLOCK_ACTION_UNREACHABLE")
if [ -n "$INTERLOCK_ACTION_DATE" ]; then
	args+=(--date "$INTERLOCK_ACTION_DATE")
fi
code=0
INTERLOCK_ACTION_RAN=$ran "$INTERLOCK_ACTION_BINARY" "${args[@]}" -- \
	bash -c ': >"$INTERLOCK_ACTION_RAN"; exec bash --noprofile --norc -eo pipefail -c "$INTERLOCK_ACTION_RUN"' || code=$?
{
	echo "exit-code=$code"
	if [ -e "$ran" ]; then echo ran=true; else echo ran=false; fi
} >>"$GITHUB_OUTPUT"
rm -f "$ran"
exit "$code"
