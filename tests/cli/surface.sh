#!/bin/bash
# The face of the program: help, version, wrong usage; and the agreement of
# everything that lists options or exit codes.  Needs no server.
# Needs ORDER_SWEEP_BIN and ORDER_SWEEP_SOURCE.
set -euo pipefail

bin=$ORDER_SWEEP_BIN
page=$ORDER_SWEEP_SOURCE/cmd/order-sweep/order-sweep.8.in
readme=$ORDER_SWEEP_SOURCE/README.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
    echo "FAIL: $*" >&2
    failures=$((failures + 1))
}

# run ARGUMENT...: leaves $status, $work/out and $work/err.
run() {
    status=0
    "$bin" "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
}

# An answer goes to stdout, with status 0 and nothing on stderr.
expect_answer() {
    run "$@"
    [ "$status" -eq 0 ] || fail "$*: status $status, not 0"
    [ -s "$work/out" ] || fail "$*: nothing on stdout"
    [ ! -s "$work/err" ] || fail "$*: stderr: $(cat "$work/err")"
}

# expect_usage_error MESSAGE ARGUMENT...: 64, one line on stderr, no stdout.
expect_usage_error() {
    local message="order-sweep: $1"
    shift
    run "$@"
    [ "$status" -eq 64 ] || fail "$*: status $status, not 64"
    [ ! -s "$work/out" ] || fail "$*: stdout: $(cat "$work/out")"
    [ "$(wc -l <"$work/err")" -eq 1 ] || fail "$*: not one line on stderr"
    [ "$(cat "$work/err")" = "$message" ] ||
        fail "$*: \"$(cat "$work/err")\" instead of \"$message\""
}

# expect_equal WHAT EXPECTED ACTUAL: two files with the same lines.
expect_equal() {
    [ -s "$2" ] || fail "$1: nothing to compare with"
    diff -u "$2" "$3" >&2 || fail "$1 differs from the program"
}

check_answers() {
    expect_answer --help
    grep -q '^Usage:$' "$work/out" || fail "--help shows no usage"
    cp "$work/out" "$work/help"
    expect_answer '-?'
    cmp -s "$work/out" "$work/help" || fail "-? differs from --help"
    expect_answer migrate --help
    expect_answer --help --no-such-option

    expect_answer --version
    grep -Eqx 'order-sweep [0-9]+\.[0-9]+\.[0-9]+' "$work/out" ||
        fail "--version says $(cat "$work/out")"
    cp "$work/out" "$work/version"
    expect_answer -V
    cmp -s "$work/out" "$work/version" || fail "-V differs from --version"

    expect_answer --list-options
    cut -f 1-3 "$work/out" | sort >"$work/options"
    # "command --option" a line
    awk -F '\t' '{
        count = split($4, command, ",")
        for (i = 1; i <= count; i++) {
            print command[i] " " $1
            if ($2 != "-") {
                print command[i] " -" $2
            }
        }
    }' "$work/out" | sort >"$work/commands_options"
    cut -d ' ' -f 1 "$work/commands_options" | sort -u >"$work/commands"
    expect_answer --list-exit-codes
    sort "$work/out" >"$work/exit_codes"
}

# An answer that cannot be written is not told as a success.
check_full_output() {
    local answer
    for answer in --help --version; do
        status=0
        "$bin" "$answer" >/dev/full 2>"$work/err" || status=$?
        [ "$status" -eq 74 ] || fail "$answer >/dev/full: $status, not 74"
        [ "$(wc -l <"$work/err")" -eq 1 ] ||
            fail "$answer >/dev/full: not one line on stderr"
    done
}

check_usage_errors() {
    local help='see order-sweep --help'
    local window='--window:'

    expect_usage_error "unknown option \"--foo\"; $help" --foo
    expect_usage_error "unknown option \"-x\"; $help" -x
    expect_usage_error "unknown command \"foo\"; $help" foo
    expect_usage_error "unexpected argument \"b\"; $help" run b
    expect_usage_error "$window \"30\" has no unit; write 30s, 30m or 30h" \
        --window 30
    expect_usage_error "$window \"0\" has no unit; write 0s, 0m or 0h" \
        --window 0
    expect_usage_error "$window \"0s\" is too short; write 1s or more" \
        --window 0s
    expect_usage_error \
        "$window \"-1\" has a sign; write the length alone, such as 30m" \
        --window -1
    window+=' "1 month" has months or years, whose length varies;'
    expect_usage_error "$window write days, such as 30d" --window '1 month'
    window='--window: the argument is empty; give it as --window=DURATION,'
    expect_usage_error "$window or leave it out" --window ''
    local print='--print: an option of migrate only;'
    expect_usage_error "$print write order-sweep migrate --print" --print
    local key='explain: no key; write order-sweep explain KEY,'
    expect_usage_error "$key a word for each column of the key" explain
}

# The lists below have the form of --list-options: name, letter, argument.

options_of_help() {
    awk '/^  (-., |    )--/ {
        letter = substr($0, 3, 1) == "-" ? substr($0, 4, 1) : "-"
        split(substr($0, 7), word, " ")
        count = split(word[1], part, "=")
        print part[1] "\t" letter "\t" (count > 1 ? part[2] : "-")
    }' "$work/help" | sort
}

# .It Fl d , Fl -dbname Ns = Ns Ar DBNAME
options_of_page() {
    sed -n 's/\\&//g; s/^\.It Fl //p' "$page" | awk '{
        letter = "-"
        first = 1
        if ($1 !~ /^-/) {
            letter = $1
            first = 4
        }
        argument = $(first + 3) == "Ns" ? $(first + 5) : "-"
        print "-" $first "\t" letter "\t" argument
    }' | sort
}

# | `--dbname=DBNAME`, `-d` | ... |, if there is such a table at all.
options_of_readme() {
    sed -n 's/^| `\(--[^`]*\)`\(, `-\(.\)`\)\{0,1\} |.*/\1 \3/p' "$readme" |
        awk '{
            count = split($1, part, "=")
            print part[1] "\t" ($2 != "" ? $2 : "-") "\t" \
                (count > 1 ? part[2] : "-")
        }' | sort
}

commands_of_help() {
    sed -n '/^Usage:/,/^$/s/^  order-sweep \[\{0,1\}\([a-z]*\).*/\1/p' \
        "$work/help" | sort
}

# The list that begins DESCRIPTION.
commands_of_page() {
    sed -n '/^The commands are:/,/^\.El/s/^\.It Cm //p' "$page" | sort
}

# "command --option" a line, what SYNOPSIS shows of each command.
synopsis_of_page() {
    sed -n '/^\.Sh SYNOPSIS/,/^\.Sh DESCRIPTION/p' "$page" | awk '
        /^\.(Op )?Cm / { command = $NF }
        /^\.Op Fl -/ { print command " -" $3 }
        /^\.Op Fl [a-z]/ {
            for (i = 1; i <= length($3); i++) {
                print command " -" substr($3, i, 1)
            }
        }' | sort
}

exit_codes_of_page() {
    sed -n '/^\.Sh EXIT STATUS/,/^\.El/p' "$page" |
        awk '/^\.It / { code = $2; getline; print code "\t" $0 }' |
        sed 's/\\-/-/g' | sort
}

# | 64 | wrong usage |, if there is such a table at all.
exit_codes_of_readme() {
    sed -n 's/^| `\{0,1\}\([0-9]\{1,2\}\)`\{0,1\} *|.*/\1/p' "$readme" | sort
}

check_agreement() {
    options_of_help >"$work/help_options"
    expect_equal "--help" "$work/options" "$work/help_options"
    options_of_page >"$work/page_options"
    expect_equal "option list of the man page" "$work/options" \
        "$work/page_options"
    commands_of_help >"$work/help_commands"
    expect_equal "usage of --help" "$work/commands" "$work/help_commands"
    commands_of_page >"$work/page_commands"
    expect_equal "command list of the man page" "$work/commands" \
        "$work/page_commands"
    synopsis_of_page >"$work/synopsis"
    cut -d ' ' -f 1 "$work/synopsis" | sort -u >"$work/synopsis_commands"
    expect_equal "SYNOPSIS of the man page" "$work/commands" \
        "$work/synopsis_commands"
    comm -13 "$work/commands_options" "$work/synopsis" >"$work/foreign"
    [ ! -s "$work/foreign" ] ||
        fail "SYNOPSIS: not of this command: $(cat "$work/foreign")"
    exit_codes_of_page >"$work/page_codes"
    expect_equal "EXIT STATUS of the man page" "$work/exit_codes" \
        "$work/page_codes"

    [ -f "$readme" ] || return 0
    options_of_readme >"$work/readme_options"
    if [ -s "$work/readme_options" ]; then
        expect_equal "option table of README.md" "$work/options" \
            "$work/readme_options"
    fi
    exit_codes_of_readme >"$work/readme_codes"
    if [ -s "$work/readme_codes" ]; then
        cut -f1 "$work/exit_codes" >"$work/codes"
        expect_equal "exit codes of README.md" "$work/codes" \
            "$work/readme_codes"
    fi
}

check_answers
check_full_output
check_usage_errors
check_agreement

[ "$failures" -eq 0 ] || exit 1
echo "surface: all as documented"
