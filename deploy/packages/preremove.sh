#!/bin/sh
# Runs before the deb or rpm package is removed. It stops the service, except on an upgrade; state
# and user stay.
set -e
case ${1:-remove} in
remove | 0) ;; # deb, rpm
*) exit 0 ;;
esac
if [ -d /run/systemd/system ]; then
	systemctl disable --now interlock
fi
