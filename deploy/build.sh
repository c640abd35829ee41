#!/bin/sh
# Builds the AWS Lambda functions: build.sh [DIST [NAME...]] writes NAME.zip to DIST (dist); by
# default all six. Builds are reproducible: the same sources give the same bytes, so that Terraform
# replaces only functions that have changed. ARCH is the architecture, arm64 or x86_64, as in the
# Terraform module's variable architecture.
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
