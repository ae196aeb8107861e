#!/bin/bash
# Bash's completion offers what the option table has, command by command, and
# nothing else.  Needs no server.
set -euo pipefail

work=$ORDER_SWEEP_TMP
script=$ORDER_SWEEP_SOURCE/cmd/order-sweep/completion.bash
failures=0

# offered WORD...: what the completion of the last word offers, sorted.
cat >"$work/complete" <<'SCRIPT'
set -u
. "$1"
shift
# How bash calls it: the command, the word, the one before.
[ "$(complete -p order-sweep)" = 'complete -F _order_sweep order-sweep' ] ||
    exit 1
COMP_WORDS=(order-sweep "$@")
COMP_CWORD=$#
_order_sweep "$ORDER_SWEEP_BIN" "${*: -1}" "${COMP_WORDS[COMP_CWORD - 1]}"
[ "${#COMPREPLY[@]}" = 0 ] || printf '%s\n' "${COMPREPLY[@]}" | sort
SCRIPT
offered()
{
    # Without the variables and functions of this shell.
    bash --norc "$work/complete" "$script" "$@" 2>&1
}

# offers 'EXPECTED...' WORD...
offers()
{
    local expected=$1 got
    shift
    got=$(offered "$@" | tr '\n' ' ')
    if [ "$got" != "${expected:+$expected }" ]; then
        echo "completion of '$*': '$got', not '$expected'" >&2
        failures=$((failures + 1))
    fi
}

"$ORDER_SWEEP_BIN" --list-options >"$work/table"

# The options of a command, as the table has them.
of()
{
    awk -F '\t' -v command="$1" '
        ("," $4 ",") ~ ("," command ",") { print $1 }' "$work/table" | sort |
        tr '\n' ' ' | sed 's/ $//'
}

# The commands, as the help has them.
commands=$("$ORDER_SWEEP_BIN" --help |
    sed -n 's/^  order-sweep \[\{0,1\}\([a-z]*\)\]\{0,1\} .*/\1/p')
[ "$(wc -w <<<"$commands")" -ge 5 ]
offers "$(sort <<<"$commands" | tr '\n' ' ' | sed 's/ $//')" ''
offers 'check' c
for command in $commands; do
    [ "$(of "$command" | wc -w)" -ge 8 ]
    offers "$(of "$command")" "$command" -
    offers "$(of "$command")" -d shop "$command" --
    offers '' "$command" ''
done
offers "$(of run)" -
offers '--print' migrate --pr
offers '--probe' check --pr
offers '' --pr

# Words that an argument can be, with a blank and with an equals sign.
values=0
while IFS=$'\t' read -r name _ argument takers; do
    case $argument in
    *'|'*)
        sorted=$(tr '|' '\n' <<<"$argument" | sort | tr '\n' ' ' |
            sed 's/ $//')
        offers "$sorted" "${takers%%,*}" "$name" ''
        offers "$sorted" "${takers%%,*}" "$name" =
        offers "${argument%%|*}" "$name" = "${argument%%|*}"
        values=$((values + 1))
        ;;
    -) ;;
    HOST) ;;
    *) offers '' "$name" '' ;;
    esac
done <"$work/table"
[ "$values" -ge 3 ]

# What an option takes is no command, whatever it is called.
offers "$(of run)" --sweep check -
offers "$(of run)" --sweep = check -
offers "$(of run)" -d check -
offers '' explain -- ''

# Without a program there is nothing to offer, and nothing to say.
ORDER_SWEEP_BIN=$work/none offers '' ''

[ "$failures" = 0 ] || exit 1
echo "completion: as the option table has it"
