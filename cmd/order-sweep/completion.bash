# shellcheck shell=bash
# Completion of order-sweep's command line for bash.  What there is to complete
# the program itself says: --list-options has a line for each option, with its
# letter, its argument and the commands that take it.

_order_sweep()
{
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    local line name letter argument takers all='' command='' i
    local -a table=() options=()
    local -A takes=()

    mapfile -t table < <("$1" --list-options 2>/dev/null)
    for line in "${table[@]}"; do
        IFS=$'\t' read -r name letter argument takers <<<"$line"
        if [[ $argument != - ]]; then
            takes[$name]=$argument
            takes[-$letter]=$argument
        fi
        if [[ $name == --help ]]; then
            all=$takers
        fi
    done
    # Where no option has a letter, that is not one.
    unset 'takes[--]'

    for ((i = 1; i < COMP_CWORD; i++)); do
        if [[ ,$all, == *,"${COMP_WORDS[i]}",* ]] &&
            [[ -z ${takes[${COMP_WORDS[i - 1]}]-} ]] &&
            [[ ${COMP_WORDS[i - 1]} != = ]]; then
            command=${COMP_WORDS[i]}
            break
        fi
    done
    for line in "${table[@]}"; do
        IFS=$'\t' read -r name letter argument takers <<<"$line"
        if [[ ,$takers, == *,"${command:-run}",* ]]; then
            options+=("$name")
        fi
    done

    # For bash, --format=json is three words.
    if [[ $word == = ]]; then
        word=
    elif [[ $before == = ]] && ((COMP_CWORD > 1)); then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi

    COMPREPLY=()
    argument=${takes[$before]-}
    if [[ $argument == *'|'* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "${argument//|/ }" -- "$word")
    elif [[ $argument == HOST ]]; then
        mapfile -t COMPREPLY < <(compgen -A hostname -- "$word")
    elif [[ -z $argument && $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "${options[*]}" -- "$word")
    elif [[ -z $argument && -z $command ]]; then
        mapfile -t COMPREPLY < <(compgen -W "${all//,/ }" -- "$word")
    fi
} && complete -F _order_sweep order-sweep
