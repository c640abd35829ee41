#!/bin/sh
# Shows the offline commands on the medallion example: bronze data arrives from outside, silver and
# gold are built from it. The tour checks every command's exit code, so it is also a test.
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

# chapter TITLE prints the title, and the explanation from standard input.
chapter() {
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

chapter '1. Are the pipeline files right?' <<'TEXT'
Four pipelines turn raw earthquake and crypto data into silver and gold tables. A fifth
writes a daily report. `validate` checks every file and the references between them.
TEXT
expect 0 interlock validate $example

chapter '2. What if they are not?' <<'TEXT'
A copy of the silver pipeline has a misspelt key, check and job type. `validate` reports
all of them at once, each with its line, its column and the correct name.
TEXT
expect 1 interlock validate examples/broken.yaml

chapter '3. May silver start? Not yet.' <<'TEXT'
Outside processes push sensor readings, and the rules of a pipeline form its gate. With
the readings of 11:05 for the hour from 10:00, the gate is closed. Each rule shows the
value that it found.
TEXT
expect 1 interlock evaluate $silver --sensors $example/sensors/closed.json --at 2026-03-03T11:05:00Z --date 2026-03-03T10

chapter '4. Now it may start.' <<'TEXT'
The same command after the rest of the data has arrived. Exit code 0 means open and 1
means closed, so any scheduler or script can use it.
TEXT
expect 0 interlock evaluate $silver --sensors $example/sensors/open.json --at 2026-03-03T11:05:00Z --date 2026-03-03T10

chapter '5. When will the daily report run?' <<'TEXT'
It follows New York time, where daylight saving time ends on 1 November 2026: the fires
and deadlines move by one hour in UTC, but not in New York. The list also contains the
days that the calendar excludes; nothing runs on them.
TEXT
expect 0 interlock next $example/pipelines/daily-report.yaml --from 2026-10-29T00:00:00Z --count 6 --calendars $example/calendars

chapter '6. What may a file contain?' <<'TEXT'
`interlock schema` prints the JSON Schema of a pipeline file, generated from the types that
decode it. Editors can use it. Its first lines:
TEXT
printf '%s$ interlock schema | head -n 12%s\n' "$bold" "$plain"
interlock schema >"$work/schema.json" || exit 1
head -n 12 "$work/schema.json"

chapter 'Everything so far worked offline.' <<'TEXT'
The files used are in examples/medallion: change one and run `make tour` again.
`make demo` shows the controller at work.
TEXT
