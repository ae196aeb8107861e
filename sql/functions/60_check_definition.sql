-- What order-sweep check says of a definition itself: are its functions the ones
-- that this version makes, as whom do they run, do they fit the live types.

CREATE OR REPLACE FUNCTION order_sweep.may_look_as(owner text)
RETURNS boolean LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT EXISTS (SELECT FROM pg_roles r
                    WHERE r.rolname = owner AND pg_has_role(r.oid, 'MEMBER'))
$$;
COMMENT ON FUNCTION order_sweep.may_look_as IS
    'may the caller take on the rights of a definition''s owner';

CREATE OR REPLACE FUNCTION order_sweep.check_functions(s order_sweep.sweep)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    f record;
    p record;
    _drifted text[] := '{}';
    _foreign boolean := false;
BEGIN
    item := 'functions';
    level := 'fail';
    why := 'They were changed, dropped or made by another version.';
    FOR f IN SELECT b.*, ARRAY(
                 SELECT m[1] || '=' || btrim(m[2], '''')
                   FROM regexp_matches(b.options, '^ SET (\w+) = (.*)$', 'gn') m
                  ORDER BY 1) AS settings
               FROM order_sweep.build(s) b
    LOOP
        SELECT count(*) AS n, min(q.prosrc) AS body,
               bool_and(q.prosecdef) AS definer,
               min(pg_get_userbyid(q.proowner)::text) AS owner,
               min(q.oid::regprocedure::text) AS signature,
               min(q.provolatile::text) AS volatility,
               -- a strict one does nothing where a parameter is NULL
               bool_or(q.proisstrict OR l.lanname <> 'plpgsql') AS other,
               min(ARRAY(SELECT c FROM unnest(q.proconfig) c ORDER BY 1)) AS settings,
               bool_or(EXISTS (
                   SELECT FROM aclexplode(coalesce(q.proacl,
                               acldefault('f', q.proowner))) a
                    WHERE a.grantee = 0)) AS open
          INTO p FROM pg_proc q JOIN pg_language l ON l.oid = q.prolang
         WHERE q.pronamespace = 'order_sweep'::regnamespace AND q.proname = f.name;
        IF p.n <> 1 OR p.body <> f.body OR NOT p.definer OR p.open
           OR p.other
           -- by the types: char(n) has a name of its own as a parameter
           OR to_regprocedure(order_sweep.signature(f.name, f.arguments))
              IS NULL
           OR p.volatility <> lower(left(f.options, 1))
           OR p.settings IS DISTINCT FROM f.settings THEN
            _drifted := _drifted || f.name;
        ELSIF p.owner <> s.owner THEN
            -- migrate works as the owner of the definition: it could not
            -- replace this one
            _foreign := true;
            what := format('%s belongs to role %I, not to %I', f.name, p.owner,
                           s.owner);
            mend := format('ALTER FUNCTION %s OWNER TO %I;', p.signature, s.owner);
            RETURN NEXT;
        END IF;
    END LOOP;
    IF _drifted <> '{}' THEN
        what := format('%s: not what this version generates',
                       array_to_string(_drifted, ', '));
        mend := 'order-sweep migrate';
        RETURN NEXT;
    ELSIF NOT _foreign THEN
        level := 'ok';
        what := 'the functions are those this version generates';
        why := NULL;
        mend := NULL;
        RETURN NEXT;
    END IF;
END $$;
COMMENT ON FUNCTION order_sweep.check_functions IS
    'are the generated functions there, and as they would be generated now';

CREATE OR REPLACE FUNCTION order_sweep.clock_type(s order_sweep.sweep)
RETURNS text LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _type regtype;
BEGIN
    EXECUTE format('SELECT %s()', order_sweep.own_function(s.name, '_clock'))
       INTO _type;
    RETURN format_type(order_sweep.base_type(_type), -1);
EXCEPTION WHEN OTHERS THEN
    RETURN NULL;
END $$;
COMMENT ON FUNCTION order_sweep.clock_type IS
    'the type that the clock of a definition has now, looked at as its owner; '
    'NULL: it does not parse';

CREATE OR REPLACE FUNCTION order_sweep.check_types(s order_sweep.sweep)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _orders regclass := order_sweep.relation(s.orders);
    _types text[];
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
        mend := format('Call order_sweep.define with its new name, or '
                       'order_sweep.undefine(%L).', s.name);
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
    _type := order_sweep.clock_type(s);
    IF _type <> s.clock_type THEN
        what := format('%s: the type was %s and is %s',
            CASE WHEN s.deadline IS NULL THEN 'since' ELSE 'deadline' END,
            s.clock_type, _type);
        RETURN NEXT;
    END IF;
END $$;
COMMENT ON FUNCTION order_sweep.check_types IS
    'have table, key and clock the types that the functions were made for';

CREATE OR REPLACE FUNCTION order_sweep.check_owner(s order_sweep.sweep)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT 'fail', 'owner',
           format('cannot look as role %I: role %I is no member of it', s.owner,
                  current_user),
           'Its SQL is looked at with its rights; here it was left out.',
           -- nobody wants to be a member of a superuser
           CASE WHEN order_sweep.is_superuser(s.owner)
                THEN format('SELECT order_sweep.undefine(%L); then call '
                            'order_sweep.define as the role that owns the '
                            'tables.', s.name)
                ELSE format('GRANT %I TO %I;', s.owner, current_user) END
     WHERE NOT order_sweep.may_look_as(s.owner)
    UNION ALL
    (SELECT 'fail', 'books', format('role %I has no %s', s.owner, n.right),
           'The sweep''s functions keep the books with the rights of their owner.',
           format('SELECT order_sweep.grant_define_to(%L);', quote_ident(s.owner))
      FROM (SELECT 1 AS n, 'USAGE on schema order_sweep' AS "right",
                   has_schema_privilege(s.owner, 'order_sweep', 'USAGE') AS held
            UNION ALL
            SELECT 2, format('%s on order_sweep.%s', p, t),
                   has_table_privilege(s.owner, 'order_sweep.' || t, p)
              FROM (VALUES ('journal', 'SELECT'), ('journal', 'INSERT'),
                           ('failure', 'SELECT')) v(t, p)
            UNION ALL
            SELECT 3, 'EXECUTE on ' || f,
                   has_function_privilege(s.owner, f, 'EXECUTE')
              FROM (SELECT 'order_sweep.record_failure(text,jsonb,text,text,'
                           'boolean)'::regprocedure AS f) v) n
     WHERE NOT n.held
     ORDER BY n.n, 3)
$$;
COMMENT ON FUNCTION order_sweep.check_owner IS
    'may the caller look as the owner of a definition, and which rights on the '
    'books does this one lack';

CREATE OR REPLACE FUNCTION order_sweep.check_rights(s order_sweep.sweep)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- On some column is enough here: which of them are named is seen when the
    -- statements are prepared.
    SELECT 'fail', 'privileges', format('role %I has no %s', s.owner, r.on),
           'A sweep''s functions run with the rights of its owner.',
           format('GRANT %s TO %I;', r.on, s.owner)
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace,
           LATERAL (VALUES
               (1, format('USAGE ON SCHEMA %I', n.nspname),
                has_schema_privilege(s.owner, n.oid, 'USAGE')),
               (2, format('SELECT ON %s', s.orders),
                has_any_column_privilege(s.owner, c.oid, 'SELECT')),
               (3, format('UPDATE ON %s', s.orders),
                has_any_column_privilege(s.owner, c.oid, 'UPDATE'))
           ) AS r(n, "on", held)
     WHERE c.oid = order_sweep.relation(s.orders) AND NOT r.held
     ORDER BY r.n
$$;
COMMENT ON FUNCTION order_sweep.check_rights IS
    'which rights on the orders table the owner of a definition has lost';

CREATE OR REPLACE FUNCTION order_sweep.check_settings_of(s order_sweep.sweep)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT 'fail', 'settings', r.said,
           'Every function of the sweep sets them first, and so fails.',
           'Call order_sweep.define anew, with names and values that SET takes.'
      FROM order_sweep.refused_setting(s.settings) AS r(said)
     WHERE r.said IS NOT NULL
$$;
COMMENT ON FUNCTION order_sweep.check_settings_of IS
    'settings of a definition that the server takes no longer';

CREATE OR REPLACE FUNCTION order_sweep.check_search_path(s order_sweep.sweep)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT 'fail', 'search path',
           format('%s may create in schema %I', o.grantee, o.schema),
           'An operator or function put there would run in the definition''s '
           'place, with its owner''s rights.',
           format('REVOKE CREATE ON SCHEMA %I FROM %s;', o.schema, o.grantee)
      FROM order_sweep.open_schemas(s.path, s.owner) o
$$;
COMMENT ON FUNCTION order_sweep.check_search_path IS
    'schemas of a definition''s path in which others than its owner may create';

CREATE OR REPLACE FUNCTION order_sweep.check_window(s order_sweep.sweep)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT 'warn', 'window',
           format('the window of %s is shorter than cron''s minute', w.length),
           'An order is late by up to a minute, more than its window.',
           'Lengthen after, or expect it.'
      FROM (SELECT s.after + s.grace AS length) w
     WHERE w.length < interval '1 minute'
$$;
COMMENT ON FUNCTION order_sweep.check_window IS
    'a window shorter than cron''s minute';
