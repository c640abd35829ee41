#!/bin/sh
# Builds the functions of AWS: build.sh [DIST [NAME...]] puts NAME.zip into DIST (dist), all six unless some are named. The same
# sources make the same bytes, wherever and whenever they are built, so that Terraform replaces only what has changed.
set -eu
mkdir -p "${1:-dist}"
dist=$(cd "${1:-dist}" && pwd)
[ $# -eq 0 ] || shift
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- stream-router orchestrator sla-monitor watchdog event-sink alert-dispatcher
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

go build -o "$work/pack" ./deploy/pack
for name; do
	CGO_ENABLED=0 GOOS=linux GOARCH=arm64 GOFLAGS= go build -trimpath -buildvcs=false -tags lambda.norpc -ldflags '-s -w -buildid=' \
		-o "$work/bootstrap" "./cmd/lambda/$name"
	"$work/pack" "$work/bootstrap" "$dist/$name.zip"
	echo "$dist/$name.zip"
done
