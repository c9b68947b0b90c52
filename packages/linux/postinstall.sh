#!/bin/sh
# After the files are there. Debian: configure [FORMER]; RPM: 1 at the first installation, 2 at an upgrade.
set -e

upgrade=no
case "$1" in
configure) [ -z "$2" ] || upgrade=yes ;;
1) ;;
[0-9]*) upgrade=yes ;;
*) exit 0 ;; # Debian's abort-…: nothing has changed
esac

if command -v systemd-sysusers >/dev/null 2>&1; then
	systemd-sysusers taskrt.conf
elif ! getent passwd taskrt >/dev/null; then
	useradd --system --user-group --home-dir /var/lib/taskrt --no-create-home --shell /usr/sbin/nologin taskrt
fi

[ -d /run/systemd/system ] || exit 0 # nothing runs here that could be told
systemctl daemon-reload
if [ "$upgrade" = yes ]; then
	# What runs goes on with the new version, and what does not run is not started. A node hands its leadership over before it stops. An
	# upgrade of the package does not fail because a service does not start: the journal says why.
	restart() { # unit, command, file
		systemctl --quiet is-active "$1" || return 0
		# The new version looks at the settings first. If it would not start with them, the former one runs on.
		if said=$(runuser -u taskrt -- taskrt "$2" --check --config "$3" 2>&1); then
			systemctl try-restart "$1" || :
		else
			echo "taskrt: $1 was not restarted, it runs on with the former version: $said" >&2
		fi
	}
	restart taskrt.service server /etc/taskrt/taskrt.env
	restart taskrt-worker.service worker /etc/taskrt/worker.env
fi
