-- What define must know before it generates anything: windows as exact
-- seconds, the clock's type, and that each fragment is what it claims to be.

CREATE OR REPLACE FUNCTION order_sweep.refuse(argument text, problem text, mend text)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION USING
        ERRCODE = 'invalid_parameter_value',
        MESSAGE = format('%s: %s', argument, problem),
        HINT = mend;
END $$;
COMMENT ON FUNCTION order_sweep.refuse IS
    'raise the refusal of an argument: what is wrong, and how to mend it';

CREATE OR REPLACE FUNCTION order_sweep.exact(argument text, length interval)
RETURNS interval LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF extract(year FROM length) <> 0 OR extract(month FROM length) <> 0 THEN
        PERFORM order_sweep.refuse(argument,
            format('"%s" has months or years, whose length varies', length),
            'Write days: 30 days, 365 days.');
    END IF;
    IF length < '0' OR length > '36525 days' THEN
        PERFORM order_sweep.refuse(argument,
            format('"%s" is out of range', length),
            'Write a length of time from 0 to 36525 days.');
    END IF;
    RETURN make_interval(secs => extract(epoch FROM length)::float8);
END $$;
COMMENT ON FUNCTION order_sweep.exact IS
    'a length of time in exact seconds (a day is 24 hours, whatever the clocks '
    'do), or a refusal';

CREATE OR REPLACE FUNCTION order_sweep.base_type(type oid)
RETURNS oid LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH RECURSIVE up(type) AS (
        SELECT $1
        UNION ALL
        SELECT t.typbasetype FROM up JOIN pg_type t ON t.oid = up.type
        WHERE t.typtype = 'd'
    )
    SELECT up.type FROM up JOIN pg_type t ON t.oid = up.type
    WHERE t.typtype <> 'd'
$$;
COMMENT ON FUNCTION order_sweep.base_type IS
    'the type under a domain, or the type itself';

CREATE OR REPLACE FUNCTION order_sweep.moment(text)
RETURNS timestamptz LANGUAGE plpgsql IMMUTABLE STRICT
SET search_path = pg_catalog, pg_temp
-- With these, and a text without backslashes and names of zones, all that the
-- meaning depends on is here: so it may stand in an index.
SET TimeZone = 'UTC'
SET DateStyle = 'ISO, MDY'
AS $$
DECLARE
    -- date, time, am or pm, offset: 'tomorrow' and its like are no moments
    _parts text[] := regexp_match($1,
        '^[[:space:]]*([0-9]{4,}-[0-9]{1,2}-[0-9]{1,2})'
        '(?:(?:[Tt]|[[:space:]]+)([0-9][0-9:.]*))?'
        '[[:space:]]*([AaPp][Mm])?'
        '[[:space:]]*([+-][0-9:]+|[Zz]|[Uu][Tt][Cc])?[[:space:]]*$');
BEGIN
    IF _parts[4] ~ '^[ZzUu]' THEN
        _parts[4] := '+00';
    END IF;
    RETURN concat_ws(' ', _parts[1], _parts[2], _parts[3], _parts[4])::timestamptz;
EXCEPTION WHEN data_exception THEN
    RETURN NULL;
END $$;
COMMENT ON FUNCTION order_sweep.moment(text) IS
    'a text as a moment, NULL for what is none; its zone is an offset, Z or '
    'UTC, without one it is UTC, any other name makes it no moment';

CREATE OR REPLACE FUNCTION order_sweep.same_type(anyelement, anyelement)
RETURNS boolean LANGUAGE sql IMMUTABLE
-- No SET: the planner puts the constant in its place, and calls nothing.
AS $$ SELECT true $$;
COMMENT ON FUNCTION order_sweep.same_type(anyelement, anyelement) IS
    'true; what calls it with two types parses no more, and so the functions of '
    'a definition stop if the clock''s type changes under them';

CREATE OR REPLACE FUNCTION order_sweep.try_body(
    argument text, language text, parameters text[], returns text,
    path text, body text)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET check_function_bodies = on
SET standard_conforming_strings = on
AS $$
DECLARE
    _message text;
    _state text;
BEGIN
    -- A fragment only ever stands inside the quoted body of a function that
    -- is created and dropped, never called: nothing of it can run.
    EXECUTE format(
        'CREATE FUNCTION order_sweep.fragment(%s) RETURNS %s LANGUAGE %s '
        'SET search_path = %s AS %L',
        array_to_string(parameters, ', '), returns, language, path, body);
    EXECUTE format('DROP FUNCTION order_sweep.fragment(%s)',
        array_to_string(parameters, ', '));
EXCEPTION
    WHEN insufficient_privilege THEN
        -- of the schema itself, or of a table that the fragment names
        RAISE;
    WHEN OTHERS THEN
        GET STACKED DIAGNOSTICS
            _message = MESSAGE_TEXT, _state = RETURNED_SQLSTATE;
        RAISE EXCEPTION USING
            ERRCODE = 'invalid_parameter_value',
            MESSAGE = format('%s: %s', argument, _message),
            DETAIL = format('SQLSTATE %s in: %s', _state, body),
            HINT = 'Write SQL that stands by itself where the argument is put; '
                   'o is the row of the orders table.';
END $$;
COMMENT ON FUNCTION order_sweep.try_body IS
    'have PostgreSQL parse a body without running anything of it; a fault is '
    'reported under the argument''s name';

CREATE OR REPLACE FUNCTION order_sweep.check_brackets(
    argument text, path text, body text, bare text, bracketed text)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF body IS NULL OR body ~ '^\s*$' THEN
        PERFORM order_sweep.refuse(argument, 'is empty',
            'Write the SQL, or leave the argument out.');
    END IF;
    -- No literal ends in a semicolon, but a comment may.
    IF body ~ ';\s*$' AND body !~ '--[^\n]*$' THEN
        PERFORM order_sweep.refuse(argument, 'ends in a semicolon',
            'Leave the semicolon out; for more than one statement there is '
            'each, an array.');
    END IF;
    -- In two places closed by different brackets: no text can close both, so
    -- none leaves its place.  The line break ends a trailing comment.
    PERFORM order_sweep.try_body(argument, 'plpgsql', '{}', 'void', path,
        format(E'BEGIN %s; END', format(bare, body || E'\n')));
    PERFORM order_sweep.try_body(argument, 'plpgsql', '{}', 'void', path,
        format(E'BEGIN %s; END', format(bracketed, body || E'\n')));
END $$;
COMMENT ON FUNCTION order_sweep.check_brackets IS
    'refuse a fragment that is empty or leaves the place it is put in; bare '
    'and bracketed are two such places, formats with one %s';

CREATE OR REPLACE FUNCTION order_sweep.check_expression(
    argument text, orders text, path text, expression text, usage text)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM order_sweep.check_brackets(argument, path, expression,
        'PERFORM (%s)', 'PERFORM ARRAY[%s]');
    PERFORM order_sweep.try_body(argument, 'sql', '{}', 'void', path,
        format('SELECT FROM %s o WHERE %s', orders,
            format(usage, '(' || expression || E'\n)')));
END $$;
COMMENT ON FUNCTION order_sweep.check_expression IS
    'refuse an expression on the row o that does not parse, names what does '
    'not exist or has the wrong type; usage is a condition with one %s';

CREATE OR REPLACE FUNCTION order_sweep.check_set(
    orders text, path text, assignments text)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- The assignment that follows keeps a WHERE, FROM or RETURNING out.
    PERFORM order_sweep.check_brackets('set', path, assignments,
        'UPDATE t o SET %s, c = DEFAULT WHERE false',
        'WITH _ AS (UPDATE t o SET %s, c = DEFAULT WHERE false) SELECT');
    PERFORM order_sweep.try_body('set', 'sql', '{}', 'void', path,
        format(E'UPDATE %s o SET %s\nWHERE false', orders, assignments));
END $$;
COMMENT ON FUNCTION order_sweep.check_set IS
    'refuse a set that is anything but assignments to columns of the orders table';

CREATE OR REPLACE FUNCTION order_sweep.check_each(
    argument text, key_types text[], path text, statement text)
RETURNS boolean LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET check_function_bodies = on
SET standard_conforming_strings = on
AS $$
BEGIN
    PERFORM order_sweep.check_brackets(argument, path, statement,
        '%s', 'WITH _ AS (%s) SELECT');
    PERFORM order_sweep.try_body(argument, 'sql', key_types, 'void', path,
        statement);
    -- Only a statement that returns rows passes as the body of a function
    -- that returns a record.
    BEGIN
        EXECUTE format(
            'CREATE FUNCTION order_sweep.fragment(%s) RETURNS record '
            'LANGUAGE sql SET search_path = %s AS %L',
            array_to_string(key_types, ', '), path, statement);
        EXECUTE format('DROP FUNCTION order_sweep.fragment(%s)',
            array_to_string(key_types, ', '));
        RETURN true;
    EXCEPTION WHEN invalid_function_definition THEN
        RETURN false;
    END;
END $$;
COMMENT ON FUNCTION order_sweep.check_each IS
    'refuse what is not one statement over the key columns $1..; true if it '
    'returns rows';

CREATE OR REPLACE FUNCTION order_sweep.owner_exists(s order_sweep.sweep)
RETURNS boolean LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = s.owner) $$;
COMMENT ON FUNCTION order_sweep.owner_exists IS
    'false once the owner of a definition was dropped, and its functions with it';

CREATE OR REPLACE FUNCTION order_sweep.refused_setting(settings json)
RETURNS text LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _setting record;
BEGIN
    FOR _setting IN SELECT key, value FROM json_each_text(settings) LOOP
        BEGIN
            PERFORM set_config(_setting.key, _setting.value, true);
            -- Raised only to have it set back.
            RAISE EXCEPTION USING ERRCODE = 'OS000';
        EXCEPTION
            WHEN SQLSTATE 'OS000' THEN NULL;
            WHEN OTHERS THEN
                RETURN SQLERRM;
        END;
    END LOOP;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION order_sweep.refused_setting IS
    'why the server takes one of these settings for none, or not with its '
    'value; NULL if it takes all; nothing stays set';

CREATE OR REPLACE FUNCTION order_sweep.open_schemas(path text[], definer name)
RETURNS TABLE (schema name, grantee text, owns boolean)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- Whoever may create in a schema of the path can put an operator there
    -- that the generated functions would run with their owner's rights: the
    -- schema's owner too.  Who may act as the definer anyway (a superuser, a
    -- member of the role) gains nothing by it.
    SELECT n.nspname,
           CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(r.rolname) END,
           a.grantee = n.nspowner
      FROM pg_namespace n,
           aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a
           -- pg_database_owner is whoever owns this database
           LEFT JOIN pg_roles r ON r.oid = CASE
               WHEN a.grantee = 'pg_database_owner'::regrole
               THEN (SELECT d.datdba FROM pg_database d
                      WHERE d.datname = current_database())
               ELSE a.grantee END
     WHERE n.nspname = ANY (path) AND n.nspname <> 'pg_catalog'
       AND a.privilege_type = 'CREATE'
       AND (r.oid IS NULL OR NOT pg_has_role(r.oid, definer, 'MEMBER'))
     ORDER BY 3, 1, 2
$$;
COMMENT ON FUNCTION order_sweep.open_schemas IS
    'the schemas of a search path in which others may create than those who '
    'may act as the definer, who they are, and whether they own the schema';

CREATE OR REPLACE FUNCTION order_sweep.check_path(path text[], definer name)
RETURNS void LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _open record;
BEGIN
    SELECT * INTO _open FROM order_sweep.open_schemas(path, definer) LIMIT 1;
    IF FOUND THEN
        PERFORM order_sweep.refuse('search_path',
            format('%s may create in schema %I and so change what the '
                   'definition does', _open.grantee, _open.schema),
            CASE WHEN _open.owns
                 THEN format('Define it as role %s (or with run_as), or SET '
                             'search_path without that schema and name it in '
                             'the fragments.', _open.grantee)
                 ELSE format('REVOKE CREATE ON SCHEMA %I FROM %s, or SET '
                             'search_path without it and name the schema in '
                             'the fragments.', _open.schema, _open.grantee) END);
    END IF;
END $$;
COMMENT ON FUNCTION order_sweep.check_path IS
    'refuse a search path with a schema in which others may create than those '
    'who may act as the definer';
