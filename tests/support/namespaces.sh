# shellcheck shell=bash
# Sourced by test scripts in bash, before others:
#
#     own_namespaces WHAT TRIAL FLAG...
#
# The script starts anew, as root and with unshare's FLAGs, so that nothing of
# the system's changes and nothing is left when it has ended.  Where TRIAL, a
# command of sh, does not work there, WHAT is not to be had.

own_namespaces()
{
    local what=$1 trial=$2 as_root=() settings
    shift 2

    if [ -n "${ORDER_SWEEP_NAMESPACES:-}" ]; then
        return
    fi
    mapfile -t -d '' settings < <(env -0 |
        grep -z -E '^(ORDER_SWEEP_|PG|PATH=|CC=|CMAKE=|[A-Z]+_OPTIONS=)')
    if [ "$(id -u)" != 0 ]; then
        as_root=(sudo)
    fi
    if ! "${as_root[@]}" unshare "$@" sh -c "$trial"; then
        echo "$(basename "$0" .sh): no $what to be had here" >&2
        exit 77
    fi
    exec "${as_root[@]}" env "${settings[@]}" ORDER_SWEEP_NAMESPACES=own \
        unshare "$@" "$0"
}
