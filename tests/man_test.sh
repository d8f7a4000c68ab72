#!/bin/sh
# Every option that a command's --help prints stands in its manual page, and the other way round.
# usage: man_test.sh SOURCE_DIR EDGEPS
set -eu
status=0
for command in plan explain run report topo scenario lab cert bench sim probe agent; do
    page=$1/docs/man/edgeps-$command.1
    "$2" "$command" --help | grep -o '^  --[a-z-]*' | tr -d ' ' | sort -u >"${TMPDIR:-/tmp}/help.$$"
    sed -n 's/^\.\(B\|BI\|BR\) \(\\-\\-[a-z\\-]*\).*/\2/p' "$page" | tr -d "\\\\" | sort -u >"${TMPDIR:-/tmp}/page.$$"
    if ! diff "${TMPDIR:-/tmp}/help.$$" "${TMPDIR:-/tmp}/page.$$"; then
        echo "$page: its options are not those of edgeps $command --help"
        status=1
    fi
    rm -f "${TMPDIR:-/tmp}/help.$$" "${TMPDIR:-/tmp}/page.$$"
done
page=$1/docs/man/edgeps-plan.1
for algorithm in $("$2" plan --help | sed -n '/^algorithms:/,$ s/^  \([a-z]*\).*/\1/p'); do
    grep -q "\b$algorithm\b" "$page" || {
        echo "$page: says nothing of the algorithm $algorithm"
        status=1
    }
done
exit $status
