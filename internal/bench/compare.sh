#!/usr/bin/env bash
# Go benchmarks of the working tree against those of the merge base: see docs/performance-history.md. Parameters come from the environment.
set -euo pipefail
cd "$(git rev-parse --show-toplevel)"

pkgs=${PKG:-./task} bench=${BENCH:-.} count=${COUNT:-6} benchtime=${BENCHTIME:-200ms} base=${BASE:-main}
benchstat=golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da
[[ $count =~ ^[1-9][0-9]{0,2}$ ]] || { echo "bench-compare: COUNT must be 1 to 999, not \"$count\"" >&2; exit 2; }

old=$(git merge-base "$base" HEAD) || { echo "bench-compare: BASE=$base has no commit in common with HEAD" >&2; exit 2; }
if [[ $old == "$(git rev-parse HEAD)" && -z $(git status --porcelain) ]]; then
	echo "bench-compare: HEAD is the merge base with $base, and nothing is changed: say what to compare with, BASE=HEAD~1" >&2
	exit 2
fi

tmp=$(mktemp -d)
trap 'git worktree remove --force "$tmp/base" 2>/dev/null || true; rm -rf "$tmp"' EXIT
git worktree add --quiet --detach "$tmp/base" "$old"

i=0
for pkg in $pkgs; do
	i=$((i + 1))
	go test -tags urfave_cli_no_docs -c -o "$tmp/new$i.test" "$pkg"
	(cd "$tmp/base" && go test -tags urfave_cli_no_docs -c -o "$tmp/old$i.test" "$pkg")
done

# The two take turns, and begin in turn: what disturbs the machine disturbs both.
run() { # old|new, number, package
	local dir=.
	[[ $1 == new ]] || dir=$tmp/base
	(cd "$dir/$3" && "$tmp/$1$2.test" -test.run '^$' -test.bench "$bench" -test.benchtime "$benchtime" -test.benchmem) >>"$tmp/$1.txt"
}
for ((round = 1; round <= count; round++)); do
	i=0
	for pkg in $pkgs; do
		i=$((i + 1))
		echo "round $round of $count: $pkg" >&2
		if ((round % 2)); then sides="old new"; else sides="new old"; fi
		for side in $sides; do run "$side" "$i" "$pkg"; done
	done
done
grep -q '^Benchmark' "$tmp/new.txt" || { echo "bench-compare: no benchmark of $pkgs matches \"$bench\"" >&2; exit 2; }
(cd "$tmp" && go run "$benchstat" old.txt new.txt)
