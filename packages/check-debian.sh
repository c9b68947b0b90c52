#!/bin/bash
# make packages-check: the Debian package in a clean Debian with systemd, in namespaces of this machine: version 0.1.0 by hand, then the package over
# its data, reload, watchdog, a killed process, an upgrade, removal. Needs root, mmdebstrap and systemd-nspawn (package systemd-container).
# DEB=FILE takes a package that is there, FORMER=FILE a binary of 0.1.0, ROOT_TAR=FILE a root that mmdebstrap has made.
set -euo pipefail
cd "$(dirname "$0")/.."
for tool in mmdebstrap systemd-nspawn nsenter dpkg-deb; do
	command -v "$tool" >/dev/null || { echo "packages-check needs $tool (Debian: mmdebstrap systemd-container util-linux)"; exit 1; }
done
work=$(mktemp -d /var/tmp/taskrt-packages.XXXXXX)
nspawn=
cleanup() {
	[[ -z $nspawn ]] || kill "$nspawn" 2>/dev/null || :
	[[ -z $nspawn ]] || wait "$nspawn" 2>/dev/null || :
	rm -rf "$work"
}
trap cleanup EXIT
step() { printf '== %s (at %ss)\n' "$*" "$SECONDS"; }

step "packages"
if [[ -z ${DEB:-} ]]; then
	(cd packages && go run . -out "$work/dist" -targets "linux_$(go env GOARCH)" -only deb)
	DEB=$(ls "$work"/dist/*.deb)
fi
if [[ -z ${FORMER:-} ]]; then
	mkdir "$work/former" && git archive eb7019f017c43a359de6a820740d9b161f0b39c2 | tar -x -C "$work/former"
	(cd "$work/former" && CGO_ENABLED=0 go build -tags urfave_cli_no_docs -trimpath -o "$work/taskrt-former" ./cmd/taskrt)
	FORMER=$work/taskrt-former
fi
# The next version is the same program in a package with a higher number.
dpkg-deb -R "$DEB" "$work/next" && sed -i 's/^Version: .*/Version: 9.9.9/' "$work/next/DEBIAN/control" && dpkg-deb -Zgzip -z1 -b "$work/next" "$work/next.deb" >/dev/null

step "a clean Debian"
root=$work/root
[[ -n ${ROOT_TAR:-} ]] || { ROOT_TAR=$work/root.tar; mmdebstrap --quiet --variant=minbase --include=systemd,systemd-sysv,bash-completion,man-db bookworm "$ROOT_TAR"; }
mkdir "$root" && tar -x -C "$root" -f "$ROOT_TAR"
cp "$DEB" "$root/new.deb" && cp "$work/next.deb" "$root/next.deb" && cp testdata/wasm/wordcount.wasm "$root/"
install -m 755 "$FORMER" "$root/usr/local/bin/taskrt"
systemd-nspawn --quiet --register=no --keep-unit -D "$root" -b --private-network >"$work/console" 2>&1 &
nspawn=$!
inside() { nsenter -t "$init" -m -u -i -n -p -C -r -w -- env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 "$@"; }
until_true() { # what, command: within two minutes
	for ((i = 0; i < 600; i++)); do "${@:2}" >/dev/null 2>&1 && return; sleep 0.2; done
	echo "not within two minutes: $1"; inside journalctl -u taskrt -n 40 --no-pager || :; exit 1
}
booted() { init=$(pgrep -P "$nspawn" | head -1) && [[ -n $init ]] && inside systemctl is-active multi-user.target; }
until_true "boot" booted
fail() { echo "FAILED: $*"; inside systemctl status taskrt --no-pager -l || :; inside journalctl -u taskrt -n 60 --no-pager || :; exit 1; }
pid() { inside systemctl show -P MainPID taskrt; }
status() { inside systemctl show -P StatusText taskrt; }
said() { inside journalctl -u taskrt --no-pager | grep "$1" >/dev/null; } # to its end: if grep ended early, journalctl would fail
ready() { [[ $(status) == ready* ]]; }

step "version 0.1.0, by hand"
inside useradd --system --home-dir /var/lib/taskrt taskrt
inside bash -c 'mkdir -p /etc/systemd/system && cat >/etc/systemd/system/taskrt.service' <<'END'
[Service]
ExecStart=/usr/local/bin/taskrt server --id n1 --dir /var/lib/taskrt
User=taskrt
StateDirectory=taskrt
Restart=on-failure
KillMode=mixed
END
inside systemctl daemon-reload && inside systemctl start taskrt
former_serves() { inside taskrt push /wordcount.wasm; }
until_true "0.1.0 serves" former_serves
inside taskrt submit wordcount --id old --params '{"text":"a b a"}' --wait --timeout 2m
inside systemctl stop taskrt

step "the package over its data"
inside rm /etc/systemd/system/taskrt.service /usr/local/bin/taskrt
inside dpkg -i /new.deb
[[ $(inside systemctl is-enabled taskrt || :) == disabled ]] || fail "the package enables the service unasked"
[[ $(inside systemctl is-active taskrt || :) == inactive ]] || fail "the package starts the service unasked"
inside systemd-analyze verify /usr/lib/systemd/system/taskrt.service /usr/lib/systemd/system/taskrt-worker.service 2>&1 | grep -v DelegateSubgroup || :
inside systemd-analyze security --no-pager taskrt | tail -1
inside systemctl enable --now taskrt || fail "it does not start"
until_true "ready" ready
inside taskrt get old | grep SUCCESS >/dev/null || fail "the task of 0.1.0 is gone"
inside taskrt submit wordcount --id new --params '{"text":"a b a b"}' --wait --timeout 2m || fail "guests do not run in this unit"
inside taskrt version
inside taskrt cluster workers
inside bash -c 'man -w taskrt && source /usr/share/bash-completion/completions/taskrt && complete -p taskrt' || fail "no manual or no completion"

step "reload"
before=$(pid)
inside bash -c 'echo TASKRT_LOG_LEVEL=debug >>/etc/taskrt/taskrt.env' && inside systemctl reload taskrt || fail "reload"
until_true "read again" said 'the settings were read again'
inside cp /etc/taskrt/taskrt.env /good.env && inside bash -c 'echo TASKRT_NONSENSE=1 >>/etc/taskrt/taskrt.env'
if inside systemctl reload taskrt; then fail "a file with an error is reloaded"; fi
[[ $(pid) == "$before" && $(inside systemctl is-active taskrt) == active ]] || fail "a failed reload touches what runs"

step "an upgrade with a file that the new version refuses: the former one runs on"
inside dpkg -i /next.deb 2>&1 | grep 'runs on with the former version' || fail "nothing is said"
[[ $(pid) == "$before" ]] || fail "the node was restarted with settings that it refuses"

step "an upgrade with a good one: it is restarted, and the changed file is kept"
inside cp /good.env /etc/taskrt/taskrt.env && inside dpkg -i /next.deb
[[ $(pid) != "$before" ]] || fail "the node was not restarted"
until_true "ready after the upgrade" ready
inside grep -q LOG_LEVEL=debug /etc/taskrt/taskrt.env || fail "the settings are gone"

step "a process that is killed, and one that hangs"
[[ $(inside systemctl show -P WatchdogUSec taskrt) == 1min ]] || fail "the unit has another watchdog"
inside bash -c 'mkdir -p /run/systemd/system/taskrt.service.d && printf "[Service]\nWatchdogSec=15\n" >/run/systemd/system/taskrt.service.d/sooner.conf'
inside systemctl daemon-reload # what starts next has it
before=$(pid) && inside bash -c "kill -9 $before"
other() { local now; now=$(pid) && [[ $now != 0 && $now != "$before" ]] && ready; }
until_true "restarted after kill -9" other
before=$(pid) && inside bash -c "kill -STOP $before"
until_true "restarted by the watchdog" other
said 'Watchdog timeout' || fail "it was not the watchdog"

step "bad usage is not tried again"
inside bash -c 'echo TASKRT_SESSION_TTL=1s >>/etc/taskrt/taskrt.env'
inside systemctl restart taskrt && fail "it starts with a TTL of a second"
sleep 5 # the unit would start it again after 2 s
[[ $(inside systemctl is-failed taskrt) == failed && $(inside systemctl show -P ExecMainStatus taskrt) == 2 ]] || fail "it is started again and again"
inside cp /good.env /etc/taskrt/taskrt.env && inside systemctl restart taskrt
until_true "ready again" ready

step "removal"
inside dpkg -r taskrt
[[ $(inside systemctl is-active taskrt || :) == inactive ]] || fail "it runs on"
inside test -d /var/lib/taskrt/raft || fail "removal took the data"
inside dpkg -P taskrt
inside test -d /var/lib/taskrt/raft || fail "purge took the data"
if inside test -e /etc/taskrt/taskrt.env; then fail "purge left the settings"; fi
step "all of it works"
