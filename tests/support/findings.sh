# shellcheck shell=bash
# Sourced by test scripts, after steps.sh: what order-sweep check finds.
#
#     new_findings NAME    new_shop, and a second definition, tidy, of shop.t, whose
#                          each inserts into shop.log; all of it belongs to role
#                          $owner; roles $other and $cron have no rights
#     super SQL            runs it as a superuser
#     define ARGUMENTS     tidy with other arguments, SQL
#     define_as_before     tidy as new_findings has it
#     finds WHAT CODE WANTED [ARGUMENT...]
#                          check ends with CODE and finds this, as JSON and,
#                          the first of a kind, as text: a line for each finding
#                          that is not ok, level|sweep|item|what|mend
#     missing SWEEP MEND [LEVEL]
#                          the finding that an index is missing
#     clean WHAT           check finds nothing
#     breaks WHAT SQL WANTED [REPAIR]
#                          after the SQL check finds this and nothing else; after
#                          the mends that are SQL or "order-sweep migrate", and
#                          after REPAIR, more SQL, it finds nothing

# shellcheck disable=SC2154  # superuser, out, err are those of steps.sh

super()
{
    sql -U "$superuser" -c "$1"
}

define()
{
    change "SELECT FROM order_sweep.define(sweep => 'tidy', orders => 'shop.t',
        key => '{id}', set => \$\$state = 'closed'\$\$, $1)"
}

define_as_before()
{
    define "unpaid => \$\$state = 'open'\$\$, since => 'at', after => '1 hour',
        each => ARRAY[\$\$INSERT INTO shop.log (id, what)
            VALUES (\$1, 'closed')\$\$]"
}

new_findings()
{
    owner=$1_owner_$$
    other=$1_other_$$
    cron=$1_cron_$$
    new_shop "$1" "$owner"
    new_role "$other"
    new_role "$cron"
    sql -f - <<'SQL'
CREATE TABLE shop.t (id int PRIMARY KEY, state text, at timestamptz,
    local timestamp, note text);
CREATE INDEX t_open ON shop.t (at, id) WHERE state = 'open';
CREATE TABLE shop.log (id int NOT NULL, what text NOT NULL,
    at timestamptz NOT NULL DEFAULT now(), old text,
    n int GENERATED ALWAYS AS IDENTITY,
    twice int NOT NULL GENERATED ALWAYS AS (id * 2) STORED);
ALTER TABLE shop.log DROP COLUMN old;
SQL
    define_as_before
}

# The findings in $out, JSON, without those that are ok.
read_findings()
{
    ask "SELECT concat_ws('|', j->>'level', coalesce(j->>'sweep', ''),
            j->>'item', j->>'what', coalesce(j->>'mend', ''))
        FROM regexp_split_to_table(\$json\$$out\$json\$, E'\\n') AS l,
             LATERAL (SELECT l::json AS j) x
        WHERE l <> '' AND j->>'level' <> 'ok'"
}

# The same from text: the mend follows, on a line of its own.
read_text()
{
    printf '%s\n' "$out" | awk '
        /^(ok|note|warn|fail) +/ {
            if (line != "") print line
            line = ""
        }
        /^(note|warn|fail)  / { line = $0 }
        /^      mend: / { if (line != "") line = line "|" substr($0, 13) }
        /^            / { if (line != "") line = line "\n" substr($0, 13) }
        END { if (line != "") print line }'
}

as_text()
{
    printf '%s' "$1" | sed -E 's/^(note|warn|fail)\|\|/\1  /
        s/^(note|warn|fail)\|([a-z_0-9]+)\|/\1  \2: /
        s/^((note|warn|fail)  ([a-z_0-9]+: )?[a-z ]+)\|/\1: /; s/\|$//'
}

# The items that were compared as text too: one of a kind is enough.
declare -A as_text_seen

finds()
{
    local what=$1 code=$2 wanted=$3 item
    shift 3
    runs "$code" check --format=json "$@"
    is "$what" "$(read_findings)" "$wanted"
    is "$what: no message" "$err" ''
    is "$what: each with its reason" "$(printf '%s' "$out" |
        grep -E '"level":"(note|warn|fail)"' | grep -c '"why":null' || :)" 0
    item=$(printf '%s' "$wanted" | cut -d '|' -f 1,3 | sort -u)
    if [ -z "${as_text_seen[${item:-none}]:-}" ]; then
        as_text_seen[${item:-none}]=yes
        runs "$code" check "$@"
        is "$what, as text" "$(read_text)" "$(as_text "$wanted")"
    fi
}

missing()
{
    printf '%s|%s|index|no index serves the look for due orders|%s' \
        "${3:-fail}" "$1" "$2"
}

clean()
{
    runs 0 check --format=json
    is "$1" "$(read_findings)" ''
}

breaks()
{
    local code=1 line mend
    change "$2"
    case $3 in
    fail* | *$'\n'fail*) code=78 ;;
    note*) code=0 ;;
    esac
    finds "$1" "$code" "$3"
    while IFS= read -r line; do
        mend=${line##*|}
        case $mend in
        'order-sweep migrate') runs 0 migrate ;;
        *';') change "$mend" ;;
        esac
    done <<<"$3"
    change "${4:-}"
    clean "$1: mended"
}
