#!/bin/sh
# After the files are gone. The data in /var/lib/taskrt stays, whatever is asked for: it may be the last copy. So does the user, who owns it.
set -e

case "$1" in
remove | purge | 0) ;;
*) exit 0 ;;
esac
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
for dir in /var/lib/taskrt /var/lib/taskrt-worker; do
	if [ "$1" != remove ] && [ -d "$dir" ]; then
		echo "taskrt: $dir stays, with everything in it; remove it by hand if nobody needs it"
	fi
done
