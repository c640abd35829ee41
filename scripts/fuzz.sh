#!/bin/sh
# Runs every fuzz target of the repository for FUZZTIME (5s). An input that breaks one is kept by go test under
# testdata/fuzz, where it is a test case from then on.
set -u
cd "$(dirname "$0")/.." || exit 1
limit=${FUZZTIME:-5s}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# fuzz TARGET PACKAGE runs one target.
fuzz() {
	go test -run '^$' -fuzz "^$1\$" -fuzztime "$limit" "$2" >"$log" 2>&1
}

# stumbled says that the fuzzer ran into its own time limit, which says nothing about the target.
stumbled() {
	grep -q 'context deadline exceeded' "$log" && ! grep -q 'Failing input written' "$log"
}

targets=0 failed=0
# The names of files and functions hold no spaces.
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
