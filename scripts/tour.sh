#!/bin/sh
# Shows the offline commands on the medallion example: bronze data arrives from outside, silver and gold are built
# from it. The tour checks every command's exit code, so it is also a test.
set -u
cd "$(dirname "$0")/.." || exit 1
PATH=$PWD/bin:$PATH
example=examples/medallion
silver=$example/pipelines/earthquake-silver.yaml
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

bold='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
	bold=$(printf '\033[1m') plain=$(printf '\033[0m')
fi

# tell TITLE prints the title, and the explanation from standard input.
tell() {
	printf '\n%s%s%s\n\n' "$bold" "$1" "$plain"
	cat
	echo
}

# expect CODE COMMAND... shows the command, its output and its exit code.
expect() {
	want=$1
	shift
	printf '%s$ %s%s\n' "$bold" "$*" "$plain"
	"$@" && got=0 || got=$?
	echo "(exit code $got)"
	[ "$got" -eq "$want" ] && return
	echo "expected exit code $want" >&2
	exit 1
}

tell '1. Are the pipeline files right?' <<'TEXT'
Four pipelines turn raw earthquake and crypto data into silver and gold tables, a fifth
writes a daily report. `validate` reads every file, also what they say about each other.
TEXT
expect 0 interlock validate $example

tell '2. What if they are not?' <<'TEXT'
A copy of the silver pipeline with a misspelt key, check and job type. Each is reported at
its line and column, with what would be right, and all of them at once.
TEXT
expect 1 interlock validate examples/broken.yaml

tell '3. May silver start? Not yet.' <<'TEXT'
Outside processes push sensors; the rules of a pipeline are its gate. Here are the facts
as they stand at 11:05 for the slice of 10 o'clock: the gate stays closed, and each rule
says what it saw.
TEXT
expect 1 interlock evaluate $silver --sensors $example/sensors/closed.json --at 2026-03-03T11:05:00Z --date 2026-03-03T10

tell '4. Now it may.' <<'TEXT'
The same question after the rest of the data has arrived. Exit code 0 is "yes", 1 is "no",
so any scheduler or script can ask.
TEXT
expect 0 interlock evaluate $silver --sensors $example/sensors/open.json --at 2026-03-03T11:05:00Z --date 2026-03-03T10

tell '5. When will the daily report run?' <<'TEXT'
It follows the clock of New York, where daylight saving time ends on 1 November 2026: in
UTC the fires and deadlines move by one hour, in New York they stay where they were. Days
that its calendar excludes are listed, too: nothing will run on them.
TEXT
expect 0 interlock next $example/pipelines/daily-report.yaml --from 2026-10-29T00:00:00Z --count 6 --calendars $example/calendars

tell '6. What may stand in a file?' <<'TEXT'
`interlock schema` prints the JSON Schema of a pipeline file, made from the same types
that read it. Give it to your editor. Its first lines:
TEXT
printf '%s$ interlock schema | head -n 12%s\n' "$bold" "$plain"
interlock schema >"$work/schema.json" || exit 1
head -n 12 "$work/schema.json"

tell 'That was all offline.' <<'TEXT'
The files used are in examples/medallion: change one and run `make tour` again.
`make demo` shows the controller at work.
TEXT
