#!/bin/sh
# The experiments in their short form: every figure comes out whole.
# usage: smoke_test.sh SOURCE_DIR EDGEPS
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
/usr/bin/python3 -B "$1/experiments/experiments.py" --smoke --edgeps "$2" --results "$folder" \
    --target "$folder"
for file in "$1"/experiments/figures/*.toml; do
    name=$(basename "$file" .toml)
    [ "$(wc -l <"$folder/$name.csv")" -gt 2 ]
    grep -q "</svg>" "$folder/report/$name.svg"
    grep -q "(report/$name.svg)" "$folder/report.md"
done
