#!/bin/bash
# A signal ends the flash sale at once, as does an engine that is gone, and
# nothing of it stays: no process, no file.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"

mkdir "$ORDER_SWEEP_TMP/bin"
ln -s "$ORDER_SWEEP_BIN" "$ORDER_SWEEP_TMP/bin/order-sweep"

# All processes of the sale have this in their environment.
mark=FLASH_SALE_TEST=$$-$RANDOM
sale=

cleanup()
{
    local pid
    if [ -n "$sale" ]; then
        kill -9 "$sale" 2>/dev/null || :
    fi
    for pid in $(of_the_sale); do
        kill -9 "$pid" 2>/dev/null || :
    done
}
trap cleanup EXIT

of_the_sale()
{
    { grep -lsz "^$mark$" /proc/[0-9]*/environ || :; } | cut -d / -f 3
}

# Opens a sale, and sets its folders.
opened()
{
    local until=$((SECONDS + 120)) environ
    : >"$out"
    # The shell keeps SIGINT from what it starts in the background.
    setsid env --default-signal=INT -u PGHOST "$mark" \
        PATH="$ORDER_SWEEP_TMP/bin:$PATH" \
        "$ORDER_SWEEP_SOURCE/cmd/flash-sale/demo.sh" 100 \
        </dev/null >"$out" 2>"$err" &
    sale=$!
    until grep -q ' left, to pay  *[1-9]' "$out"; do
        kill -0 "$sale" 2>/dev/null || die 'the sale ended'
        [ "$SECONDS" -lt "$until" ] || die 'the sale did not open'
        sleep 0.1
    done
    environ=$(of_the_sale | while read -r pid; do
        grep -Eaoz '^(SALE_FOLDER|PGHOST)=.*' "/proc/$pid/environ" |
            tr '\0' '\n' || :
    done 2>/dev/null | sort -u)
    folders=$(grep -c '/order-sweep-' <<<"$environ")
    [ "$folders" = 2 ] || die "the sale's folders: $environ"
    mapfile -t folders < <(cut -d = -f 2 <<<"$environ")
}

# ends STATUS [ERRORS]
ends()
{
    local status=0 folder until=$((SECONDS + 40))
    while kill -0 "$sale" 2>/dev/null; do
        [ "$SECONDS" -lt "$until" ] || die 'it goes on'
        sleep 0.1
    done
    wait "$sale" || status=$?
    sale=
    is 'its status' "$1" "$status"
    # shellcheck disable=SC2053  # a pattern
    [[ $(cat "$err") == ${2:-} ]] || die 'it said something else'
    is 'its processes' '' "$(of_the_sale | xargs -r ps -o pid,args -p)"
    for folder in "${folders[@]}"; do
        [ ! -e "$folder" ] || die "$folder is still there"
    done
}

opened
kill -TERM "$sale"
ends 143

# As Ctrl-C does: the engines hear it too, and may be gone first.
opened
kill -INT -- "-$sale"
ends 130

# Nobody waits for ever for what comes back no more.
opened
pkill -9 -f "^${folders[1]}/redis/redis-server" || die 'no Redis'
ends 1 '*Could not connect to Redis *'
