#!/bin/sh
# Records the result files of dbt, Soda and Great Expectations that the tests of internal/artifact
# read: scripts/record-artifacts.sh [dbt] [soda] [gx]. It needs Python 3.11 and a package index, and
# installs the pinned versions into a temporary directory, or into VENVS, which it leaves in place.
set -eu

cd "$(dirname "$0")/.."
testdata=$PWD/internal/artifact/testdata
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
venvs=${VENVS:-$work/venvs}
# The tools find no settings of the user, leave nothing in the home directory, and send nothing.
export HOME="$work/home" TZ=UTC DBT_SEND_ANONYMOUS_USAGE_STATS=false GX_ANALYTICS_ENABLED=false
mkdir -p "$HOME/.soda"
echo "send_anonymous_usage_stats: false" >"$HOME/.soda/config.yml"

# install NAME PACKAGE...: makes an environment, unless it is there.
install() {
	export VENV="$venvs/$1"
	shift
	if [ ! -d "$VENV" ]; then
		python3 -m venv "$VENV"
		"$VENV/bin/pip" install --quiet "$@"
	fi
	PATH="$VENV/bin:$path"
}
path=$PATH

# project NAME: works in a copy of the recorded project.
project() {
	rm -rf "${work:?}/$1"
	cp -R "$testdata/record/$1" "$work/$1"
	cd "$work/$1"
	mkdir -p out "$testdata/$1"
}

# keep NAME ANCHOR: replaces the recorded files by the new ones. None may name this machine.
keep() {
	python3 "$testdata/record/neutral.py" "$2" out/*.json
	if grep -nE "$work|$(hostname)|$(id -un)@|$venvs" out/*.json; then
		echo "record-artifacts: the lines above name this machine; teach neutral.py" >&2
		exit 1
	fi
	rm -f "$testdata/$1"/*.json
	cp out/*.json "$testdata/$1/"
}

# dbt_file NAME COMMAND...: runs dbt and keeps its run_results.json or sources.json, if it wrote one.
# Failing nodes are what the recording is for.
dbt_file() {
	name=$1
	shift
	mkdir -p target
	touch -c -d 2000-01-01 target/run_results.json target/sources.json
	dbt --quiet "$@" >"out/$name.log" 2>&1 || true
	for file in run_results sources; do
		if [ -n "$(find target -name $file.json -newer dbt_project.yml)" ]; then
			cp "target/$file.json" "out/$name.json"
		fi
	done
}

record_dbt() {
	install dbt dbt-core==1.11.16 dbt-duckdb==1.11.1 duckdb==2.0.0
	project dbt
	export DBT_PROFILES_DIR=.
	dbt_file run-operation run-operation land
	dbt_file seed seed
	dbt_file snapshot snapshot
	dbt_file freshness source freshness
	dbt_file build build
	dbt_file retry retry
	dbt_file run run --select orders
	dbt_file test test --select orders
	dbt_file compile compile
	dbt_file docs-generate docs generate
	dbt_file clone clone --state target
	dbt_file list list # writes no file
	dbt_file parse parse
	rm out/*.log
	keep dbt '"generated_at"'
}

record_soda() {
	install soda soda-core-duckdb==3.5.6 duckdb==1.0.0 setuptools==65.5.0
	project soda
	python tables.py
	for checks in passing checks invalid broken; do
		OTEL_SDK_DISABLED=true soda scan -d shop -s nightly -v MOST=2 -c configuration.yml -srf "out/$checks.json" "$checks.yml" \
			>/dev/null 2>&1 || true # failing checks are what the recording is for
	done
	keep soda '"scanEndTimestamp"'
}

record_gx() {
	install gx great-expectations==1.24.1
	project gx
	python record.py out >record.log 2>&1 || {
		cat record.log >&2
		exit 1
	}
	keep gx '"run_time"'
}

for tool in ${*:-dbt soda gx}; do
	(record_"$tool")
done
