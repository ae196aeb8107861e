#!/bin/bash
# Takes the guards out of what keeps the rights of some from others, and the
# caller's session from the functions, one at a time, and sees that the test
# that is there for it fails.  (grants.sh does this itself for some.)
set -euo pipefail

# shellcheck source=tests/support/guards.sh
. "$ORDER_SWEEP_SOURCE/tests/support/guards.sh"

without hostile $cancel "current_setting('timezone_abbreviations') <> 'Default'" \
    false
without hostile build_cancel 'pg_my_temp_schema() <> 0' false
without hostile build_cancel 'pg_get_userbyid(c.relowner) <> current_user' false
without hostile build_cancel 'pg_get_userbyid(t.typowner) <> current_user' false
without hostile build_cancel 'pg_get_userbyid(c.relowner) <> current_user' true
without grants $cancel 'SECURITY DEFINER' 'SECURITY INVOKER'
without grants $cancel "SET row_security TO 'off'"

# The settings of the caller.
without hostile pins "' SET IntervalStyle = postgres\n'" "''"
# Row security with settings, where the orders have no policies.
without hostile pins 'AND order_sweep.is_bound(order_sweep.relation(s.orders), s.owner)'

# Who may define runs nothing with the rights of others.
without grants own_function 'p.prosecdef' true
without grants own_function 'pg_get_userbyid(p.proowner) = _owner' true
without grants guard_sweep 'IF FOUND THEN' 'IF false THEN'
without grants guard_sweep 'order_sweep.pinned_path(NEW.path)' NEW.search_path
without grants guard_sweep 'NEW := order_sweep.calls(NEW);'
without grants guard_sweep 'IS DISTINCT FROM _type' 'IS DISTINCT FROM format_type(to_regtype(_type), -1)'

all_noticed
