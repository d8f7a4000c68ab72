#!/bin/sh
# model_test.sh FOLDER: spin searches the models of this folder to the end and finds nothing; with an
# error planted it finds one. spin and a C compiler do the work in a folder of their own.
set -eu
models=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# search MODEL DEFINITION...: leaves spin's report in `report`.
search() {
    model=$1
    shift
    spin -a "$@" "$models/$model.pml" >generate || { cat generate && exit 1; }
    ${CC:-cc} -O2 -w -DSAFETY -DCOLLAPSE -DVECTORSZ=2048 -o pan pan.c
    ./pan -m100000 -w24 >report 2>&1 || :
}

holds() {
    search "$@"
    if ! grep -q 'errors: 0$' report || grep -q 'too small\|out of memory' report; then
        cat report
        echo "$*: does not hold, or the search was not complete"
        exit 1
    fi
    echo "$*: holds in $(sed -n 's/ states, stored.*//p' report | tr -d ' ') states"
}

fails() {
    search "$@"
    grep -Eq 'pan:1: (assertion violated|invalid end state)' report ||
        { cat report && echo "$*: the planted error is not found" && exit 1; }
    echo "$*: found, $(sed -n 's/^pan:1: //p' report)"
}

holds move -DKILLS=1 -DFAULTS=0
holds move -DKILLS=0 -DFAULTS=1
for planted in NO_RECORD THAWS HALF NO_MEASURE; do
    fails move -DKILLS=1 -DFAULTS=0 -D$planted
done
for planted in NO_ABANDON DEAF; do
    fails move -DKILLS=0 -DFAULTS=1 -D$planted
done

holds failover -DKILLS=0 -DROUNDS=2
holds failover -DKILLS=1 -DROUNDS=1
for planted in NO_FENCE NO_GIVE; do
    fails failover -DKILLS=0 -DROUNDS=2 -D$planted
done
for planted in KEEPS_SUMS NO_RECORD; do
    fails failover -DKILLS=1 -DROUNDS=1 -D$planted
done
