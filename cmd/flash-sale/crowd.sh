#!/bin/bash
# The buyers of the flash sale, all of them:
#
#     crowd.sh BUYERS SEED SECONDS [THROUGH-DOORS]
#
# They come in the first ten seconds, in an order that the seed says, as does who
# pays (two of three) and when.  Who finds nothing left waits, and asks again
# when pieces are back.  Some ask through the doors, as a page does; for the
# others this is their application server, and asks Redis itself.  It ends when
# nobody has an order to pay or a request to be answered, and nobody can get one;
# or after so many seconds.
#
# What is asked is in $SALE_FOLDER/asked: the request's id and its buyer.
set -euo pipefail

# shellcheck source=cmd/flash-sale/common.sh
. "$(dirname "$0")/common.sh"

buyers=$1
RANDOM=$2
limit=$3
doors=${4:-0}

declare -A pays=() # buyer: after so many milliseconds
declare -A buyer_of=() # request that has no final answer: its buyer
declare -A pay_at=() # request: when its order is paid
declare -A order_of=() # request: its order
declare -A paid=()
come=()                 # who asks, in this order
waiting=()              # for pieces that come back
at_doors=()             # requests that a door is to have
declare -A asked_after=() # request: so many times pieces had come back by then
news=0
again=
asked=0

now()
{
    echo "${EPOCHREALTIME/[.,]/}"
}

for ((buyer = 1; buyer <= buyers; buyer++)); do
    come+=("$((RANDOM << 15 | RANDOM)) $buyer")
    if ((RANDOM % 3)); then
        pays[$buyer]=$((RANDOM % 3000))
    fi
done
mapfile -t come < <(printf '%s\n' "${come[@]}" | sort -n | cut -d ' ' -f 2)

# --- Asking ------------------------------------------------------------------

trap '' PIPE
door_in=
door_out=
door_pid=
connect()
{
    if [ -n "$door_in" ]; then
        eval "exec $door_in>&- $door_out<&-"
        kill "$door_pid" 2>/dev/null || :
        wait "$door_pid" 2>/dev/null || :
    fi
    coproc DOOR { exec redis-cli -s "$SALE_REDIS" 2>&1; }
    # shellcheck disable=SC2153  # coproc sets it, until the process is gone
    door_pid=$DOOR_PID
    exec {door_out}<&"${DOOR[0]}" {door_in}>&"${DOOR[1]}"
}

# ask REQUEST BUYER: sets $reply; fails where there is none.
ask_redis()
{
    {
        echo "FCALL ask 5 request:$1 stock:1 open buyers requests $1 $2 1" >&"$door_in"
    } 2>/dev/null || return 1
    IFS= read -r -t 2 -u "$door_out" reply || return 1
    [[ $reply = "$1 "* ]] || return 1
    reply=${reply#"$1 "}
}

ask()
{
    local buyer=$1 request
    asked=$((asked + 1))
    printf -v request '%x-%x-%x' "$buyer" "$asked" "$((RANDOM << 15 | RANDOM))"
    buyer_of[$request]=$buyer
    asked_after[$request]=$news
    reply=
    if ((buyer <= doors)); then
        at_doors+=("$request $buyer")
        return
    fi
    echo "$request $buyer" >>"$SALE_FOLDER/asked"
    # Redis is away for a while, or was before it replied: the same once more.
    until ask_redis "$request" "$buyer"; do
        [ -z "$stop" ] || return 0
        sleep 0.1
        connect
    done
    if [ "$reply" = 'in line' ]; then
        echo "answer/$request {\"state\": \"in line\"}"
    else
        echo "answer/$request {\"state\": \"refused\", \"why\": \"$reply\"}"
    fi >>"$SALE_FOLDER/answers"
}

# The broker may be away: then later.
ask_doors()
{
    local request buyer
    while ((${#at_doors[@]} > 0)); do
        read -r request buyer <<<"${at_doors[0]}"
        tell "ask/$request" "{\"buyer\":$buyer,\"goods\":1}" || return 0
        echo "$request $buyer" >>"$SALE_FOLDER/asked"
        at_doors=("${at_doors[@]:1}")
    done
}

# Those who wait ask, until there is nothing left again.
ask_again()
{
    local all=("${waiting[@]}") buyer
    waiting=()
    reply=
    for buyer in "${all[@]}"; do
        if [ "$reply" = 'sold out' ]; then
            waiting+=("$buyer")
        else
            ask "$buyer"
        fi
    done
}

# --- Answers -----------------------------------------------------------------

# take TOPIC MESSAGE
take()
{
    local id=${1#*/} message=$2 buyer order
    case $1 in
    back/*)
        news=$((news + 1))
        again=yes
        ;;
    closed)
        # Who meant to pay, and could not in time, comes again.
        [[ $message =~ \"buyer\":\ ([0-9]+) ]] || return 0
        buyer=${BASH_REMATCH[1]}
        if [ -n "${pays[$buyer]:-}" ] && [ -z "${paid[$buyer]:-}" ]; then
            waiting+=("$buyer")
        fi
        ;;
    answer/*)
        buyer=${buyer_of[$id]:-}
        case $message in
        *'"in line"'*) return ;;
        *'"paid"'*)
            order=${order_of[$id]:-} # else it is a page's
            if [ -n "$order" ]; then
                paid[${order#* }]=yes
            fi
            return
            ;;
        *'"refused"'*'"sold out"'*)
            if [ -n "$buyer" ]; then
                waiting+=("$buyer")
                # Pieces came back between the look and its answer.
                if ((asked_after[$id] < news)); then
                    again=yes
                fi
            fi
            ;;
        *'"ordered"'*)
            [[ $message =~ \"order\"\ :\ ([0-9]+) ]] || return 0
            order=${BASH_REMATCH[1]}
            if [ -n "$buyer" ] && [ -n "${pays[$buyer]:-}" ]; then
                order_of[$id]="$order $buyer"
                pay_at[$id]=$(($(now) + pays[$buyer] * 1000))
            fi
            ;;
        esac
        unset "buyer_of[$id]"
        ;;
    esac
}

rest=
read_answers()
{
    local topic message line
    while :; do
        if ! IFS= read -r -u "$answers" line; then
            rest+=$line # half a line
            return 0
        fi
        read -r topic message <<<"$rest$line"
        rest=
        take "$topic" "$message"
    done
}

# --- Paying ------------------------------------------------------------------

# All whose time has come, in one connection, a transaction each; who has no
# answer tries again.
pay()
{
    local id time request answer
    time=$(now)
    for id in "${!pay_at[@]}"; do
        if ((pay_at[$id] <= time)); then
            echo "SELECT '$id', shop.pay('$id', ${order_of[$id]% *});"
        fi
    done >"$SALE_FOLDER/pay.sql"
    if [ -s "$SALE_FOLDER/pay.sql" ]; then
        while read -r request answer; do
            unset "pay_at[$request]"
            echo "answer/$request $answer" >>"$SALE_FOLDER/answers"
        done < <(sql -f "$SALE_FOLDER/pay.sql" 2>/dev/null)
    fi
}

# Nothing is on its way, and nobody can have what he waits for.
is_over()
{
    local open
    ((${#come[@]} == 0 && ${#buyer_of[@]} == 0 && ${#pay_at[@]} == 0)) &&
        open=$(sql 2>/dev/null <<'SQL'
SELECT (SELECT count(*) FROM shop.orders WHERE order_status = 1)
       + (SELECT count(*) FROM order_sweep.journal WHERE published_at IS NULL);
SQL
        ) && [ "$open" = 0 ] || return 1
    ((${#waiting[@]} == 0)) ||
        [ "$(redis GET stock:1 2>/dev/null)" = 0 ]
}

# --- The sale ----------------------------------------------------------------

# It ends between two steps, not within one.
stop=
trap 'stop=yes' TERM
connect
: >"$SALE_FOLDER/asked"
exec {answers}<"$SALE_FOLDER/answers"
began=$(now)
total=${#come[@]}
next=0
looked=$SECONDS
while ((SECONDS < limit)) && [ -z "$stop" ]; do
    # How many have come by now.
    due=$((($(now) - began) * total / 10000000))
    while ((next < total && next <= due)); do
        ask "${come[next]}"
        next=$((next + 1))
    done
    if ((next == total)); then
        come=()
    fi
    ask_doors
    read_answers
    if [ -n "$again" ]; then
        again=
        ask_again
    fi
    pay
    if ((SECONDS > looked)); then
        looked=$SECONDS
        if is_over; then
            break
        fi
    fi
    sleep 0.02
done
