#!/bin/sh
# The systemd units: systemd takes every line of both instances, these start the
# program of their own build each minute between them, and nothing stands
# between it and the server's socket.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
for tool in systemd-analyze man; do
    if ! command -v $tool >/dev/null; then
        echo "systemd_units: $tool is not installed" >&2
        exit 77
    fi
done
scratch=$(mktemp -d /tmp/order-sweep-units.XXXXXX)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

failures=0
fail()
{
    echo "systemd_units: $*" >&2
    failures=$((failures + 1))
}

# The units of a build that is to be installed here, and beside them the program
# and its page, for both are looked for.
prefix=$scratch/prefix
build=$scratch/build
if ! "${CMAKE:-cmake}" -S "$root" -B "$build" -G Ninja \
    -D ORDER_SWEEP_TESTS=OFF -D CMAKE_INSTALL_PREFIX="$prefix" \
    >"$scratch/configured" 2>&1; then
    cat "$scratch/configured" >&2
    exit 1
fi
mkdir -p "$prefix/bin" "$prefix/man/man8"
cp "${ORDER_SWEEP_TOOL_BIN:-$ORDER_SWEEP_BIN}" "$prefix/bin/order-sweep"
find "$build" -name order-sweep.8 -exec cp {} "$prefix/man/man8" \;
export MANPATH="$prefix/man"

# A folder with the instances that are to be enabled.
instances()
{
    mkdir "$1"
    cp "$build/cron.d/order-sweep@.service" "$build/cron.d/order-sweep@.timer" \
        "$1"
    for i in 0 1; do
        ln -s order-sweep@.service "$1/order-sweep@$i.service"
        ln -s order-sweep@.timer "$1/order-sweep@$i.timer"
    done
}

# Remarks on a line that is ignored leave the status 0.
verify()
{
    folder=$1
    shift
    systemd-analyze verify "$@" \
        "$folder/order-sweep@0.service" "$folder/order-sweep@0.timer" \
        "$folder/order-sweep@1.service" "$folder/order-sweep@1.timer" \
        >"$scratch/remarks" 2>&1 && [ ! -s "$scratch/remarks" ]
}

# mutant FILE OLD NEW: what verify must see.
mutant()
{
    rm -rf "$scratch/mutant"
    instances "$scratch/mutant"
    sed -i "s|$2|$3|" "$scratch/mutant/order-sweep@.$1"
    if verify "$scratch/mutant" --man=no; then
        fail "nobody sees $3 for $2 in the $1"
    fi
}

instances "$scratch/units"
service=$scratch/units/order-sweep@.service
timer=$scratch/units/order-sweep@.timer
for option in --man=no --man=yes; do
    if ! verify "$scratch/units" $option; then
        fail "systemd-analyze verify $option: $(cat "$scratch/remarks")"
    fi
done
mutant service 'PrivateDevices' 'PrivteDevices'
mutant service 'Type=oneshot' 'Type=onshot'
mutant service 'bin/order-sweep' 'bin/order-swep'
mutant timer 'AccuracySec=1s' 'AccuracySec=1 sek'
mutant timer '%i/2' '%p/2'

# --- The service -------------------------------------------------------------

# has FILE LINE: the only one of its name.
has()
{
    if [ "$(grep "^${2%%=*}=" "$1")" != "$2" ]; then
        fail "$(basename "$1"): not just one line $2"
    fi
}

has "$service" 'Type=oneshot'
has "$service" 'User=order-sweep'
has "$service" 'Environment=PGDATABASE=shop'
has "$service" "ExecStart=$prefix/bin/order-sweep --linger"
# Its arguments are those of the program: what it misses is the server.
words=$(sed -n 's/^ExecStart=//p' "$service")
status=0
# shellcheck disable=SC2086  # words
PGHOST=$scratch $words >"$scratch/said" 2>&1 </dev/null || status=$?
if [ "$status" != 69 ]; then
    fail "the command without a server: status $status, $(cat "$scratch/said")"
fi
hiding='PrivateTmp|PrivateNetwork|IPAddressDeny|TemporaryFileSystem|Inaccess.*'
if grep -E "^($hiding)=" "$service"; then
    fail 'that hides a server'
fi
has "$service" 'RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6'

# Longer than a run may take, and over before the instance's next turn.
seconds()
{
    sed -n "s/^$1=\([0-9][0-9]*\)\$/\1/p" "$service"
}
start=$(seconds TimeoutStartSec)
stop=$(seconds TimeoutStopSec)
if [ "${start:-0}" -le 79 ] || [ $((start + ${stop:-90})) -ge 120 ]; then
    fail "TimeoutStartSec=$start, TimeoutStopSec=$stop"
fi

# --- The timers --------------------------------------------------------------

has "$timer" 'AccuracySec=1s'
has "$timer" 'RandomizedDelaySec=0'
has "$timer" 'Persistent=false'
has "$timer" 'WantedBy=timers.target'

# elapses I: when the timer of this instance does, over an hour.
elapses()
{
    TZ=UTC systemd-analyze calendar --iterations=30 \
        --base-time='2026-12-01 22:29:59' \
        "$(sed -n "s|%i|$1|; s|^OnCalendar=||p" "$timer")" |
        sed -n 's/.*\(Next elapse\|Iter. #[0-9]*\): //p'
}

first=$(date -u -d '2026-12-01 22:30:00' +%s)
seq "$first" 60 $((first + 59 * 60)) >"$scratch/minutes"
{ elapses 0 && elapses 1; } | date -u -f - +%s | sort -n >"$scratch/elapsed"
if ! diff "$scratch/minutes" "$scratch/elapsed"; then
    fail 'the timers do not elapse once a minute'
fi

if [ "$failures" != 0 ]; then
    exit 1
fi
echo "systemd_units: ok"
