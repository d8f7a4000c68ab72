#!/bin/sh
# What `cmake --install` puts in place is a library to work with: through pkg-config and find_package,
# shared and static, from C and C++.
# usage: installed_test.sh SOURCE_DIR BINARY_DIR
set -eu
source=$1
binary=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
network=$source/examples/six-site.json
CC=${CC:-cc}
CXX=${CXX:-c++}

fail() {
    echo "installed_test: $*" >&2
    exit 1
}

cmake --install "$binary" --prefix "$prefix" >"$work/install.log" 2>&1 || fail "$(cat "$work/install.log")"
PKG_CONFIG_PATH=$prefix/lib/pkgconfig
LD_LIBRARY_PATH=$prefix/lib
export PKG_CONFIG_PATH LD_LIBRARY_PATH

echo "every header stands alone, in C and in C++"
cd "$prefix/include"
headers=$(find edgeps -name '*.h' | sort)
for header in $headers; do
    printf "#include <%s>\nextern int used;\n" "$header" >"$work/one.c"
    # shellcheck disable=SC2046 # flags
    "$CC" -std=c11 -Wall -Wextra -Wpedantic -Werror $(pkg-config --cflags edgeps) -fsyntax-only "$work/one.c"
    # shellcheck disable=SC2046
    "$CXX" -std=c++17 -Wall -Wextra -Werror $(pkg-config --cflags edgeps) -fsyntax-only -x c++ "$work/one.c"
done

echo "the library's symbols are what the headers declare"
for header in $headers; do
    echo "#include <$header>"
done >"$work/all.c"
gcc -std=c11 -I. -fsyntax-only -aux-info "$work/declared" "$work/all.c"
{
    sed -n 's,^/\* [^ ]*edgeps/[a-z_/]*[.]h:.*\*/ extern [^(]*[ *]\([a-z_0-9]*\) (.*,\1,p' "$work/declared"
    # shellcheck disable=SC2086 # one word per header
    sed -n 's/^extern .*[ *]\([a-z_]*\)\(\[\]\)*;/\1/p' $headers
} | sort -u >"$work/documented"
nm -D --defined-only "$prefix/lib/libedgeps.so" | awk '{ print $3 }' | sort >"$work/exported"
[ "$(wc -l <"$work/documented")" -gt 50 ] || fail "the headers declare next to nothing"
diff "$work/documented" "$work/exported" || fail "documented (<) and exported (>) differ"
readelf -d "$prefix/lib/libedgeps.so" | grep -q 'SONAME.*libedgeps[.]so[.][0-9]*[.][0-9]*\]' || fail "no SONAME"

echo "a C program through pkg-config, shared and static"
cd "$work"
example=$source/examples/library/plan_network.c
# shellcheck disable=SC2046
"$CC" -std=c11 -Wall -Wextra -Werror $(pkg-config --cflags edgeps) "$example" -o shared $(pkg-config --libs edgeps)
link_static() {
    # shellcheck disable=SC2046
    "$CC" -std=c11 $(pkg-config --cflags edgeps) "$1" -o "$2" -Wl,-Bstatic -L"$prefix/lib" -ledgeps \
        -Wl,-Bdynamic $(pkg-config --static --libs-only-l edgeps | sed 's/-ledgeps//')
}
link_static "$example" static
ldd static | grep -q libedgeps && fail "static needs the shared library"
./shared "$network" >shared.txt 2>progress.txt
./static "$network" >static.txt 2>/dev/null
cmp shared.txt static.txt
grep -q 'above the best possible' progress.txt || fail "no progress was shown"

echo "it finds the plan that the command finds"
"$prefix/bin/edgeps" plan "$network" >command.txt
round=$(sed -n 's/^predicted: \([0-9.]*\) s a round.*/\1/p' command.txt)
grep -q "^$round s a round" shared.txt || fail "$(cat shared.txt command.txt)"

echo "a C program through find_package"
cmake -S "$source/examples/library" -B cmake-c -DCMAKE_PREFIX_PATH="$prefix" >cmake.log 2>&1 || fail "$(cat cmake.log)"
cmake --build cmake-c >cmake.log 2>&1 || fail "$(cat cmake.log)"
cmake-c/plan_network "$network" 2>/dev/null | cmp - shared.txt

echo "it reads a topology and writes the network and the plan that the command writes"
topology=$source/tests/fuzz/graphml/zoo.graphml
cmake-c/place_topology "$topology" net.json plan.json 2>filled.txt
link_static "$source/examples/library/place_topology.c" static-topology
./static-topology "$topology" net-static.json plan-static.json 2>/dev/null
cmp net.json net-static.json
cmp plan.json plan-static.json
"$prefix/bin/edgeps" topo import "$topology" --default-rate "1 Gbit/s" --cable-factor 1.5 --free "64 MiB" \
    --drop-disconnected --out net-command.json 2>filled-command.txt
cmp net.json net-command.json
cmp filled.txt filled-command.txt
grep -q 'Island: left out' filled.txt || fail "the report lacks a line"
"$prefix/bin/edgeps" plan net.json --max-locals 2 --json >plan-command.json
# The command also says how it came to the plan.
roles() { sed -n '/"global"/,/"need_bytes"/p' "$1"; }
[ "$(roles plan.json | wc -l)" -gt 5 ] || fail "$(cat plan.json)"
[ "$(roles plan.json)" = "$(roles plan-command.json)" ] || fail "$(cat plan.json plan-command.json)"
cmake-c/place_topology "$network" net.json plan.json 2>refused.txt && fail "a network file is no topology"
[ "$(wc -l <refused.txt)" -eq 1 ] || fail "$(cat refused.txt)"

echo "a C++ program"
# shellcheck disable=SC2046
"$CXX" -std=c++17 -Wall -Wextra -Werror $(pkg-config --cflags edgeps) "$source/tests/library/by_hand.cpp" \
    -o by_hand $(pkg-config --libs edgeps)
./by_hand

echo "the manual pages"
for page in "$source"/docs/man/*.1; do
    cmp "$page" "$prefix/share/man/man1/$(basename "$page")"
done

echo "the example in docs/library.md is the one that was built"
awk '/^```c$/ { on = 1; next } /^```$/ { on = 0 } on' "$source/docs/library.md" | diff - "$example"
