#!/bin/sh
# Every shell script passes shellcheck.  Off are three remarks that are wrong
# more often than right: text in single quotes that looks like a variable
# (SC2016) or ends in a backslash (SC1003), functions called by a trap (SC2317).
set -eu

cd "$ORDER_SWEEP_SOURCE"
if ! command -v shellcheck >/dev/null; then
    echo "shellcheck: not installed" >&2
    exit 77
fi
{
    find cmd tests -name '*.sh' -o -name '*.bash'
    find .ci cmd tests -type f ! -name '*.*' -exec \
        grep -lE '^#!/bin/(ba)?sh$' {} +
} | sort -u | xargs shellcheck -x -P SCRIPTDIR -P . \
        -e SC1003,SC2016,SC2317
