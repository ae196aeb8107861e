#!/bin/bash
# Takes the guards of each spec out of the SQL, one at a time, and sees that the
# spec shows the harm. One line each: red, as it must be, or green; the spec; the
# line of its output that tells the harm; what was taken out.
set -euo pipefail

here=$ORDER_SWEEP_SOURCE/tests/isolation
greens=0
proven=' '

# shellcheck source=tests/support/guards.sh
. "$ORDER_SWEEP_SOURCE/tests/support/guards.sh"
# shellcheck source=tests/support/db.sh
. "$ORDER_SWEEP_SOURCE/tests/support/db.sh"
# shellcheck source=tests/support/isolation.sh
. "$ORDER_SWEEP_SOURCE/tests/support/isolation.sh"

# harms SPEC HARM WHAT SQL: with the SQL run on its shop the spec's output has a
# line with HARM (a regular expression) more than it should.
harms()
{
    local color=red
    if ! mutated "$4" "$here/spec.sh" "$1" ||
        ! grep -qE -e "^\\+.*($2)" <<<"$said"; then
        color=green
        greens=$((greens + 1))
    fi
    proven+="$1 "
    printf '%-5s  %-19s  %-30s  %s\n' "$color" "$1" "$2" \
        "$(tr -s '[:space:]' ' ' <<<"$3" | sed 's/ $//')"
    if [ "$color" = green ]; then
        printf '%s\n' "$said"
    fi
}

# without SPEC HARM FUNCTION OLD [NEW [SCHEMA]]: with NEW (nothing) for OLD.
without()
{
    harms "$1" "$2" "${3#cancel_unpaid_}: $4 -> ${5:-nothing}" \
        "$(replacing "${@:3}")"
}

new_db isolation_shop
load_shop
export ORDER_SWEEP_TEST_SHOP=$PGDATABASE
# From 15 on there is a choice, and this is the quicker way.
if [ "$(sql -c 'SHOW server_version_num')" -ge 150000 ]; then
    ORDER_SWEEP_TEST_SHOP+=' STRATEGY file_copy'
fi

# What a cancel must not do with an error: go on half done.
half_done()
{
    echo 'SET check_function_bodies = off;'
    replacing $cancel "$1" "BEGIN $1"
    replacing $cancel '-- The primary key refuses' \
        $'EXCEPTION WHEN OTHERS THEN END;\n    -- The primary key refuses'
}

# Lock and look in one statement.
one_statement()
{
    replacing $cancel "$gated_lock" 'PERFORM 1;'
    replacing $cancel $'\n     WHERE o.id = $1\n' \
        $'\n     WHERE o.id IN (SELECT o.id FROM shop.gated o WHERE o.id = $1
                        FOR UPDATE OF o SKIP LOCKED)\n'
}
gated_lock=${lock/orders/gated}

# One that waits is seen to wait, or to be at the end of its patience already.
waits='<waiting|lock timeout'

# An absolute value, read before the row is locked.
old_stock()
{
    replacing $cancel 'FOR NO KEY UPDATE'
    replacing $cancel 'stock = g.stock +' \
        'stock = (SELECT old.stock FROM shop.goods old WHERE old.id = g.id) +'
}

without admin_cancels 'stock not conserved' $cancel "$unpaid$and"

harms deadlock 'stock not conserved' 'cancel: goes on after an error' \
    "$(half_done 'FOR order_sweep_row IN SELECT shop.put_back')"

without deferred_foreign_key "$waits" $cancel "$lock" 'PERFORM 1;'

without deferred_trigger 'journal of an order not closed' $cancel \
    'SET CONSTRAINTS ALL IMMEDIATE;'
without deferred_trigger 'journal of an order not closed' $cancel \
    "$look_again" "${look_again/IF/IF false AND}"

without deleted_order gone $cancel 'IF EXISTS (SELECT' 'IF NOT EXISTS (SELECT'

without edited_order 'young order swept' $cancel "$on_time$and"
without edited_order 'stock not conserved' $cancel \
    'FOR UPDATE OF o' 'FOR NO KEY UPDATE OF o'

without held_row "$waits" $batch ' SKIP LOCKED'
without held_row "$waits" $cancel ' SKIP LOCKED'
without held_row swept $cancel 'FOR UPDATE OF o' 'FOR NO KEY UPDATE OF o'
without held_row gone $cancel "RETURN 'locked'" "RETURN 'gone'"

without held_stock 'statement timeout' $cancel "SET lock_timeout TO '200ms'"
harms held_stock 'stock not conserved' 'cancel: goes on after an error' \
    "$(half_done 'FOR order_sweep_row IN SELECT g.id')"

without lock_then_look 'paid order closed' $cancel "$gated_lock" 'PERFORM 1;'
harms lock_then_look 'paid order closed' 'cancel: lock and look at once' \
    "$(one_statement)"

without payer_comes_second 'journal of an order not closed' pay_order \
    ' AND order_status = 1' '' shop
without payer_comes_second '\[1\]' cancel_unpaid_late \
    'EXISTS (SELECT FROM shop.payment' 'NOT EXISTS (SELECT FROM shop.payment'

without payer_updates_order 'paid order closed' $cancel "$unpaid$and"
without payer_updates_order "$waits" $cancel ' SKIP LOCKED'
without payer_updates_order ' 1$' $batch 'FOR UPDATE OF o SKIP LOCKED'

without payment_after_batch 'paid order closed' $cancel "$unpaid$and"
without payment_after_batch 'paid order closed' $cancel "$and$rule"

without payment_in_flight 'paid order closed' $cancel \
    'FOR UPDATE OF o' 'FOR NO KEY UPDATE OF o'
without payment_in_flight 'paid order closed' $cancel "$and$rule"
without payment_in_flight ' 1$' $batch \
    'FOR UPDATE OF o' 'FOR NO KEY UPDATE OF o'

harms reopened_order 'order swept twice' 'the primary key of the journal' \
    'ALTER TABLE order_sweep.journal DROP CONSTRAINT journal_pkey'
without reopened_order ' 1$' $batch 'LIMIT 1) IS NULL' 'LIMIT 0) IS NULL'

without repeatable_read 'paid order closed' $cancel "<> 'read committed'" "= ''"

without stock_in_order 'deadlock detected' $cancel 'ORDER BY g.id' \
    'ORDER BY g.id DESC'
harms stock_in_order 'stock not conserved' 'cancel: writes an old stock + 1' \
    "$(old_stock)"

without swallowed_update 'sweep  ' $cancel "order_sweep_state = 'sweep'" false
without swallowed_update 'stock not conserved' $cancel 'shop.refuse(' 'concat('
without swallowed_update 'closed order without journal' $cancel \
    "$no_journal" "${no_journal/IF/IF false AND}"

without two_sweepers "$waits" $cancel "$lock" 'PERFORM 1;'
without two_sweepers 'duplicate key' $cancel "$unpaid$and"
without two_sweepers 'closed order without journal' $cancel "$journal" \
    'PERFORM 1'

for spec in "$here"/*.spec; do
    name=$(basename "$spec" .spec)
    if [[ $proven != *" $name "* ]]; then
        echo "isolation: no guard is taken out for $name" >&2
        greens=$((greens + 1))
    fi
    if ! grep -qF "add_isolation_test($name)" "$here/../CMakeLists.txt"; then
        echo "isolation: $name is not in tests/CMakeLists.txt" >&2
        greens=$((greens + 1))
    fi
done

if [ "$greens" != 0 ]; then
    echo "isolation: $greens of $guards mutations went unnoticed" >&2
    exit 1
fi
echo "isolation: ok, $guards mutations, each noticed"
