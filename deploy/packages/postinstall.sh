#!/bin/sh
# Runs after the deb or rpm package is installed or upgraded. It creates the service's user and
# starts nothing.
set -e
if ! id -u interlock >/dev/null 2>&1; then
	useradd --system --user-group --home-dir /var/lib/interlock --shell /usr/sbin/nologin interlock
fi
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
