#!/bin/sh
# Runs every fuzz target of the repository for FUZZTIME (5s). go test stores a failing input in
# testdata/fuzz, where it becomes a test case.
set -u
cd "$(dirname "$0")/.." || exit 1
limit=${FUZZTIME:-5s}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# fuzz TARGET PACKAGE runs one target.
fuzz() {
	go test -run '^$' -fuzz "^$1\$" -fuzztime "$limit" "$2" >"$log" 2>&1
}

# stumbled reports that the fuzzer hit its own deadline, which is not a failure of the target.
stumbled() {
	grep -q 'context deadline exceeded' "$log" && ! grep -q 'Failing input written' "$log"
}

targets=0 failed=0
# File and function names contain no spaces.
for found in $(grep -r --include='*_test.go' --exclude-dir=node_modules '^func Fuzz' . | sed 's/^\(.*\)\/[^/]*_test\.go:func \(Fuzz[A-Za-z0-9_]*\).*/\1:\2/' | sort -u); do
	package=${found%%:*} target=${found##*:}
	targets=$((targets + 1))
	if fuzz "$target" "$package" || { stumbled && fuzz "$target" "$package"; }; then
		echo "$target in $package: ok"
	else
		failed=$((failed + 1))
		echo "$target in $package: FAIL"
		cat "$log"
	fi
done
echo "$targets fuzz targets for $limit each, $failed failed"
[ "$failed" -eq 0 ]
