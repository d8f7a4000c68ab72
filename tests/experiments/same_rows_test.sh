#!/bin/sh
# The same seeds give the same rows. usage: same_rows_test.sh SOURCE_DIR EDGEPS FIGURE...
set -eu
source=$1 edgeps=$2
shift 2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for time in once again; do
    /usr/bin/python3 -B "$source/experiments/experiments.py" --smoke --seeds 1 --edgeps "$edgeps" \
        --results "$folder/$time" --target "$folder/$time" "$@"
done
for figure in "$@"; do
    cmp "$folder/once/$figure.csv" "$folder/again/$figure.csv"
    [ "$(wc -l <"$folder/once/$figure.csv")" -gt 2 ]
    grep -q "(report/$figure.svg)" "$folder/once/report.md"
    grep -q "</svg>" "$folder/once/report/$figure.svg"
done
