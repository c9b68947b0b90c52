#!/bin/bash
# make dist-check: the same commit gives the same bytes, wherever and whenever they are made. The second time the sources are a copy without a
# repository, in another directory, with other rights, another time zone and another language. With FRESH=1 Go's cache of compiled packages is
# another one, too, which takes minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
test -z "$(git status --porcelain)" || { echo "commit first: the copy has only what is committed"; exit 1; }

work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
commit=$(git rev-parse --short=12 HEAD)
(cd packages && go run . -out "$work/first" "$@")

mkdir -p "$work/a copy/of taskrt"
(umask 077; git archive HEAD | tar -x -C "$work/a copy/of taskrt")
[[ -z ${FRESH:-} ]] || export GOCACHE="$work/cache"
(
	umask 027
	export TZ=Pacific/Auckland LC_ALL=C HOME="$work" GOMODCACHE="$(go env GOMODCACHE)" GOCACHE="$(go env GOCACHE)" SOURCE_DATE_EPOCH
	SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
	cd "$work/a copy/of taskrt/packages" && go run . -commit "$commit" -out "$work/second" "$@" >"$work/log"
)
diff -u "$work/first/SHA256SUMS" "$work/second/SHA256SUMS" || { echo "the bytes differ"; exit 1; }
(cd "$work/second" && sha256sum --quiet -c SHA256SUMS)
echo "$(wc -l <"$work/first/SHA256SUMS") files, the same bytes twice"
