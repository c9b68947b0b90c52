#!/bin/bash
# make packages-check: the packages in a clean Debian with systemd, in namespaces of this machine: version 0.1.0 by hand, then the Debian package over
# its data, a worker, reload, upgrade, a killed process and one that hangs, bad usage, removal; then the same files from the RPM package. Needs root,
# mmdebstrap and systemd-nspawn (package systemd-container). DIST=DIR takes packages that are there, FORMER=FILE a binary of 0.1.0, ROOT_TAR=FILE a
# root that mmdebstrap has made.
set -euo pipefail
cd "$(dirname "$0")/.."
for tool in mmdebstrap systemd-nspawn nsenter dpkg-deb pgrep; do
	command -v "$tool" >/dev/null || { echo "packages-check needs $tool (Debian: mmdebstrap systemd-container util-linux dpkg procps)"; exit 1; }
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
arch=$(go env GOARCH)
make_packages() { (cd packages && go run . -targets "linux_$arch" -only deb,rpm "$@") >/dev/null; }
if [[ -z ${DIST:-} ]]; then
	DIST=$work/dist && make_packages -out "$DIST"
fi
if [[ -z ${FORMER:-} ]]; then
	mkdir "$work/former" && git archive eb7019f017c43a359de6a820740d9b161f0b39c2 | tar -x -C "$work/former"
	(cd "$work/former" && CGO_ENABLED=0 go build -tags urfave_cli_no_docs -trimpath -o "$work/taskrt-former" ./cmd/taskrt)
	FORMER=$work/taskrt-former
fi
# The next version is the same program in packages with a higher number.
dpkg-deb -x "$DIST"/*.deb "$work/files"
make_packages -out "$work/next" -version 9.9.9 -binary "$work/files/usr/bin/taskrt"

step "a clean Debian"
root=$work/root
[[ -n ${ROOT_TAR:-} ]] || { ROOT_TAR=$work/root.tar; mmdebstrap --quiet --variant=minbase --include=systemd,systemd-sysv,bash-completion,man-db,rpm bookworm "$ROOT_TAR"; }
mkdir "$root" && tar -x -C "$root" -f "$ROOT_TAR"
for kind in deb rpm; do
	cp "$DIST"/*."$kind" "$root/new.$kind" && cp "$work"/next/*."$kind" "$root/next.$kind"
done
cp testdata/wasm/wordcount.wasm "$root/"
install -m 755 "$FORMER" "$root/usr/local/bin/taskrt"
# (nspawn 252 does not know the calls of Landlock, by which guests shut themselves in)
systemd-nspawn --quiet --register=no --keep-unit --system-call-filter="landlock_create_ruleset landlock_add_rule landlock_restrict_self" -D "$root" -b --private-network >"$work/console" 2>&1 &
nspawn=$!
inside() { nsenter -t "$init" -m -u -i -n -p -C -r -w -- env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 "$@"; }
look() { inside systemctl status taskrt taskrt-worker --no-pager -l || :; inside journalctl -u taskrt -u taskrt-worker -n 60 --no-pager || :; }
until_true() { # what, command: within two minutes
	for ((i = 0; i < 600; i++)); do "${@:2}" >/dev/null 2>&1 && return; sleep 0.2; done
	echo "not within two minutes: $1"; look; exit 1
}
booted() { init=$(pgrep -P "$nspawn" | head -1) && [[ -n $init ]] && inside systemctl is-active multi-user.target; }
until_true "boot" booted
fail() { echo "FAILED: $*"; look; exit 1; }
of() { inside systemctl show -P "$2" "$1"; } # a property of a unit
is() { [[ $(inside systemctl "is-$1" "$2" || :) == "$3" ]]; }
says() { [[ $(of "$1" StatusText) == "$2"* ]]; }
ready() { says taskrt ready; }
at_work() { says taskrt-worker 'session' && [[ $(of taskrt-worker StatusText) == *'works for n1' ]]; }
logged() { inside journalctl -u "$1" --no-pager | grep "$2" >/dev/null; } # grep reads to the end: if it ended early, journalctl would fail
other() { local now; now=$(of "$1" MainPID) && [[ $now != 0 && $now != "$before" ]] && "$2"; }
wall() { inside taskrt cluster workers | awk '$1 == "n1" { sub(",-?memory_cgroup", "", $NF); print $NF }'; } # a unit that delegates may have that, too

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
unhindered=$(wall) && [[ $unhindered == no_new_privs,* ]] || fail "no wall is shown: $unhindered"
inside systemctl stop taskrt

step "the package over its data"
inside rm /etc/systemd/system/taskrt.service /usr/local/bin/taskrt
inside dpkg -i /new.deb
for unit in taskrt taskrt-worker; do
	is enabled $unit disabled || fail "the package enables $unit unasked"
	is active $unit inactive || fail "the package starts $unit unasked"
	complaints=$(inside systemd-analyze verify /usr/lib/systemd/system/$unit.service 2>&1 | grep -v DelegateSubgroup || :)
	[[ -z $complaints ]] || fail "systemd-analyze verify: $complaints"
	inside systemd-analyze security --no-pager --threshold=20 $unit | tail -1 || fail "$unit is exposed"
done
inside systemctl enable --now taskrt || fail "it does not start"
until_true "ready" ready
inside taskrt get old | grep SUCCESS >/dev/null || fail "the task of 0.1.0 is gone"
inside taskrt submit wordcount --id new --params '{"text":"a b a b"}' --wait --timeout 2m || fail "guests do not run in this unit"
inside taskrt version
inside taskrt cluster workers
[[ $(wall) == "$unhindered" ]] || fail "the unit takes something from the wall around guests, which was $unhindered"
inside bash -c 'man -w taskrt && source /usr/share/bash-completion/completions/taskrt && complete -p taskrt' || fail "no manual or no completion"

step "a worker beside it"
inside systemctl enable --now taskrt-worker || fail "it does not start"
until_true "the worker works" at_work
inside taskrt cluster drain n1
inside taskrt submit wordcount --params '{"text":"c c"}' --wait --timeout 2m || fail "guests do not run in the worker's unit"
inside taskrt cluster undrain n1

step "reload"
for unit in taskrt taskrt-worker; do
	file=/etc/taskrt/${unit/taskrt-/}.env
	before=$(of $unit MainPID)
	inside bash -c "echo TASKRT_LOG_LEVEL=debug >>$file" && inside systemctl reload $unit || fail "reload"
	until_true "$unit: read again" logged $unit 'the settings were read again'
	inside cp $file /good-$unit && inside bash -c "echo TASKRT_NONSENSE=1 >>$file"
	if inside systemctl reload $unit 2>/dev/null; then fail "$unit: a file with an error is reloaded"; fi
	[[ $(of $unit MainPID) == "$before" ]] && is active $unit active || fail "a failed reload touches what runs"
done

step "an upgrade with files that the new version refuses: what runs goes on"
before=$(of taskrt MainPID)-$(of taskrt-worker MainPID)
said=$(inside dpkg -i /next.deb 2>&1)
grep 'runs on with the former version' <<<"$said"
[[ $(grep -c 'runs on with the former version' <<<"$said") == 2 ]] || fail "it is not said of both units"
[[ $(of taskrt MainPID)-$(of taskrt-worker MainPID) == "$before" ]] || fail "something was restarted with settings that it refuses"

step "an upgrade with good ones: both are restarted, and the changed files are kept"
worker=$(of taskrt-worker MainPID) && before=$(of taskrt MainPID)
inside cp /good-taskrt /etc/taskrt/taskrt.env && inside cp /good-taskrt-worker /etc/taskrt/worker.env && inside dpkg -i /next.deb
other taskrt true && before=$worker && other taskrt-worker true || fail "not both were restarted"
until_true "ready after the upgrade" ready
until_true "the worker after the upgrade" at_work
inside grep -q LOG_LEVEL=debug /etc/taskrt/taskrt.env || fail "the settings are gone"

step "a process that is killed, and one that hangs"
for unit in taskrt taskrt-worker; do
	well=ready && [[ $unit == taskrt ]] || well=at_work
	[[ $(of $unit WatchdogUSec) == 1min ]] || fail "$unit has another watchdog"
	inside bash -c "mkdir -p /run/systemd/system/$unit.service.d && printf '[Service]\nWatchdogSec=15\n' >/run/systemd/system/$unit.service.d/sooner.conf"
	inside systemctl daemon-reload # what starts next has it
	before=$(of $unit MainPID) && inside bash -c "kill -9 $before"
	until_true "$unit: restarted after kill -9" other $unit $well
	before=$(of $unit MainPID) && inside bash -c "kill -STOP $before"
	until_true "$unit: restarted by the watchdog" other $unit $well
	logged $unit 'Watchdog timeout' || fail "it was not the watchdog"
done

step "bad usage is not tried again"
inside bash -c 'echo TASKRT_SESSION_TTL=1s >>/etc/taskrt/taskrt.env'
inside systemctl restart taskrt 2>/dev/null && fail "it starts with a TTL of a second"
sleep 5 # the unit would start it again after 2 s
is failed taskrt failed && [[ $(of taskrt ExecMainStatus) == 2 ]] || fail "it is started again and again"
logged taskrt 'session-ttl must be at least' || fail "nobody is told why"
inside cp /good-taskrt /etc/taskrt/taskrt.env && inside systemctl restart taskrt
until_true "ready again" ready

step "removal"
inside dpkg -r taskrt
is active taskrt inactive && is active taskrt-worker inactive || fail "something runs on"
inside test -d /var/lib/taskrt/raft || fail "removal took the data"
inside dpkg -P taskrt
inside test -d /var/lib/taskrt/raft || fail "purge took the data"
if inside test -e /etc/taskrt/taskrt.env; then fail "purge left the settings"; fi

step "the RPM package over the same data"
rpm() { inside rpm --force-debian --nodeps "$@"; }
rpm -i /new.rpm
is enabled taskrt disabled && is active taskrt inactive || fail "the package starts the service unasked"
inside systemctl enable --now taskrt || fail "it does not start"
until_true "ready" ready
inside taskrt get new | grep SUCCESS >/dev/null || fail "the task is gone"
before=$(of taskrt MainPID)
inside bash -c 'echo TASKRT_LOG_LEVEL=debug >>/etc/taskrt/taskrt.env'
rpm -U /next.rpm
other taskrt true || fail "the upgrade does not restart the node"
until_true "ready after the upgrade" ready
inside grep -q LOG_LEVEL=debug /etc/taskrt/taskrt.env || fail "the settings are gone"
inside rpm -e taskrt
is active taskrt inactive || fail "it runs on"
inside test -d /var/lib/taskrt/raft || fail "removal took the data"
step "all of it works"
