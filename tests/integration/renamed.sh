#!/bin/bash
# A column that is renamed under its definition: run, dry run and explain end
# with 78 and its name, also where one of our functions has a variable of that
# name, which must not stand in for it.
set -euo pipefail

# shellcheck source=tests/support/db.sh
. "$ORDER_SWEEP_SOURCE/tests/support/db.sh"
# shellcheck source=tests/support/steps.sh
. "$ORDER_SWEEP_SOURCE/tests/support/steps.sh"

new_shop renamed
change "SELECT FROM order_sweep.undefine('cancel_unpaid')"

# renames COLUMN TYPE VALUE ARGUMENTS: a table whose order 1 is due, until the
# column gets another name.
renames()
{
    local said="order-sweep: x: column \"$1\" does not exist; look for a column \
that was renamed or dropped"
    sql -f - <<SQL >/dev/null
DROP TABLE IF EXISTS shop.t;
CREATE TABLE shop.t (id int PRIMARY KEY, open boolean DEFAULT true,
    at timestamptz DEFAULT now() - interval '1 hour', "$1" $2);
INSERT INTO shop.t (id, "$1") VALUES (1, $3);
SELECT order_sweep.define(sweep => 'x', orders => 'shop.t', key => '{id}',
    max_age => NULL, set => 'open = false', $4);
SQL
    runs 0 explain 1
    is "$1, before: explain" "$(printf '%s\n' "$out" | tail -n 1)" \
        '    the next run sweeps it'
    change "ALTER TABLE shop.t RENAME COLUMN \"$1\" TO another"
    runs 78
    is "$1: run" "$out$err" "$said"
    runs 78 --dry-run
    is "$1: dry run" "$out$err" "$said"
    runs 78 explain 1
    is "$1: explain" "$err" "$said"
    is "$1: its verdict" "$(printf '%s\n' "$out" | tail -n 1)" \
        "    error: column \"$1\" does not exist"
    is "$1: the order" "$(ask "SELECT count(*) FROM shop.t WHERE open")" 1
}

# The names of our own results, of now and before.
for name in due since deadline next_deadline order_key k1; do
    renames $name timestamptz "now() - interval '1 hour'" \
        "unpaid => 'open', deadline => '$name'"
done
for name in due state what value; do
    renames $name boolean true \
        "unpaid => 'open AND $name', since => 'at', after => '30 minutes'"
done

# What explain can tell is told all the same, and nothing is wrong with a key
# that is no such thing.
is 'a part that fits' "$(printf '%s\n' "$out" | grep -A 1 '^due$' | tail -n 1)" \
    '    true'
runs 64 explain x
is 'a wrong key' "$err" "order-sweep: invalid input syntax for type integer: \
\"x\"; give the key's columns in order"
# No run looks after a paused sweep, so explain alone finds it.
change "SELECT FROM order_sweep.pause('x')"
runs 78 explain 1
is 'paused' "$err" 'order-sweep: x: column "value" does not exist; order-sweep check says what does not fit'
finish
