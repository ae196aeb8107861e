#!/bin/sh
# Fuzzes one target:
#
#     fuzz.sh NAME PROGRAM
#
# for ORDER_SWEEP_FUZZ_SECONDS (default 30), from the seeds in corpus/NAME on.
# An input that fails stays in ORDER_SWEEP_TMP, for
# "PROGRAM FILE" to repeat.
set -eu

name=$1
program=$2
seeds=$ORDER_SWEEP_SOURCE/tests/fuzz/corpus/$name

mkdir "$ORDER_SWEEP_TMP/found"
"$program" -max_total_time="${ORDER_SWEEP_FUZZ_SECONDS:-30}" -max_len=4096 \
    -timeout=10 -print_final_stats=1 -artifact_prefix="$ORDER_SWEEP_TMP/" \
    "$ORDER_SWEEP_TMP/found" "$seeds"
rm -r "$ORDER_SWEEP_TMP/found"
