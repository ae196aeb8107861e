-- What the shop calls: define, undefine, pause, resume, and the grants.

CREATE OR REPLACE FUNCTION order_sweep.lock_class()
RETURNS integer LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT 1869838192 $$;
COMMENT ON FUNCTION order_sweep.lock_class IS
    'first key of the advisory locks of order-sweep ("oswp"); the second is '
    'the id of the sweep';

CREATE OR REPLACE FUNCTION order_sweep.grantees(function text)
RETURNS SETOF oid LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- begin_run stands for a run's functions, preview for those that only look:
    -- the rights on them are the list of roles, so that a REVOKE is all it
    -- takes to end them.  The schema's owner runs probe, preview and
    -- take_events, which call these; nobody else calls the lines of events.
    SELECT a.grantee
      FROM pg_proc p, aclexplode(p.proacl) a
     WHERE p.pronamespace = 'order_sweep'::regnamespace
       AND a.privilege_type = 'EXECUTE' AND a.grantee <> 0
       AND p.proname = CASE WHEN function ~ '_lines$' THEN NULL
                            WHEN function ~ '_(batch|newest|cancel|fail)$'
                            THEN 'begin_run' ELSE 'preview' END
     UNION
    SELECT n.nspowner FROM pg_namespace n WHERE n.nspname = 'order_sweep'
$$;
COMMENT ON FUNCTION order_sweep.grantees IS
    'the roles that may execute a function of a definition';

CREATE OR REPLACE FUNCTION order_sweep.is_unique(orders regclass, key text[])
RETURNS boolean LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- That of a deferrable constraint counts: what is committed is unique.
    SELECT EXISTS (
        SELECT FROM pg_index i
         WHERE i.indrelid = orders AND i.indisunique AND i.indisvalid
           AND i.indpred IS NULL AND i.indexprs IS NULL
           AND (SELECT array_agg(a.attname::text)
                  FROM unnest(i.indkey[0:i.indnkeyatts - 1]) n
                  JOIN pg_attribute a ON a.attrelid = orders AND a.attnum = n)
               <@ key)
$$;
COMMENT ON FUNCTION order_sweep.is_unique IS
    'does a unique index of the table lie within these columns';

CREATE OR REPLACE FUNCTION order_sweep.check_key(orders regclass, key text[])
RETURNS text[] LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _column text;
    _types text[] := '{}';
    _type text;
BEGIN
    IF coalesce(cardinality(key), 0) = 0 THEN
        PERFORM order_sweep.refuse('key', 'is empty',
            'Name the columns of the primary key, for example ''{id}''.');
    ELSIF array_ndims(key) <> 1 OR cardinality(key) > 32 THEN
        PERFORM order_sweep.refuse('key', 'is no list of columns',
            'Name up to 32 columns, for example ''{shop,id}''.');
    END IF;
    FOREACH _column IN ARRAY key LOOP
        IF cardinality(array_positions(key, _column)) > 1 THEN
            PERFORM order_sweep.refuse('key', format('names "%s" twice', _column),
                'Name each column once.');
        END IF;
        SELECT format_type(order_sweep.base_type(a.atttypid), -1) INTO _type
          FROM pg_attribute a
         WHERE a.attrelid = orders AND a.attname = _column
           AND a.attnum > 0 AND NOT a.attisdropped;
        IF NOT FOUND THEN
            PERFORM order_sweep.refuse('key',
                format('%s has no column "%s"', orders, _column),
                'Write the names as the catalog has them, without quotes.');
        END IF;
        _types := _types || _type;
    END LOOP;
    IF NOT order_sweep.is_unique(orders, key) THEN
        RAISE WARNING USING
            MESSAGE = format('key: no unique index of %s lies within (%s)',
                             orders, array_to_string(key, ', ')),
            HINT = 'A key that matches two rows fails that order; name the '
                   'columns of the primary key if there is one.';
    END IF;
    RETURN _types;
END $$;
COMMENT ON FUNCTION order_sweep.check_key IS
    'the types of the key columns, or a refusal; warns where nothing makes '
    'the key unique';

CREATE OR REPLACE FUNCTION order_sweep.check_orders(orders regclass)
RETURNS void LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _kind "char";
    _schema text;
BEGIN
    SELECT c.relkind, n.nspname INTO _kind, _schema
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.oid = orders;
    IF _schema ~ '^pg_|^information_schema$|^order_sweep$' THEN
        PERFORM order_sweep.refuse('orders',
            format('%s is a table of the system', orders),
            'Name a table of the shop.');
    ELSIF _kind NOT IN ('r', 'p', 'v') THEN
        PERFORM order_sweep.refuse('orders',
            format('%s is neither a table nor a view', orders),
            'Name a table, a partitioned table or an updatable view.');
    ELSIF _kind = 'v' AND pg_relation_is_updatable(orders, true) & 4 = 0 THEN
        PERFORM order_sweep.refuse('orders',
            format('the view %s cannot be updated', orders),
            'Name the table under it.');
    ELSIF order_sweep.foreign_part(orders) IS NOT NULL THEN
        PERFORM order_sweep.refuse('orders',
            format('of %s the rows of %s are on another server', orders,
                   order_sweep.foreign_part(orders)),
            'A commit is of one server: define a sweep on each, for its own rows.');
    END IF;
END $$;
COMMENT ON FUNCTION order_sweep.check_orders IS
    'refuse what no order can be cancelled in';

CREATE OR REPLACE FUNCTION order_sweep.check_clock(
    argument text, clock text, orders text, path text, zone text, unit text)
RETURNS text LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
SET client_min_messages = warning
AS $$
DECLARE
    _type text;
BEGIN
    PERFORM order_sweep.check_expression(
        argument, orders, path, clock, '%s IS NOT NULL');
    -- A view tells the type without running anything; and it is made by a
    -- function, in whose quoted body the fragment stands, as in try_body.
    EXECUTE format(
        'CREATE FUNCTION order_sweep.fragment() RETURNS void LANGUAGE plpgsql '
        'SET search_path = %s AS %L', path, format(
        E'BEGIN CREATE VIEW order_sweep.fragment AS SELECT (%s\n) AS clock FROM %s o; END',
        clock, orders));
    BEGIN
        PERFORM order_sweep.fragment();
    EXCEPTION WHEN invalid_table_definition THEN
        PERFORM order_sweep.refuse(argument, 'is more than one value',
            'Write one expression.');
    END;
    DROP FUNCTION order_sweep.fragment();
    SELECT format_type(order_sweep.base_type(a.atttypid), -1) INTO _type
      FROM pg_attribute a
     WHERE a.attrelid = 'order_sweep.fragment'::regclass AND a.attnum = 1;
    DROP VIEW order_sweep.fragment;

    IF _type IN ('timestamp without time zone', 'date') THEN
        IF zone IS NULL THEN
            PERFORM order_sweep.refuse('zone',
                format('%s is a %s, which says nothing about its zone',
                       argument, _type),
                'Name the time zone it is kept in, for example zone => ''UTC'' '
                'or ''Europe/Berlin''.');
        END IF;
        IF NOT EXISTS (SELECT FROM pg_timezone_names n WHERE n.name = zone) THEN
            PERFORM order_sweep.refuse('zone',
                format('"%s" is no time zone', zone),
                'Take a name from pg_timezone_names.');
        END IF;
    ELSIF zone IS NOT NULL THEN
        PERFORM order_sweep.refuse('zone',
            format('%s is a %s, which has no use for it', argument, _type),
            'Leave zone out.');
    END IF;
    IF _type IN ('smallint', 'integer', 'bigint') THEN
        IF unit NOT IN ('s', 'ms') THEN
            PERFORM order_sweep.refuse('unit',
                format('"%s" is not known', unit), 'Write ''s'' or ''ms''.');
        END IF;
    ELSIF unit IS NOT NULL THEN
        PERFORM order_sweep.refuse('unit',
            format('%s is a %s, which has no use for it', argument, _type),
            'Leave unit out.');
    ELSIF _type NOT IN ('timestamp with time zone',
                        'timestamp without time zone', 'date') THEN
        PERFORM order_sweep.refuse(argument,
            format('is a %s, neither a time nor an integer', _type),
            'Write an expression that is a timestamptz, a timestamp, a date '
            'or seconds since 1970.');
    END IF;
    RETURN _type;
END $$;
COMMENT ON FUNCTION order_sweep.check_clock IS
    'the type of the clock, or a refusal of it, of zone or of unit';

CREATE OR REPLACE FUNCTION order_sweep.check_rules(
    orders text, path text, unless json)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _rule record;
    _seen text[] := '{}';
BEGIN
    IF unless IS NULL THEN
        RETURN;
    END IF;
    IF json_typeof(unless) <> 'object' THEN
        PERFORM order_sweep.refuse('unless', 'is no JSON object',
            'Write {"name of the rule": "SQL predicate", ...}.');
    END IF;
    FOR _rule IN SELECT key, value, json_typeof(value) AS type
                   FROM json_each(unless) LOOP
        IF _rule.key !~ '^[[:alnum:]][[:alnum:] _.,''/-]{0,59}$'
           OR _rule.key IN ('too old', 'swept before', 'no clock', 'no key')
           OR _rule.key = ANY (_seen) THEN
            PERFORM order_sweep.refuse('unless',
                format('"%s" cannot be the name of a rule', _rule.key),
                'Write up to 60 letters, digits, blanks or _.,''/- beginning '
                'with a letter or digit, each name once; "too old", '
                '"swept before", "no clock" and "no key" are taken.');
        END IF;
        IF _rule.type <> 'string' THEN
            PERFORM order_sweep.refuse(format('unless "%s"', _rule.key),
                'is no string', 'Write the predicate as a JSON string.');
        END IF;
        _seen := _seen || _rule.key;
        PERFORM order_sweep.check_expression(format('unless "%s"', _rule.key),
            orders, path, _rule.value #>> '{}', '%s');
    END LOOP;
END $$;
COMMENT ON FUNCTION order_sweep.check_rules IS
    'refuse an unless that is not an object of predicates by name';

CREATE OR REPLACE FUNCTION order_sweep.check_settings(settings json)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _setting record;
BEGIN
    IF settings IS NULL THEN
        RETURN;
    END IF;
    IF json_typeof(settings) <> 'object' THEN
        PERFORM order_sweep.refuse('settings', 'is no JSON object',
            'Write {"app.tenant": "1", ...}.');
    END IF;
    FOR _setting IN SELECT key, value, json_typeof(value) AS type
                      FROM json_each(settings) LOOP
        -- The server's own settings are pinned where they matter.
        IF _setting.key !~ '^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)+$' THEN
            PERFORM order_sweep.refuse('settings',
                format('"%s" is no setting of the shop', _setting.key),
                'Write names with a dot in them, such as app.tenant.');
        ELSIF _setting.type <> 'string' THEN
            PERFORM order_sweep.refuse('settings',
                format('the value of "%s" is no string', _setting.key),
                'Write the value as a JSON string.');
        END IF;
    END LOOP;
    IF order_sweep.refused_setting(settings) IS NOT NULL THEN
        PERFORM order_sweep.refuse('settings',
            order_sweep.refused_setting(settings),
            'Write names and values that SET takes, such as app.tenant.');
    END IF;
END $$;
COMMENT ON FUNCTION order_sweep.check_settings IS
    'refuse settings that are not strings by dotted names, or that cannot be set';

CREATE OR REPLACE FUNCTION order_sweep.check_run_as(
    orders regclass, run_as regrole)
RETURNS void LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF run_as IS NULL AND EXISTS (
        SELECT FROM pg_class c, pg_roles r
         WHERE c.oid = orders AND c.relrowsecurity
           AND r.rolname = current_user AND (r.rolsuper OR r.rolbypassrls))
    THEN
        PERFORM order_sweep.refuse('run_as',
            format('%s has row security, which %I is not subject to',
                   orders, current_user),
            'Name the role that the policies are meant for.');
    END IF;
    IF run_as IS NOT NULL AND NOT pg_has_role(run_as, 'MEMBER') THEN
        PERFORM order_sweep.refuse('run_as',
            format('%I is no member of role %s', current_user, run_as),
            format('GRANT %s TO %I, or call define as that role.', run_as,
                   current_user));
    END IF;
    IF run_as IS NOT NULL
       AND NOT has_schema_privilege(run_as, 'order_sweep', 'CREATE') THEN
        PERFORM order_sweep.refuse('run_as',
            format('role %s may not define sweeps', run_as),
            format('SELECT order_sweep.grant_define_to(%L).', run_as));
    END IF;
END $$;
COMMENT ON FUNCTION order_sweep.check_run_as IS
    'refuse an owner of the generated functions that row security does not '
    'bind although the table has it, or that the caller may not act as';

CREATE OR REPLACE FUNCTION order_sweep.pinned_path(path text[])
RETURNS text LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT string_agg(quote_ident(n), ', ' ORDER BY i)
      FROM unnest('{pg_catalog}' || array_remove($1, 'pg_catalog')
                  || '{pg_temp}') WITH ORDINALITY AS u(n, i)
$$;
COMMENT ON FUNCTION order_sweep.pinned_path IS
    'the path of whoever defines as the functions pin it, as SQL';

CREATE OR REPLACE FUNCTION order_sweep.calls(INOUT s order_sweep.sweep)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _keys int := cardinality(s.key);
    _key text;
    _cursor text;
BEGIN
    -- No casts: the functions' own parameters give the types, and so the
    -- caller needs no rights on the schema of a type.
    SELECT string_agg('$' || n, ', ' ORDER BY n),
           string_agg('$' || n + 2, ', ' ORDER BY n)
      INTO _key, _cursor FROM generate_series(1, _keys) n;
    s.batch_call := format(
        'SELECT * FROM order_sweep.%I($1, $2, %s, $%s, $%s, $%s)',
        s.name || '_batch', _cursor, _keys + 3, _keys + 4, _keys + 5);
    s.newest_call := format('SELECT * FROM order_sweep.%I($1, $2)',
        s.name || '_newest');
    s.cancel_call := format('SELECT order_sweep.%I(%s, $%s, $%s)',
        s.name || '_cancel', _key, _keys + 1, _keys + 2);
    s.fail_call := format('SELECT order_sweep.%I(%s, $%s, $%s, $%s)',
        s.name || '_fail', _key, _keys + 1, _keys + 2, _keys + 3);
END $$;
COMMENT ON FUNCTION order_sweep.calls IS
    'fill in the statements that the program prepares for a definition';

CREATE OR REPLACE FUNCTION order_sweep.guard_sweep()
RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- OLD is NULL for an INSERT, NEW for a DELETE
    _owners text[] := array_remove(ARRAY[OLD.owner, NEW.owner], NULL);
    _foreign text;
    _type text;
BEGIN
    IF NOT pg_has_role((SELECT n.nspowner FROM pg_namespace n
                         WHERE n.nspname = 'order_sweep'), 'MEMBER') THEN
        SELECT o INTO _foreign FROM unnest(_owners) o
         WHERE NOT EXISTS (SELECT FROM pg_roles r
                            WHERE r.rolname = o AND pg_has_role(r.oid, 'MEMBER'));
        IF FOUND THEN
            RAISE EXCEPTION USING
                ERRCODE = 'insufficient_privilege',
                MESSAGE = format('sweep %s belongs to role %I, which %I is no '
                                 'member of', coalesce(OLD.name, NEW.name),
                                 _foreign, current_user);
        END IF;
    END IF;
    IF TG_OP = 'DELETE' THEN
        RETURN OLD;
    END IF;
    -- What is SQL outside of quoted bodies, where migrate and the program run
    -- it, is what follows from the rest.
    NEW.search_path := order_sweep.pinned_path(NEW.path);
    NEW := order_sweep.calls(NEW);
    IF TG_OP = 'INSERT' OR NEW.key_types IS DISTINCT FROM OLD.key_types
       OR NEW.clock_type IS DISTINCT FROM OLD.clock_type THEN
        FOREACH _type IN ARRAY NEW.key_types || NEW.clock_type LOOP
            IF format_type(to_regtype(_type), -1) IS DISTINCT FROM _type THEN
                PERFORM order_sweep.refuse('sweep', format('"%s" is no type', _type),
                    'Call order_sweep.define.');
            END IF;
        END LOOP;
    END IF;
    RETURN NEW;
END $$;
COMMENT ON FUNCTION order_sweep.guard_sweep IS
    'keep a definition to its owner and the schema''s, and to what define '
    'would store: whoever may define may write to the table';

CREATE OR REPLACE TRIGGER guard BEFORE INSERT OR UPDATE OR DELETE
    ON order_sweep.sweep FOR EACH ROW EXECUTE FUNCTION order_sweep.guard_sweep();

CREATE OR REPLACE FUNCTION order_sweep.check_order(s order_sweep.sweep)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- An order is looked up by its key, and a batch goes on behind one.
    PERFORM order_sweep.try_body('key', 'sql', s.key_types, 'void',
        s.search_path, format('SELECT FROM %s o WHERE ROW(%s) >= ROW(%s) AND %s',
        s.orders, string_agg(format('o.%I', k), ', ' ORDER BY n),
        string_agg('$' || n, ', ' ORDER BY n),
        string_agg(format('o.%I = $%s', k, n), ' AND ' ORDER BY n)))
       FROM unnest(s.key) WITH ORDINALITY AS u(k, n);
EXCEPTION WHEN invalid_parameter_value THEN
    PERFORM order_sweep.refuse('key', format('%s has no order',
            array_to_string(s.key_types, ', ')),
        'Name columns whose types have = and <, as a primary key has.');
END $$;
COMMENT ON FUNCTION order_sweep.check_order IS
    'refuse a key whose types cannot be compared: json, xml, point';

CREATE OR REPLACE FUNCTION order_sweep.check_journal(s order_sweep.sweep)
RETURNS void LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _old order_sweep.sweep;
    -- an integer is the same in the journal, whatever its size
    _integers text := '\m(smallint|integer)\M';
BEGIN
    IF s.again OR NOT EXISTS (
        SELECT FROM order_sweep.journal j WHERE j.sweep = s.name) THEN
        RETURN;
    END IF;
    SELECT * INTO _old FROM order_sweep.sweep o WHERE o.name = s.name;
    IF _old.key <> s.key
       OR regexp_replace(_old.key_types::text, _integers, 'bigint', 'g')
          <> regexp_replace(s.key_types::text, _integers, 'bigint', 'g') THEN
        RAISE WARNING USING
            MESSAGE = format('key: the journal of %s names orders by (%s), of '
                             'type %s', s.name,
                             array_to_string(_old.key, ', '),
                             array_to_string(_old.key_types, ', ')),
            HINT = format('An order swept before is not known by its new key: '
                          'if it was opened again, it is swept again. Write '
                          'the new keys into order_sweep.journal, WHERE sweep '
                          '= %L.', s.name);
    ELSIF _old.orders IS DISTINCT FROM s.orders THEN
        RAISE WARNING USING
            MESSAGE = format('sweep: the journal has orders of %s from %s',
                s.name, coalesce('table ' || _old.orders,
                                 'when it was defined before')),
            HINT = format('An order with the key of one of them is kept as '
                          '"swept before". If they are other orders, choose '
                          'another name, or DELETE FROM order_sweep.journal '
                          'WHERE sweep = %L.', s.name);
    END IF;
END $$;
COMMENT ON FUNCTION order_sweep.check_journal IS
    'warn where the journal of a sweep may be that of other orders, or does '
    'not know its orders by their new key';

CREATE OR REPLACE FUNCTION order_sweep.is_superuser(role name)
RETURNS boolean LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = role AND r.rolsuper)
$$;
COMMENT ON FUNCTION order_sweep.is_superuser IS
    'is there such a role, and is it a superuser';

CREATE OR REPLACE FUNCTION order_sweep.check_definer(s order_sweep.sweep)
RETURNS void LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _owner name := (SELECT pg_get_userbyid(c.relowner) FROM pg_class c
                     WHERE c.oid = s.orders::regclass);
BEGIN
    IF order_sweep.is_superuser(s.owner) AND NOT order_sweep.is_superuser(_owner)
    THEN
        RAISE WARNING USING
            MESSAGE = format('sweep: %s belongs to %I, a superuser: its SQL runs '
                             'with all rights, and only a superuser may look '
                             'after it', s.name, s.owner),
            HINT = format('SELECT order_sweep.undefine(%L), and call define as '
                          'role %I, which owns %s.', s.name, _owner, s.orders);
    END IF;
END $$;
COMMENT ON FUNCTION order_sweep.check_definer IS
    'warn where a superuser defines a sweep of the tables of a role that is '
    'none';

CREATE OR REPLACE FUNCTION order_sweep.define_in(
    path text[], INOUT s order_sweep.sweep)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _each text;
    _n int := 0;
    _old record;
BEGIN
    IF s.name IS NULL OR s.name !~ '^[a-z][a-z0-9_]{0,39}$' THEN
        PERFORM order_sweep.refuse('sweep',
            format('"%s" cannot be the name of a sweep', s.name),
            'Write up to 40 lower case letters, digits and _, beginning with '
            'a letter.');
    END IF;
    IF NOT EXISTS (SELECT FROM order_sweep.sweep o WHERE o.name = s.name)
       AND EXISTS (SELECT FROM pg_proc p, unnest(order_sweep.all_suffixes()) x
                    WHERE p.pronamespace = 'order_sweep'::regnamespace
                      AND p.proname = s.name || x) THEN
        PERFORM order_sweep.refuse('sweep',
            format('"%s" would replace functions of order-sweep itself', s.name),
            'Choose another name.');
    END IF;
    PERFORM order_sweep.check_path(path, current_user);
    s.path := path;
    s.search_path := order_sweep.pinned_path(path);

    PERFORM order_sweep.check_orders(s.orders::regclass);
    s.key_types := order_sweep.check_key(s.orders::regclass, s.key);
    PERFORM order_sweep.check_order(s);

    IF s.deadline IS NOT NULL AND (s.since IS NOT NULL OR s.after IS NOT NULL) THEN
        PERFORM order_sweep.refuse('deadline',
            'stands instead of since and after', 'Leave the one or the other out.');
    ELSIF s.deadline IS NULL AND s.since IS NULL THEN
        PERFORM order_sweep.refuse('since', 'is missing',
            'Name the column that the window is counted from.');
    ELSIF s.deadline IS NULL AND s.after IS NULL THEN
        PERFORM order_sweep.refuse('after', 'is missing',
            'Write the window, for example ''30 minutes''.');
    END IF;
    s.after := order_sweep.exact('after', s.after);
    s.grace := order_sweep.exact('grace', s.grace);
    s.max_age := order_sweep.exact('max_age', s.max_age);
    IF s.after = '0' THEN
        PERFORM order_sweep.refuse('after', 'is no time at all',
            'Write a window above 0, for example ''30 minutes''.');
    ELSIF s.grace IS NULL THEN
        PERFORM order_sweep.refuse('grace', 'is NULL', 'Write ''0''.');
    ELSIF s.max_age = '0' THEN
        PERFORM order_sweep.refuse('max_age', 'is no time at all',
            'Write a length of time above 0, or NULL for no bound.');
    END IF;
    IF s.after + s.grace < interval '1 minute' THEN
        RAISE WARNING USING
            MESSAGE = format('after: the window is %s seconds long',
                             extract(epoch FROM s.after + s.grace)),
            HINT = 'A number without a unit means seconds: write ''30 minutes'' '
                   'if that is what you mean.';
    END IF;

    PERFORM order_sweep.check_expression('unpaid', s.orders, s.search_path,
        s.unpaid, '%s');
    s.clock_type := order_sweep.check_clock(
        CASE WHEN s.deadline IS NULL THEN 'since' ELSE 'deadline' END,
        coalesce(s.deadline, s.since), s.orders, s.search_path, s.zone, s.unit);
    PERFORM order_sweep.check_rules(s.orders, s.search_path, s.unless);
    PERFORM order_sweep.check_settings(s.settings);
    PERFORM order_sweep.check_set(s.orders, s.search_path, s.set);
    s.each := coalesce(s.each, '{}');
    s.each_rows := '{}';
    FOREACH _each IN ARRAY s.each LOOP
        _n := _n + 1;
        s.each_rows := s.each_rows || order_sweep.check_each(
            format('each[%s]', _n), s.key_types, s.search_path, _each);
    END LOOP;
    IF s.event IS NOT NULL THEN
        PERFORM order_sweep.check_expression('event', s.orders, s.search_path,
            s.event, 'to_jsonb(%s) IS NOT NULL');
    END IF;
    IF s.paid IS NOT NULL THEN
        PERFORM order_sweep.check_expression('paid', s.orders, s.search_path,
            s.paid, '%s');
    END IF;
    IF s.again IS NULL THEN
        PERFORM order_sweep.refuse('again', 'is NULL', 'Write true or false.');
    END IF;

    SELECT * INTO _old FROM order_sweep.sweep o WHERE o.name = s.name;
    IF FOUND AND EXISTS (SELECT FROM pg_roles r WHERE r.rolname = _old.owner)
       AND NOT pg_has_role(_old.owner, 'MEMBER') THEN
        PERFORM order_sweep.refuse('sweep',
            format('%s belongs to role %I', s.name, _old.owner),
            'Call define as that role, or undefine it first.');
    END IF;
    PERFORM order_sweep.check_journal(s);
    s.owner := current_user;
    PERFORM order_sweep.check_definer(s);
    s := order_sweep.calls(s);
END $$;
COMMENT ON FUNCTION order_sweep.define_in IS
    'check the arguments of define and fill in what follows from them';

CREATE OR REPLACE FUNCTION order_sweep.define(
    sweep    text,
    orders   regclass,
    key      text[],
    unpaid   text,
    set      text,
    since    text DEFAULT NULL,
    after    interval DEFAULT NULL,
    grace    interval DEFAULT '0',
    zone     text DEFAULT NULL,
    unit     text DEFAULT NULL,
    deadline text DEFAULT NULL,
    max_age  interval DEFAULT '30 days',
    unless   json DEFAULT NULL,
    each     text[] DEFAULT '{}',
    event    text DEFAULT NULL,
    again    boolean DEFAULT false,
    paid     text DEFAULT NULL,
    settings json DEFAULT NULL,
    run_as   regrole DEFAULT NULL)
RETURNS void LANGUAGE plpgsql
AS $$
-- No search_path is set here: the fragments' names mean the caller's.
DECLARE
    _path pg_catalog.text[] := pg_catalog.current_schemas(false);
    s order_sweep.sweep;
BEGIN
    s.name := sweep;
    s.key := key;
    s.unpaid := unpaid;
    s.since := since;
    s.after := after;
    s.grace := grace;
    s.zone := zone;
    s.unit := unit;
    s.deadline := deadline;
    s.max_age := max_age;
    s.unless := unless;
    s.set := set;
    s.each := each;
    s.event := event;
    s.again := again;
    s.paid := paid;
    s.settings := settings;
    PERFORM order_sweep.define_row(_path, orders, run_as, s);
END $$;
COMMENT ON FUNCTION order_sweep.define IS
    'declare a sweep, or change it: which rows of which table are due, and '
    'what cancelling one means; call it with named arguments';

CREATE OR REPLACE FUNCTION order_sweep.define_row(
    path text[], orders regclass, run_as regrole, s order_sweep.sweep)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
DECLARE
    _id int;
    _role text := current_setting('role');
BEGIN
    IF orders IS NULL THEN
        PERFORM order_sweep.refuse('orders', 'is missing',
            'Name the orders table.');
    END IF;
    s.orders := orders::text;
    PERFORM order_sweep.check_run_as(orders, run_as);
    IF run_as IS NOT NULL THEN
        -- All that follows is done as that role: what it may not see or
        -- create is found now.
        PERFORM set_config('role', pg_get_userbyid(run_as), true);
    END IF;
    s := order_sweep.define_in(path, s);

    IF EXISTS (SELECT FROM order_sweep.sweep o
                WHERE o.name = s.name AND o.keep_journal IS NOT NULL
                  AND (o.orders, o.key, o.key_types)
                      IS DISTINCT FROM (s.orders, s.key, s.key_types)) THEN
        RAISE WARNING USING
            MESSAGE = format('sweep: the journal of %s is kept for ever from '
                             'now on, for orders or key are others', s.name),
            HINT = 'An order that these do not find would count as gone. If '
                   'the journal is about the same orders, call '
                   'order_sweep.retain again.';
    END IF;
    INSERT INTO order_sweep.sweep AS d (
        name, owner, orders, key, unpaid, since, after, grace, zone, unit,
        deadline, max_age, unless, set, each, event, again, paid, settings,
        search_path, path, key_types, clock_type, each_rows, batch_call,
        newest_call, cancel_call, fail_call)
    VALUES (
        s.name, s.owner, s.orders, s.key, s.unpaid, s.since, s.after, s.grace,
        s.zone, s.unit, s.deadline, s.max_age, s.unless, s.set, s.each,
        s.event, s.again, s.paid, s.settings, s.search_path, s.path, s.key_types,
        s.clock_type, s.each_rows, s.batch_call, s.newest_call, s.cancel_call,
        s.fail_call)
    ON CONFLICT (name) DO UPDATE SET (
        owner, orders, key, unpaid, since, after, grace, zone, unit, deadline,
        max_age, unless, set, each, event, again, paid, settings, search_path,
        path, key_types, clock_type, each_rows, batch_call, newest_call,
        cancel_call, fail_call, keep_journal)
    = (s.owner, s.orders, s.key, s.unpaid, s.since, s.after, s.grace, s.zone,
        s.unit, s.deadline, s.max_age, s.unless, s.set, s.each, s.event,
        s.again, s.paid, s.settings, s.search_path, s.path, s.key_types, s.clock_type,
        s.each_rows, s.batch_call, s.newest_call, s.cancel_call, s.fail_call,
        CASE WHEN (d.orders, d.key, d.key_types)
                  = (s.orders, s.key, s.key_types) THEN d.keep_journal END)
    RETURNING d.id, d.line INTO _id, s.line;
    -- A run of this sweep ends before its functions change, and none begins.
    PERFORM pg_advisory_xact_lock(order_sweep.lock_class(), _id);
    INSERT INTO order_sweep.life (sweep_id) VALUES (_id) ON CONFLICT DO NOTHING;
    PERFORM order_sweep.generate(s);
    PERFORM set_config('role', _role, true);
END $$;
COMMENT ON FUNCTION order_sweep.define_row IS
    'store a checked definition and generate its functions';

CREATE OR REPLACE FUNCTION order_sweep.regenerate()
RETURNS integer LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
DECLARE
    s order_sweep.sweep;
    _owner text;
    _role text := current_setting('role');
    _n int := 0;
BEGIN
    FOR s IN SELECT * FROM order_sweep.sweep ORDER BY name LOOP
        IF NOT order_sweep.owner_exists(s) THEN
            RAISE WARNING USING
                MESSAGE = format('%s belongs to role %I, which does not exist',
                                 s.name, s.owner),
                HINT = format('SELECT order_sweep.undefine(%L).', s.name);
            CONTINUE;
        END IF;
        -- Whom the functions belong to, not what a table says of it.
        SELECT coalesce(max(r.rolname), s.owner) INTO _owner
          FROM pg_proc p JOIN pg_roles r ON r.oid = p.proowner
         WHERE p.pronamespace = 'order_sweep'::regnamespace
           AND p.proname = s.name || '_cancel';
        IF NOT pg_has_role(current_user, _owner, 'MEMBER') THEN
            RAISE EXCEPTION USING
                ERRCODE = 'insufficient_privilege',
                MESSAGE = format('%s belongs to role %I, which %I is no member of',
                                 s.name, _owner, current_user),
                HINT = 'Run migrate as a member of that role, or undefine the sweep.';
        END IF;
        s.owner := _owner;
        s := order_sweep.calls(s);
        UPDATE order_sweep.sweep d
           SET (owner, batch_call, newest_call, cancel_call, fail_call)
             = (s.owner, s.batch_call, s.newest_call, s.cancel_call, s.fail_call)
         WHERE d.id = s.id;
        PERFORM set_config('role', _owner, true);
        PERFORM order_sweep.generate(s);
        PERFORM set_config('role', _role, true);
        _n := _n + 1;
    END LOOP;
    RETURN _n;
END $$;
COMMENT ON FUNCTION order_sweep.regenerate IS
    'generate the functions of every definition anew, each as its owner, where '
    'that role is still there; called by order-sweep migrate';

CREATE OR REPLACE FUNCTION order_sweep.known(sweep text)
RETURNS integer LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _id int;
BEGIN
    SELECT s.id INTO _id FROM order_sweep.sweep s WHERE s.name = sweep;
    IF NOT FOUND THEN
        PERFORM order_sweep.refuse('sweep', format('"%s" is not defined', sweep),
            format('Defined are: %s.', coalesce((
                SELECT string_agg(s.name, ', ' ORDER BY s.name)
                  FROM order_sweep.sweep s), 'none')));
    END IF;
    RETURN _id;
END $$;
COMMENT ON FUNCTION order_sweep.known IS 'the id of a sweep, or a refusal';

CREATE OR REPLACE FUNCTION order_sweep.undefine(sweep text)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _id int := order_sweep.known(sweep);
    _suffix text;
BEGIN
    PERFORM pg_advisory_xact_lock(order_sweep.lock_class(), _id);
    FOREACH _suffix IN ARRAY order_sweep.all_suffixes() LOOP
        PERFORM order_sweep.drop_function(sweep || _suffix);
    END LOOP;
    DELETE FROM order_sweep.sweep s WHERE s.id = _id;
END $$;
COMMENT ON FUNCTION order_sweep.undefine IS
    'remove a sweep and its functions; its journal stays, so that defined '
    'again it sweeps no order twice';

CREATE OR REPLACE FUNCTION order_sweep.pause(sweep text)
RETURNS void LANGUAGE sql
SET search_path = pg_catalog, pg_temp
AS $$
    UPDATE order_sweep.sweep s SET paused = true
     WHERE s.id = order_sweep.known(sweep)
$$;
COMMENT ON FUNCTION order_sweep.pause IS
    'no run begins this sweep any more, on any host; one under way ends';

CREATE OR REPLACE FUNCTION order_sweep.resume(sweep text)
RETURNS void LANGUAGE sql
SET search_path = pg_catalog, pg_temp
AS $$
    UPDATE order_sweep.sweep s SET paused = false
     WHERE s.id = order_sweep.known(sweep)
$$;
COMMENT ON FUNCTION order_sweep.resume IS 'end a pause';
