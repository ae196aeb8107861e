#!/bin/sh
# The crontab entry: nothing is run until a # is taken away; then cron reads all
# of it, it names the program of its own build, it is inert without the program,
# and it passes on the program's status, output and database.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d /tmp/order-sweep-cron.XXXXXX)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

failures=0
fail()
{
    echo "cron_entry: $*" >&2
    failures=$((failures + 1))
}

# What cron ignores without a word.
check_form()
{
    case $(basename "$entry") in
    *[!A-Za-z0-9_-]*) fail "cron ignores a file of this name" ;;
    esac
    if [ -n "$(tail -c 1 "$entry")" ]; then
        fail "the last line has no newline: cron ignores it"
    fi
    if [ -x "$entry" ]; then
        fail "the file is executable"
    fi
    if LC_ALL=C grep -q '[^ -~]' "$entry"; then
        fail "a character that is not printable ASCII, or a tab"
    fi
}

# The three kinds of line: comment or empty, setting, job.
check_lines()
{
    grep -v -e '^#' -e '^$' "$entry" >"$scratch/lines"
    grep -E '^[A-Z]+=' "$scratch/lines" >"$scratch/settings" || :
    grep -v -E '^[A-Z]+=' "$scratch/lines" >"$scratch/jobs" || :

    for setting in SHELL=/bin/sh PATH= MAILTO= PGDATABASE=shop; do
        if ! grep -q "^$setting" "$scratch/settings"; then
            fail "no line $setting"
        fi
    done
    if grep -q '[$"'\'' ]' "$scratch/settings"; then
        fail "a setting with a space, a quote or a \$: cron expands nothing"
    fi
    if [ "$(tail -n 1 "$scratch/lines")" != "$(cat "$scratch/jobs")" ]; then
        fail "not one job, after all settings"
    fi
    if grep -q '%' "$scratch/jobs"; then
        fail "a % in the job: cron makes a newline of it"
    fi
    if ! grep -q -E '^(\*|[0-9][^ ]*)( (\*|[0-9][^ ]*)){4} order-sweep ' \
        "$scratch/jobs"; then
        fail "the job is not five times, the user order-sweep, a command"
    fi
    if [ "$(grep '^#[*]' "$entry")" != "#$(cat "$scratch/jobs") --linger" ]
    then
        fail "the line for lingering runs is not the job with --linger"
    fi
}

# Run the command as cron does, by the SHELL, with the settings and no more;
# with another program in the place of the installed one.
run_entry()
{
    there=$scratch/order-sweep
    here_command=$(printf '%s\n' "$command" | sed "s|$program|$there|g")
    status=0
    # shellcheck disable=SC2046  # the settings have no spaces, see above
    env -i $(cat "$scratch/settings") /bin/sh -c "$here_command" \
        >"$scratch/output" 2>&1 </dev/null || status=$?
}

check_command()
{
    command=$(cut -d ' ' -f 7- "$scratch/jobs")
    case $command in
    *" -x $program "*" $program") ;;
    *) fail "the command does not look for $program, then run it: $command" ;;
    esac
    if printf '%s\n' "$command" | grep -q -E '(^|[ ;&|])order-sweep'; then
        fail "the program is called without its absolute path"
    fi

    rm -f "$scratch/order-sweep"
    run_entry
    if [ "$status" != 0 ] || [ -s "$scratch/output" ]; then
        fail "without the program: status $status, $(cat "$scratch/output")"
    fi

    cat >"$scratch/order-sweep" <<'PROGRAM'
#!/bin/sh
echo "run for $PGDATABASE with $# arguments"
exit "$(cat "${0%/*}/status")"
PROGRAM
    chmod 755 "$scratch/order-sweep"
    for expected in 0 1 78; do
        echo "$expected" >"$scratch/status"
        run_entry
        if [ "$status" != "$expected" ]; then
            fail "the program ended with $expected, the job with $status"
        fi
        if [ "$(cat "$scratch/output")" != 'run for shop with 0 arguments' ]; then
            fail "the job said: $(cat "$scratch/output")"
        fi
    done
}

# The entry of a build that is to be installed under this prefix.
check_prefix()
{
    if ! "${CMAKE:-cmake}" -S "$root" -B "$scratch/build" -G Ninja \
        -D ORDER_SWEEP_TESTS=OFF -D CMAKE_INSTALL_PREFIX="$1" \
        >"$scratch/configured" 2>&1; then
        cat "$scratch/configured" >&2
        exit 1
    fi
    shipped=$scratch/build/cron.d/order-sweep
    if grep -v -E '^(#|$|[A-Z]+=)' "$shipped"; then
        fail "that is run before anybody wanted it"
    fi
    # The first # that is followed by a job.
    entry=$scratch/order-sweep-entry
    sed '0,/^#\*/s//*/' "$shipped" >"$entry"
    program=$1/bin/order-sweep
    check_form
    check_lines
    check_command
}

check_prefix /opt/shop
check_prefix /usr
if ! grep -q -x -F "$(cat "$scratch/jobs")" "$root/README.md"; then
    fail "README shows another line than $(cat "$scratch/jobs")"
fi

if [ "$failures" != 0 ]; then
    exit 1
fi
echo "cron_entry: ok"
