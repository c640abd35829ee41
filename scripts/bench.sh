#!/bin/sh
# Fetches the servers that benchmarks start, as `make test` does, and measures. A benchmark whose server is missing says so;
# the others still print their rows.
set -u
cd "$(dirname "$0")/.." || exit 1
. scripts/need.sh
need redis-server redis-server || echo 'bench: no redis-server' >&2
{ need javac openjdk-17-jdk-headless && need npm npm && scripts/dynamodb-local.sh; } >&2 || echo 'bench: no DynamoDB Local' >&2
ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || need initdb postgresql || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || echo 'bench: no PostgreSQL' >&2
exec go run ./bench "$@"
