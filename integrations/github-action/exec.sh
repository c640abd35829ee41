#!/usr/bin/env bash
# Runs INTERLOCK_ACTION_RUN under the gate. Inputs come as environment variables, so that nothing in
# them is taken for code.
set -u
work=$(mktemp -d) || exit
args=(exec "$INTERLOCK_ACTION_PIPELINE" --wait "$INTERLOCK_ACTION_WAIT" --worker "$INTERLOCK_ACTION_WORKER" --on-unreachable "$INTERLOCK_ACTION_UNREACHABLE")
if [ -n "$INTERLOCK_ACTION_DATE" ]; then
	args+=(--date "$INTERLOCK_ACTION_DATE")
fi
# A cancelled workflow interrupts this shell alone. It passes that on, so that the attempt is
# reported as failed at once. Before the command has started, $! is empty.
interrupted=false
trap 'interrupted=true; kill -TERM "${!-}" 2>/dev/null' INT TERM
INTERLOCK_ACTION_RAN=$work/ran "$INTERLOCK_ACTION_BINARY" "${args[@]}" -- \
	bash -c ': >"$INTERLOCK_ACTION_RAN"; exec bash --noprofile --norc -eo pipefail -c "$INTERLOCK_ACTION_RUN"' &
exec=$!
if $interrupted; then kill -TERM "$exec" 2>/dev/null; fi
while :; do
	interrupted=false
	wait "$exec"
	code=$?
	$interrupted || break # a signal ended the wait, and not the command
done
{
	echo "exit-code=$code"
	if [ -e "$work/ran" ]; then echo ran=true; else echo ran=false; fi
} >>"$GITHUB_OUTPUT"
rm -rf "$work"
exit "$code"
