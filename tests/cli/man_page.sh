#!/bin/sh
# The man page passes mandoc's checks once its placeholders are filled in.
# Needs ORDER_SWEEP_SOURCE; skipped (77) without mandoc.
set -eu

page="$ORDER_SWEEP_SOURCE/cmd/order-sweep/order-sweep.8.in"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if ! command -v mandoc >/dev/null; then
    echo "mandoc is not installed; apt-get install mandoc" >&2
    exit 77
fi

sed -e 's|@PROJECT_VERSION@|0.0.0|g' \
    -e 's|@MAN_DATE@|January 1, 2026|g' \
    -e 's|@CMAKE_INSTALL_FULL_BINDIR@|/usr/bin|g' \
    "$page" >"$work/order-sweep.8"

if grep -n '@[A-Z_]*@' "$work/order-sweep.8"; then
    echo "a placeholder of the man page is unknown to this test" >&2
    exit 1
fi
mandoc -Tlint -W warning "$work/order-sweep.8"

# What people see fits a terminal; overstriking with backspaces is taken out.
mandoc -Tascii -O width=78 "$work/order-sweep.8" |
    sed "s/.$(printf '\b')//g" >"$work/text"
if awk 'length > 80 { print; bad = 1 } END { exit !bad }' "$work/text"; then
    echo "the man page has lines of more than 80 columns" >&2
    exit 1
fi
