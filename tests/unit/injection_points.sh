#!/bin/sh
# The program has nothing of the injection points, the one for tests of faults
# has all of them, and the matrix of faults a row for each.
set -eu

cd "$ORDER_SWEEP_SOURCE"
sed -n 's/^ *OSW_INJECTION_POINT("\(.*\)");$/\1/p' lib/*.c >"$ORDER_SWEEP_TMP/points"
if [ "$(grep -c . "$ORDER_SWEEP_TMP/points")" -lt 8 ]; then
    echo "injection_points: too few are found in lib/" >&2
    exit 1
fi

# The names of macros and files are in the debugging information of both.
for program in "$ORDER_SWEEP_BIN" "$ORDER_SWEEP_INJECTION_BIN"; do
    strip -o "$ORDER_SWEEP_TMP/$(basename "$program")" "$program"
done
cd "$ORDER_SWEEP_TMP"

if grep -a -i -o -E '.{0,20}inject.{0,20}' order-sweep; then
    echo "injection_points: the program has the text above" >&2
    exit 1
fi
matrix=$ORDER_SWEEP_SOURCE/tests/fault/injection_points.sh
relay=$ORDER_SWEEP_SOURCE/tests/fault/relay.sh
while read -r point; do
    if ! grep -q "^    '$point [0-9]*'\$" "$matrix" &&
        ! grep -q "^for point in .*\<$point\>" "$relay"; then
        echo "injection_points: no row for $point in $matrix, nor in $relay" >&2
        exit 1
    fi
    if grep -a -q -F -e "$point" order-sweep; then
        echo "injection_points: the program has the point $point" >&2
        exit 1
    fi
    if ! grep -a -q -F -e "$point" order-sweep-injection; then
        echo "injection_points: no point $point for tests" >&2
        exit 1
    fi
done <points
