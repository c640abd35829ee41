#!/bin/sh
# Installs the servers that benchmarks start, as `make test` does, and runs the benchmarks. If a
# server is missing, its benchmark says so; the others still print their rows.
set -u
cd "$(dirname "$0")/.." || exit 1
. scripts/need.sh
need redis-server redis-server || echo 'bench: no redis-server' >&2
{ need javac openjdk-17-jdk-headless && need npm npm && scripts/dynamodb-local.sh; } >&2 || echo 'bench: no DynamoDB Local' >&2
ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || need initdb postgresql || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || echo 'bench: no PostgreSQL' >&2
exec go run ./bench "$@"
