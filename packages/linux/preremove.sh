#!/bin/sh
# Before the files go. Debian: remove, upgrade; RPM: 0 at a removal, 1 at an upgrade.
set -e

case "$1" in
remove | 0) ;;
*) exit 0 ;;
esac
[ -d /run/systemd/system ] || exit 0
systemctl disable --now taskrt.service taskrt-worker.service
