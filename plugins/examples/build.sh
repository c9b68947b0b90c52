#!/usr/bin/env bash
# Builds the examples' committed modules, testdata/wasm/NAME.wasm, reproducibly: the same Go version gives the same bytes on
# every machine.
#
#   plugins/examples/build.sh            builds, writes the modules, their lines of SHA256SUMS, and GO_VERSION
#   plugins/examples/build.sh --check    builds aside and compares; 1 if a committed module is not what its source gives.
#                                        With another Go version than the recorded one it can only check the sums.
set -euo pipefail
export LC_ALL=C # the order of SHA256SUMS
cd "$(dirname "$0")/../.."

names=(build-index flaky primes validate-table word-count-op wordcount)
out=testdata/wasm
here=$(go env GOVERSION)

# Nothing of the caller's environment may get into the file.
build() { # name directory
	env -u GOFLAGS -u GOEXPERIMENT -u GOWASM GOWORK=off CGO_ENABLED=0 GOOS=wasip1 GOARCH=wasm \
		go build -buildmode=c-shared -trimpath -buildvcs=false -ldflags='-s -w' -o "$2/$1.wasm" "./plugins/examples/$1"
}

# same tells whether two modules are the same code. Go's build ID names the sources, comments included: it is left out, so
# that a comment is no reason to commit megabytes again.
same() {
	[[ -e $2 ]] && cmp -s <(sed 's/Go build ID: "[^"]*"//' "$1") <(sed 's/Go build ID: "[^"]*"//' "$2")
}

check() {
	local tmp name failed=0 recorded
	recorded=$(cat "$out/GO_VERSION")
	(cd "$out" && sha256sum --quiet --check SHA256SUMS) || failed=1
	if [[ $recorded != "$here" ]]; then
		echo "build.sh: the modules were built by $recorded, this is $here: only their sums were checked" >&2
		return "$failed"
	fi
	tmp=$(mktemp -d)
	for name in "${names[@]}"; do
		build "$name" "$tmp"
		same "$tmp/$name.wasm" "$out/$name.wasm" || {
			echo "build.sh: $out/$name.wasm is not what its source gives: run plugins/examples/build.sh" >&2
			failed=1
		}
	done
	rm -r "$tmp"
	return "$failed"
}

write() {
	local tmp name sums
	mkdir -p "$out"
	tmp=$(mktemp -d)
	for name in "${names[@]}"; do
		build "$name" "$tmp"
		same "$tmp/$name.wasm" "$out/$name.wasm" || cp "$tmp/$name.wasm" "$out/$name.wasm"
		sums=$(grep -v " $name.wasm\$" "$out/SHA256SUMS" 2>/dev/null || true)
		{ [[ -z $sums ]] || echo "$sums"; (cd "$out" && sha256sum "$name.wasm"); } | sort -k2 >"$out/SHA256SUMS.new"
		mv "$out/SHA256SUMS.new" "$out/SHA256SUMS"
	done
	rm -r "$tmp"
	echo "$here" >"$out/GO_VERSION"
}

case "${1-}" in
'') write ;;
--check) check ;;
*)
	echo "usage: build.sh [--check]" >&2
	exit 2
	;;
esac
