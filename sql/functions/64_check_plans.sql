-- What order-sweep check reads from the plans of a definition's parts: NULLs that
-- a column does not take, payments that nothing ties to their order, rows that
-- policies hide.

CREATE OR REPLACE FUNCTION order_sweep.null_refused(
    relations regclass[], event integer, OUT level text, OUT why text)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN f.filled THEN 'warn' ELSE 'fail' END,
           'Each order would fail' || CASE WHEN f.filled
               THEN ', unless a trigger of the table fills it in.' ELSE '.' END
      -- for each row (1), before (2)
      FROM (SELECT EXISTS (
                SELECT FROM pg_trigger t
                 WHERE t.tgrelid = ANY (relations) AND NOT t.tgisinternal
                   AND t.tgenabled <> 'D'
                   AND t.tgtype & (3 | event) = (3 | event)) AS filled) f
$$;
COMMENT ON FUNCTION order_sweep.null_refused IS
    'how grave a NULL is for a column that takes none, and why, where rows are '
    'inserted (event 4 of pg_trigger.tgtype) or updated (16)';

CREATE OR REPLACE FUNCTION order_sweep.check_inserts(argument text, plan json)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    item := 'not null';
    -- What goes into an insert has an output for each column of the table, in
    -- their order; a column that the statement does not name, and that has no
    -- default, is a NULL there.  (MERGE does not show its rows, nor does a
    -- function that the statement calls.)
    FOR level, why, what, mend IN
        SELECT f.level, f.why,
               format('%s inserts into %s without %I, which is not null',
                      argument, r.relation, a.attname),
               format('Let %s write %I, or give the column a default.',
                      argument, a.attname)
          FROM order_sweep.plan_nodes(plan) n,
               LATERAL (SELECT order_sweep.node_relation(n.node) AS relation) r,
               order_sweep.null_refused(ARRAY[r.relation], 4) f,
               json_array_elements(n.node->'Plans') i,
               json_array_elements_text(i->'Output')
                   WITH ORDINALITY AS o(value, n)
          JOIN pg_attribute a ON a.attnum = o.n
         WHERE n.node->>'Node Type' = 'ModifyTable'
           AND n.node->>'Operation' = 'Insert'
           AND i->>'Parent Relationship' = 'Outer'
           AND o.value ~ '^NULL(::|$)'
           AND a.attrelid = r.relation AND a.attnotnull
           AND NOT a.attisdropped AND a.attgenerated = ''
         ORDER BY a.attnum
    LOOP
        RETURN NEXT;
    END LOOP;
END $$;
COMMENT ON FUNCTION order_sweep.check_inserts IS
    'columns that are not null and that an insert of each leaves out: the '
    'statement parses, and fails for every order';

CREATE OR REPLACE FUNCTION order_sweep.check_nulls(s order_sweep.sweep, plan json)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    -- the table that is updated: that under a view, where there is one
    _target regclass := order_sweep.node_relation(plan->0->'Plan');
    _assigned text[] := order_sweep.assigned(s.set);
    _update json;
BEGIN
    item := 'not null';
    -- What goes into an update has an output for each column that it writes,
    -- in the table's order, and behind them what finds the row.
    SELECT u->'Output' INTO _update
      FROM json_array_elements(plan->0->'Plan'->'Plans') u
     WHERE u->>'Parent Relationship' = 'Outer';
    FOR level, why, what, mend IN
        SELECT f.level, f.why,
               format('set makes %I of %s NULL, which is not null', w.name, _target),
               format('Let set leave %I alone, or give it a value; or ALTER '
                      'TABLE %s ALTER %1$I DROP NOT NULL.', w.name, _target)
          FROM (SELECT a.attname AS name, row_number() OVER (ORDER BY a.attnum) AS n,
                       count(*) OVER () AS columns
                  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
                 WHERE c.oid = _target AND a.attnum > 0
                   AND c.relkind <> 'v' -- what its trigger does is unknown
                   AND a.attname = ANY (_assigned)) w,
               LATERAL (SELECT order_sweep.relations(_target)) AS r("all"),
               order_sweep.null_refused(r.all, 16) f
         WHERE w.columns = cardinality(_assigned) -- a view may rename them
           AND _update->>(w.n::int - 1) ~ '^NULL(::|$)'
           AND EXISTS (SELECT FROM pg_attribute a
                        WHERE a.attrelid = ANY (r.all) AND a.attname = w.name
                          AND a.attnotnull)
         ORDER BY w.n
    LOOP
        RETURN NEXT;
    END LOOP;
END $$;
COMMENT ON FUNCTION order_sweep.check_nulls IS
    'columns that are not null and that set makes NULL: the statement parses, '
    'and fails for every order';

CREATE OR REPLACE FUNCTION order_sweep.check_payments(
    s order_sweep.sweep, plan json)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    _orders regclass[] := order_sweep.relations(order_sweep.relation(s.orders));
    _deferred boolean;
BEGIN
    -- The plan is that of all of them: a line a table, however many read it.
    FOR what, _deferred IN
        SELECT DISTINCT format(CASE WHEN d.deferred
                   THEN 'the look for due orders reads %s, whose foreign key to '
                        '%s is deferred'
                   ELSE 'the look for due orders reads %s, which no foreign key '
                        'ties to %s' END,
                   coalesce(pg_partition_root(r.relation), r.relation),
                   s.orders), d.deferred
          FROM (SELECT order_sweep.node_relation(node) AS relation
                  FROM order_sweep.plan_nodes(plan)) r,
               -- checked at the commit: no lock on the order until then
               LATERAL (SELECT EXISTS (SELECT FROM pg_constraint k
                                        WHERE k.contype = 'f' AND k.condeferred
                                          AND k.conrelid = r.relation
                                          AND k.confrelid = ANY (_orders))
                       ) d (deferred)
         WHERE r.relation <> ALL (_orders)
           AND NOT EXISTS (SELECT FROM pg_constraint k
                            WHERE k.contype = 'f'
                              -- a table that orders refer to holds no payments
                              AND (k.confrelid = r.relation
                                   AND k.conrelid = ANY (_orders)
                                   OR NOT k.condeferred
                                   AND k.conrelid = r.relation
                                   AND k.confrelid = ANY (_orders))) LOOP
        level := 'note'; -- a shop may have none on purpose
        item := 'foreign key';
        why := 'A payment being inserted there is seen only if its transaction '
               'also locks or changes the order''s row.';
        mend := CASE WHEN _deferred THEN 'Make it INITIALLY IMMEDIATE'
                     ELSE 'Add a foreign key to the orders table' END
                || ', or let paying update the order''s row under the condition '
                   'that it is unpaid.';
        RETURN NEXT;
    END LOOP;
END $$;
COMMENT ON FUNCTION order_sweep.check_payments IS
    'tables that unpaid or a rule looks into and that no foreign key ties to the '
    'orders at once: the shop''s half of the payment contract';

CREATE OR REPLACE FUNCTION order_sweep.check_hidden(
    s order_sweep.sweep, argument text, plan json)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    IF s.settings IS NULL THEN
        RETURN; -- row security is off: hidden rows raise
    END IF;
    FOR what IN
        SELECT DISTINCT format('%s looks into %s, whose policies bind role %I',
                               argument, r.relation, s.owner)
          FROM (SELECT order_sweep.node_relation(node) AS relation
                  FROM order_sweep.plan_nodes(plan)) r
         -- of partitions the policies of the whole count
         WHERE coalesce(pg_partition_root(r.relation), r.relation)
               <> order_sweep.relation(s.orders)
           AND order_sweep.is_bound(r.relation, s.owner) LOOP
        level := 'warn';
        item := 'row security';
        why := 'A payment that they hide does not keep its order.';
        mend := 'See that with settings the policies show all that the rule '
                'must see.';
        RETURN NEXT;
    END LOOP;
END $$;
COMMENT ON FUNCTION order_sweep.check_hidden IS
    'tables that a rule looks into, where policies may hide rows from it: those '
    'of the orders table are wanted, and row security is one switch for all';
