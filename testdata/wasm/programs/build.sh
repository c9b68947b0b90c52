#!/bin/sh
# Builds the programs of this folder anew from the sources of Debian 12, and what they print, by a native build of the same
# sources. With -check nothing is changed, and the exit code is 1 if a file here is another one. Needs the network, and:
#   apt-get install clang-16 lld-16 wasi-libc libclang-rt-16-dev-wasm32 gcc make tcl
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"

mkdir -p lists/partial
echo 'deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main' >sources.list
apt="apt-get -qq -o Dir::Etc::SourceList=$tmp/sources.list -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists=$tmp/lists -o APT::Sandbox::User=root"
$apt update
$apt source --download-only lua5.4=5.4.4-3+deb12u1 sqlite3=3.40.1-2+deb12u2 cmark=0.30.2-6
sha256sum --quiet -c - <<EOF
164c7849653b80ae67bec4b7473b884bf5cc8d2dca05653475ec2ed27b9ebf61  lua5.4_5.4.4.orig.tar.gz
aaa776260ab4dc976db34aa7891819484c8676b5b2783123ebc6301e2ca5d655  sqlite3_3.40.1.orig.tar.xz
6c7d2bcaea1433d977d8fed0b55b71c9d045a7cdf616e3cd2dce9007da753db3  cmark_0.30.2.orig.tar.gz
EOF
for f in lua5.4_5.4.4 sqlite3_3.40.1 cmark_0.30.2; do tar xf $f.orig.tar.*; rm $f.orig.tar.*; done
mkdir out out/lua out/sqlite out/cmark

wasm() { # NAME FLAGS AND SOURCES
	name=$1
	shift
	clang-16 --target=wasm32-wasi --sysroot=/usr -Os -w -D_WASI_EMULATED_SIGNAL -D_WASI_EMULATED_PROCESS_CLOCKS -D_WASI_EMULATED_GETPID \
		-Wl,--strip-all -o "$tmp/out/$name.wasm" "$@" -lwasi-emulated-signal -lwasi-emulated-process-clocks -lwasi-emulated-getpid -lm
}

cd "$tmp/lua-5.4.4/src"
rm luac.c
cp "$here"/lua/*.[ch] .
wasm lua -I. -include wasi.h *.c
rm wasi.[ch] setjmp.h
gcc -O2 -w -DLUA_USE_POSIX -o "$tmp/lua" *.c -lm
"$tmp/lua" <"$here/lua/input.lua" >"$tmp/out/lua/output.txt"

cd "$tmp/sqlite3-3.40.1"
./configure --disable-tcl --disable-readline >/dev/null
make sqlite3.c shell.c >/dev/null
mkdir wasi
cp "$here"/sqlite/*.[ch] wasi
wasm sqlite -DSQLITE_OS_OTHER=1 -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION -DSQLITE_OMIT_WAL -DSQLITE_OMIT_SHARED_CACHE \
	-DSQLITE_NOHAVE_SYSTEM -DSQLITE_OMIT_POPEN -I. -Iwasi -include wasi/wasi.h sqlite3.c shell.c wasi/vfs.c
gcc -O1 -w -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION -o "$tmp/sqlite" sqlite3.c shell.c -lm
"$tmp/sqlite" <"$here/sqlite/input.sql" >"$tmp/out/sqlite/output.txt"

cd "$tmp/cmark-0.30.2"
cp "$here"/cmark/*.h src
wasm cmark -Isrc src/*.c
gcc -O2 -w -Isrc -o "$tmp/cmark" src/*.c
cp README.md "$tmp/out/cmark/input.txt"
"$tmp/cmark" <README.md >"$tmp/out/cmark/output.html"

cd "$tmp/out"
for f in *.wasm */*; do
	if [ "${1-}" = -check ]; then
		cmp "$f" "$here/$f"
	else
		cp "$f" "$here/$f"
	fi
done
