#!/bin/sh
# Prints a CycloneDX 1.5 bill of materials of a Go binary, from its embedded build information:
# sbom.sh BINARY VERSION
set -eu
go version -m "$1" | awk -v version="$2" -F '\t' '
	$2 == "dep" || $2 == "=>" { path = $3; v = $4; n++; paths[n] = path; versions[n] = v }
	$2 == "=>" { paths[n-1] = paths[n]; versions[n-1] = versions[n]; n-- }
	NR == 1 { split($0, first, ": "); go = first[2] }
	END {
		printf "{\n  \"bomFormat\": \"CycloneDX\",\n  \"specVersion\": \"1.5\",\n  \"version\": 1,\n"
		printf "  \"metadata\": {\"component\": {\"type\": \"application\", \"name\": \"interlock\", \"version\": \"%s\", \"purl\": \"pkg:golang/github.com/interlock-go/interlock@%s\"}},\n", version, version
		printf "  \"components\": [\n"
		printf "    {\"type\": \"library\", \"name\": \"std\", \"version\": \"%s\", \"purl\": \"pkg:golang/std@%s\"}", go, go
		for (i = 1; i <= n; i++)
			printf ",\n    {\"type\": \"library\", \"name\": \"%s\", \"version\": \"%s\", \"purl\": \"pkg:golang/%s@%s\"}", paths[i], versions[i], paths[i], versions[i]
		printf "\n  ]\n}\n"
	}'
