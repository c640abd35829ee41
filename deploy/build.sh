#!/bin/sh
# Builds the functions of AWS: build.sh [DIST [NAME...]] puts NAME.zip into DIST (dist), all six unless some are named. The same
# sources make the same bytes, wherever and whenever they are built, so that Terraform replaces only what has changed.
# ARCH is the processor: arm64, or x86_64, as the variable architecture of the Terraform module has it.
set -eu
case ${ARCH:-arm64} in
arm64) arch=arm64 ;;
x86_64) arch=amd64 ;;
*) echo "ARCH is $ARCH; write arm64 or x86_64" >&2 && exit 2 ;;
esac
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
	CGO_ENABLED=0 GOOS=linux GOARCH=$arch GOFLAGS= go build -trimpath -buildvcs=false -tags lambda.norpc -ldflags '-s -w -buildid=' \
		-o "$work/bootstrap" "./cmd/lambda/$name"
	"$work/pack" "$work/bootstrap" "$dist/$name.zip"
	echo "$dist/$name.zip"
done
