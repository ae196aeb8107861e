-- What order-sweep check asks.  Nothing here writes; a finding is a level (ok,
-- warn, fail), the sweep it belongs to (NULL: all), what it is about, what was
-- found, why that matters, and how to mend it.

CREATE OR REPLACE FUNCTION order_sweep.check_texts()
RETURNS TABLE (sweep text, argument text, path text, parameters text,
               statement text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    s order_sweep.sweep;
    c record;
    _types text;
BEGIN
    FOR s IN SELECT * FROM order_sweep.sweep d ORDER BY d.name LOOP
        SELECT * INTO c FROM order_sweep.clauses(s);
        SELECT string_agg(to_regtype(t)::oid::text, ',' ORDER BY n) INTO _types
          FROM unnest(s.key_types) WITH ORDINALITY AS u(t, n);
        sweep := s.name;
        path := s.search_path;

        parameters := _types;
        argument := 'key';
        statement := format('SELECT FROM %s o WHERE %s', s.orders, c.key_where);
        RETURN NEXT;
        argument := 'set';
        statement := format(E'UPDATE %s o SET %s\nWHERE %s', s.orders, s.set,
                            c.key_where);
        RETURN NEXT;
        FOR argument, statement IN
            SELECT format('each[%s]', n), t
              FROM unnest(s.each) WITH ORDINALITY AS u(t, n) LOOP
            RETURN NEXT;
        END LOOP;

        parameters := '';
        FOR argument, statement IN
            SELECT a, format('SELECT FROM %s o WHERE %s', s.orders, w)
              FROM (VALUES
                ('unpaid', s.unpaid, c.unpaid),
                (CASE WHEN s.deadline IS NULL THEN 'since' ELSE 'deadline' END,
                 c.clock, format('%s < NULL::%s', c.clock, s.clock_type)),
                ('event', s.event,
                 format(E'pg_catalog.to_jsonb((%s\n)) IS NOT NULL', s.event)),
                ('paid', s.paid, format(E'(%s\n)', s.paid))) AS v(a, given, w)
             WHERE given IS NOT NULL
            UNION ALL
            SELECT format('unless "%s"', key),
                   format(E'SELECT FROM %s o WHERE (%s\n)', s.orders, value)
              FROM json_each_text(s.unless) LOOP
            RETURN NEXT;
        END LOOP;
    END LOOP;
END $$;
COMMENT ON FUNCTION order_sweep.check_texts IS
    'the statements that a definition lives on, one an argument, to be '
    'prepared under its path with parameters of these types: what does not '
    'parse was broken since it was defined';

CREATE OR REPLACE FUNCTION order_sweep.check_looks()
RETURNS TABLE (sweep text, path text, parameters text, statement text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    s order_sweep.sweep;
    c record;
    _bound oid;
BEGIN
    FOR s IN SELECT * FROM order_sweep.sweep d ORDER BY d.name LOOP
        SELECT * INTO c FROM order_sweep.clauses(s);
        _bound := CASE WHEN s.clock_type LIKE '%int%' THEN 'bigint'::regtype
                       ELSE s.clock_type::regtype END;
        sweep := s.name;
        path := s.search_path;
        parameters := concat_ws(',', _bound, _bound, 'timestamptz'::regtype::oid,
                                'timestamptz'::regtype::oid);
        statement := format(
            'SELECT FROM %s o WHERE %s AND %s AND %s ORDER BY %s, %s LIMIT 500',
            s.orders, c.unpaid, c.on_time, c.young_enough, c.clock,
            c.key_columns);
        statement := replace(replace(replace(replace(statement,
            'order_sweep_to', '$1'), 'order_sweep_from', '$2'),
            'order_sweep_until', '$3'), 'order_sweep_oldest', '$4');
        RETURN NEXT;
    END LOOP;
END $$;
COMMENT ON FUNCTION order_sweep.check_looks IS
    'the look of each sweep for due orders, to be explained: $1 is the bound '
    'that the clock is compared with';

CREATE OR REPLACE FUNCTION order_sweep.plan_nodes(plan json)
RETURNS TABLE (node json)
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH RECURSIVE n(node) AS (
        SELECT plan->0->'Plan'
        UNION ALL
        SELECT c.value FROM n, json_array_elements(n.node->'Plans') c
    )
    SELECT node FROM n
$$;
COMMENT ON FUNCTION order_sweep.plan_nodes IS 'the nodes of a plan, outermost first';

CREATE OR REPLACE FUNCTION order_sweep.check_plan(sweep text, plan json)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    s order_sweep.sweep;
    _clock text;
    _names text;
BEGIN
    SELECT * INTO STRICT s FROM order_sweep.sweep d WHERE d.name = check_plan.sweep;
    item := 'index';
    SELECT string_agg(DISTINCT node->>'Index Name', ', ') INTO _names
      FROM order_sweep.plan_nodes(plan)
     WHERE node->>'Index Cond' ~ '\$1\M';
    IF _names IS NOT NULL AND NOT EXISTS (
        SELECT FROM order_sweep.plan_nodes(plan)
         WHERE node->>'Node Type' = 'Sort') THEN
        level := 'ok';
        what := format('the look for due orders is served by %s', _names);
        RETURN NEXT;
        RETURN;
    END IF;
    level := 'fail';
    what := 'no index serves the look for due orders';
    why := 'Each run would read the whole table, or sort all due orders for '
           'each batch.';
    _clock := coalesce(s.deadline, s.since);
    IF NOT EXISTS (SELECT FROM pg_attribute a
                    WHERE a.attrelid = to_regclass(s.orders)
                      AND a.attnum > 0 AND quote_ident(a.attname) = _clock) THEN
        _clock := format('(%s)', regexp_replace(_clock, '\mo\.', '', 'g'));
    END IF;
    mend := format('CREATE INDEX %sON %s (%s, %s)%s;',
        CASE (SELECT relkind FROM pg_class WHERE oid = to_regclass(s.orders))
            WHEN 'p' THEN '' ELSE 'CONCURRENTLY ' END,
        s.orders, _clock,
        (SELECT string_agg(quote_ident(k), ', ' ORDER BY n)
           FROM unnest(s.key) WITH ORDINALITY AS u(k, n)),
        -- a predicate over other tables cannot stand in an index
        CASE WHEN s.unpaid ~* '\mselect\M' THEN ''
             ELSE ' WHERE ' || regexp_replace(s.unpaid, '\mo\.', '', 'g') END);
    RETURN NEXT;
END $$;
COMMENT ON FUNCTION order_sweep.check_plan IS
    'does this plan, made with enable_seqscan off, hold the clock in an index '
    'condition; if not, the index that would';

CREATE OR REPLACE FUNCTION order_sweep.check_functions(s order_sweep.sweep)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    f record;
    p record;
    _drifted text[] := '{}';
BEGIN
    item := 'functions';
    FOR f IN SELECT * FROM order_sweep.build(s) LOOP
        SELECT count(*) AS n, min(prosrc) AS body, bool_and(prosecdef) AS definer,
               min(pg_get_userbyid(proowner)) AS owner,
               min(array_length(proconfig, 1)) AS settings
          INTO p FROM pg_proc
         WHERE pronamespace = 'order_sweep'::regnamespace AND proname = f.name;
        IF p.n <> 1 OR p.body <> f.body OR NOT p.definer OR p.owner <> s.owner
           OR p.settings <> (SELECT count(*) FROM regexp_matches(
                                 f.options, '\n SET ', 'g')) THEN
            _drifted := _drifted || f.name;
        END IF;
    END LOOP;
    IF _drifted = '{}' THEN
        level := 'ok';
        what := 'the functions are those this version generates';
    ELSE
        level := 'fail';
        what := format('%s: not what this version generates',
                       array_to_string(_drifted, ', '));
        why := 'They were changed, dropped or made by another version.';
        mend := 'order-sweep migrate';
    END IF;
    RETURN NEXT;
END $$;
COMMENT ON FUNCTION order_sweep.check_functions IS
    'are the generated functions there, and as they would be generated now';

CREATE OR REPLACE FUNCTION order_sweep.check_types(s order_sweep.sweep)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _orders regclass := to_regclass(s.orders);
    _types text[];
    _clock text := coalesce(s.deadline, s.since);
    _type text;
BEGIN
    item := 'types';
    level := 'fail';
    why := 'The functions were made for the types it had when it was defined.';
    mend := 'Call order_sweep.define anew.';
    IF _orders IS NULL THEN
        item := 'orders';
        what := format('there is no table %s', s.orders);
        why := 'It was dropped or renamed.';
        mend := 'Call order_sweep.define with its new name, or '
                || format('SELECT order_sweep.undefine(%L);', s.name);
        RETURN NEXT;
        RETURN;
    END IF;
    SELECT array_agg(format_type(order_sweep.base_type(a.atttypid), -1)
                     ORDER BY k.n)
      INTO _types
      FROM unnest(s.key) WITH ORDINALITY AS k(name, n)
      LEFT JOIN pg_attribute a ON a.attrelid = _orders AND a.attname = k.name
                              AND a.attnum > 0 AND NOT a.attisdropped;
    IF _types IS DISTINCT FROM s.key_types AND array_position(_types, NULL) IS NULL
    THEN
        what := format('key: the type was %s and is %s',
            array_to_string(s.key_types, ', '), array_to_string(_types, ', '));
        RETURN NEXT;
    END IF;
    SELECT format_type(order_sweep.base_type(a.atttypid), -1) INTO _type
      FROM pg_attribute a
     WHERE a.attrelid = _orders AND a.attnum > 0 AND NOT a.attisdropped
       AND (quote_ident(a.attname) = _clock
            OR 'o.' || quote_ident(a.attname) = _clock);
    IF _type <> s.clock_type THEN
        what := format('%s: the type was %s and is %s',
            CASE WHEN s.deadline IS NULL THEN 'since' ELSE 'deadline' END,
            s.clock_type, _type);
        RETURN NEXT;
    END IF;
END $$;
COMMENT ON FUNCTION order_sweep.check_types IS
    'have table, key and clock the types that the functions were made for';

CREATE OR REPLACE FUNCTION order_sweep.check_table(s order_sweep.sweep)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _orders regclass := to_regclass(s.orders);
BEGIN
    level := 'fail';
    FOR what, mend IN
        SELECT format('index %s is invalid', i.indexrelid::regclass),
               format('REINDEX INDEX CONCURRENTLY %s;', i.indexrelid::regclass)
          FROM pg_index i WHERE i.indrelid = _orders AND NOT i.indisvalid LOOP
        item := 'invalid index';
        why := 'CREATE INDEX CONCURRENTLY failed half-way; nothing uses it.';
        RETURN NEXT;
    END LOOP;
    IF EXISTS (SELECT FROM pg_class c, pg_roles r
                WHERE c.oid = _orders AND c.relrowsecurity
                  AND r.rolname = s.owner AND NOT r.rolsuper
                  AND NOT r.rolbypassrls
                  AND (c.relforcerowsecurity OR c.relowner <> r.oid))
       AND s.settings IS NULL THEN
        item := 'row security';
        what := format('the policies of %s hide rows from role %I', s.orders, s.owner);
        why := 'Every call raises rather than pass hidden orders in silence.';
        mend := 'Call define with settings, if the policies are wanted, or with '
                'a run_as that they do not bind.';
        RETURN NEXT;
    END IF;
    level := 'warn';
    FOR what IN
        SELECT format('trigger %I may swallow or undo the update', t.tgname)
          FROM pg_trigger t
         WHERE t.tgrelid = _orders AND NOT t.tgisinternal
           AND t.tgenabled <> 'D' AND t.tgtype & 1 = 1 AND t.tgtype & 2 = 2
           AND t.tgtype & 16 = 16 LOOP
        item := 'trigger';
        why := 'A row trigger before UPDATE that returns NULL or the old status '
               'makes each order fail.';
        mend := 'See that it lets the update of set pass.';
        RETURN NEXT;
    END LOOP;
    FOR what IN
        SELECT format('%s is partitioned by %I, which set changes', s.orders, a.attname)
          FROM pg_partitioned_table p, unnest(p.partattrs::int2[]) n
          JOIN pg_attribute a ON a.attnum = n AND a.attrelid = _orders
         WHERE p.partrelid = _orders
           AND s.set ~ format('(^|,)\s*%s\s*=', quote_ident(a.attname)) LOOP
        item := 'partition key';
        why := 'Each cancel moves its row to another partition: a delete and an '
               'insert, which a payment in flight through a foreign key meets '
               'as an error.';
        mend := 'Partition by a column that does not change.';
        RETURN NEXT;
    END LOOP;
END $$;
COMMENT ON FUNCTION order_sweep.check_table IS
    'what there is about the orders table that makes a run fail or lie';

CREATE OR REPLACE FUNCTION order_sweep.check_payments(
    sweep text, argument text, plan json)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    s order_sweep.sweep;
BEGIN
    SELECT * INTO STRICT s FROM order_sweep.sweep d WHERE d.name = check_payments.sweep;
    FOR what IN
        SELECT DISTINCT format('%s looks into %s, which no foreign key ties to %s',
                               argument, r.relation, s.orders)
          FROM (SELECT to_regclass(format('%I.%I', node->>'Schema',
                                          node->>'Relation Name')) AS relation
                  FROM order_sweep.plan_nodes(plan)
                 WHERE node->>'Relation Name' IS NOT NULL) r
         WHERE r.relation IS NOT NULL
           AND r.relation <> to_regclass(s.orders)
           AND NOT EXISTS (SELECT FROM pg_inherits h
                            WHERE h.inhparent = to_regclass(s.orders)
                              AND h.inhrelid = r.relation)
           AND NOT EXISTS (SELECT FROM pg_constraint k
                            WHERE k.contype = 'f'
                              -- a table that orders refer to holds no payments
                              AND (k.conrelid, k.confrelid) IN (
                                  (r.relation, to_regclass(s.orders)),
                                  (to_regclass(s.orders), r.relation))) LOOP
        level := 'warn';
        item := 'foreign key';
        why := 'A payment being inserted there is seen only if its transaction '
               'also locks or changes the order''s row.';
        mend := 'Add a foreign key to the orders table, or let paying update '
                'the order''s row under the condition that it is unpaid.';
        RETURN NEXT;
    END LOOP;
END $$;
COMMENT ON FUNCTION order_sweep.check_payments IS
    'tables that a rule looks into and that no foreign key ties to the orders: '
    'the shop''s half of the payment contract';

CREATE OR REPLACE FUNCTION order_sweep.check_times(s order_sweep.sweep)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _length interval := coalesce(s.after, '0') + s.grace;
    _oldest interval;
    _patience interval := greatest(_length, interval '10 minutes');
BEGIN
    level := 'warn';
    IF s.deadline IS NULL AND _length < interval '1 minute' THEN
        item := 'window';
        what := format('the window of %s is shorter than cron''s minute', _length);
        why := 'An order is late by up to a minute, more than its window.';
        mend := 'Lengthen after, or expect it.';
        RETURN NEXT;
    END IF;
    SELECT now() - min(p.deadline) INTO _oldest
      FROM order_sweep.preview(s.name, NULL) p WHERE p.state = 'sweep';
    IF _oldest > _patience THEN
        item := 'backlog';
        what := format('the oldest order to sweep is overdue for %s',
                       date_trunc('second', _oldest));
        why := 'No run has come, or none came so far.';
        mend := 'See that cron starts order-sweep, and what it says: '
                'SELECT * FROM order_sweep.run ORDER BY id DESC LIMIT 10;';
        RETURN NEXT;
    END IF;
EXCEPTION WHEN data_exception THEN
    level := 'fail';
    item := 'look';
    what := order_sweep.blame(s.name, SQLSTATE, SQLERRM);
    why := 'The look for due orders fails, for all of them.';
    mend := 'Guard a cast in since, unpaid or unless by CASE WHEN ... THEN ... END, '
            'or use order_sweep.moment(text).';
    RETURN NEXT;
WHEN OTHERS THEN
    RETURN; -- what does not fit any more is told by the statements
END $$;
COMMENT ON FUNCTION order_sweep.check_times IS
    'a window shorter than cron''s minute, an overdue backlog, a look that fails';

CREATE OR REPLACE FUNCTION order_sweep.check_server(patience interval)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    level := 'fail';
    IF pg_is_in_recovery() THEN
        item := 'standby';
        what := 'this server is a standby';
        why := 'A run needs a server that takes writes.';
        mend := 'Name the primary, or all hosts: --host a,b.';
        RETURN NEXT;
    END IF;
    FOR what, mend IN
        SELECT format('table %s is unlogged', c.oid::regclass),
               format('ALTER TABLE %s SET LOGGED;', c.oid::regclass)
          FROM pg_class c
         WHERE c.relnamespace = 'order_sweep'::regnamespace
           AND c.relkind = 'r' AND c.relpersistence = 'u' ORDER BY 1 LOOP
        item := 'unlogged';
        why := 'A crash empties it, and with it what keeps an order from being '
               'swept twice.';
        RETURN NEXT;
    END LOOP;
    level := 'warn';
    FOR what, mend IN
        SELECT format('default_transaction_isolation is %s%s', x.value,
                   coalesce(' for role ' || quote_ident(r.rolname), '')),
               CASE WHEN r.rolname IS NULL
                    THEN format('ALTER DATABASE %I RESET default_transaction_isolation;', current_database())
                    ELSE format('ALTER ROLE %I RESET default_transaction_isolation;', r.rolname) END
          FROM pg_db_role_setting d
          LEFT JOIN pg_roles r ON r.oid = d.setrole,
               LATERAL (SELECT substr(c, 31) AS value FROM unnest(d.setconfig) c
                         WHERE c LIKE 'default_transaction_isolation=%') x
         WHERE d.setdatabase IN (0, (SELECT oid FROM pg_database
                                      WHERE datname = current_database()))
           AND x.value <> 'read committed'
        UNION ALL
        SELECT format('default_transaction_isolation is %s', f.setting),
               'ALTER SYSTEM RESET default_transaction_isolation;'
          FROM pg_settings f
         WHERE f.name = 'default_transaction_isolation'
           AND f.source IN ('configuration file', 'command line')
           AND f.reset_val <> 'read committed' LOOP
        item := 'isolation';
        why := 'A run sets it back to read committed for itself; what else '
               'calls the functions is refused.';
        RETURN NEXT;
    END LOOP;
    FOR what, mend IN
        SELECT format('session %s (%s) has held back vacuum for %s', a.pid,
                   coalesce(nullif(a.application_name, ''), a.backend_type),
                   date_trunc('second', now() - a.xact_start)),
               format('SELECT pg_terminate_backend(%s);', a.pid)
          FROM pg_stat_activity a
         WHERE (a.backend_xmin IS NOT NULL OR a.backend_xid IS NOT NULL)
           AND a.pid <> pg_backend_pid() AND now() - a.xact_start > patience
        UNION ALL
        SELECT format('prepared transaction %L has held back vacuum for %s',
                   p.gid, date_trunc('second', now() - p.prepared)),
               format('ROLLBACK PREPARED %L;', p.gid)
          FROM pg_prepared_xacts p WHERE now() - p.prepared > patience
        UNION ALL
        SELECT format('replication slot %I holds back vacuum', r.slot_name),
               format('SELECT pg_drop_replication_slot(%L);', r.slot_name)
          FROM pg_replication_slots r
         WHERE NOT r.active AND (r.xmin IS NOT NULL OR r.catalog_xmin IS NOT NULL)
    LOOP
        item := 'vacuum';
        why := 'Rows of swept orders pile up before the next due one, and each '
               'look walks past them.';
        RETURN NEXT;
    END LOOP;
END $$;
COMMENT ON FUNCTION order_sweep.check_server IS
    'standby, unlogged tables, isolation, and who has held back vacuum for '
    'longer than patience';

CREATE OR REPLACE FUNCTION order_sweep.check_role(role regrole)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _missing text[];
BEGIN
    IF role IS NULL THEN
        RETURN;
    END IF;
    item := 'grants';
    mend := format('SELECT order_sweep.grant_to(%L);', role);
    why := 'A run under this role would be refused.';
    SELECT array_agg(x ORDER BY x) INTO _missing FROM (
        SELECT 'USAGE on schema order_sweep' AS x
         WHERE NOT has_schema_privilege(role, 'order_sweep', 'USAGE')
        UNION ALL
        SELECT 'EXECUTE on ' || p.oid::regprocedure FROM pg_proc p
         WHERE p.pronamespace = 'order_sweep'::regnamespace
           AND (p.proname = ANY (order_sweep.run_functions())
                OR EXISTS (SELECT FROM order_sweep.sweep d,
                                  unnest(order_sweep.run_suffixes()) x
                            WHERE p.proname = d.name || x))
           AND NOT has_function_privilege(role, p.oid, 'EXECUTE')) m;
    FOREACH what IN ARRAY coalesce(_missing, '{}') LOOP
        level := 'fail';
        what := format('role %s has no %s', role, what);
        RETURN NEXT;
    END LOOP;
    IF _missing IS NULL THEN
        level := 'ok';
        what := format('role %s may run every sweep', role);
        why := NULL;
        mend := NULL;
        RETURN NEXT;
    END IF;
END $$;
COMMENT ON FUNCTION order_sweep.check_role IS
    'the rights that a role lacks for a run, each named';

CREATE OR REPLACE FUNCTION order_sweep.check(
    role regrole DEFAULT NULL, patience interval DEFAULT '5 minutes')
RETURNS TABLE (level text, sweep text, item text, what text, why text, mend text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    s order_sweep.sweep;
BEGIN
    RETURN QUERY SELECT c.level, NULL, c.item, c.what, c.why, c.mend
      FROM order_sweep.check_server(patience) c;
    RETURN QUERY SELECT c.level, NULL, c.item, c.what, c.why, c.mend
      FROM order_sweep.check_role(role) c;
    FOR s IN SELECT * FROM order_sweep.sweep d ORDER BY d.name LOOP
        RETURN QUERY SELECT c.level, s.name, c.item, c.what, c.why, c.mend FROM (
            SELECT * FROM order_sweep.check_functions(s)
            UNION ALL SELECT * FROM order_sweep.check_types(s)
            UNION ALL SELECT * FROM order_sweep.check_table(s)
            UNION ALL SELECT * FROM order_sweep.check_times(s)) c;
    END LOOP;
END $$;
COMMENT ON FUNCTION order_sweep.check IS
    'what would make a run fail or lie, as far as the catalogs tell; '
    'order-sweep check also prepares the statements and asks for plans';
