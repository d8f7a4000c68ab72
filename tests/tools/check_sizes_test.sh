#!/bin/sh
# tools/check-sizes at its limits: 80 lines in a function and 800 in a file pass, one more fails.
set -eu
tool=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/src/base" "$tree/tests" "$tree/bench"
failures=0

# lines COUNT: that many statements
lines() { awk -v n="$1" 'BEGIN { while (n-- > 0) print "    x++;" }'; }

write_function() { # LINES
    { printf 'void grow(void)\n{\n' && lines "$1" && printf '}\n'; } >"$tree/src/base/base.c"
}

expect() { # NAME LINE
    status=0
    said=$("$tool" "$tree" 2>&1) || status=$?
    wanted=0
    [ -z "$2" ] || wanted=1
    if [ "$said" != "$2" ] || [ "$status" -ne "$wanted" ]; then
        printf '%s: status %s\n  wanted: %s\n  said:   %s\n' "$1" "$status" "$2" "$said"
        failures=$((failures + 1))
    fi
}

write_function 80
expect accepts_a_function_of_80_lines ''
write_function 81
expect refuses_a_function_of_81_lines \
    'src/base/base.c:2: the function has 81 lines, 80 at most: void grow(void)'

lines 800 >"$tree/src/base/base.c"
expect accepts_a_file_of_800_lines ''
lines 801 >"$tree/src/base/base.c"
expect refuses_a_file_of_801_lines 'src/base/base.c:800: the file has 801 lines, 800 at most'

[ "$failures" -eq 0 ]
