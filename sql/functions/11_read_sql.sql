-- Reads the fragments of a definition as far as check needs it: into tokens,
-- not by pattern over the whole text, for a literal or a name in quotes may
-- hold anything.  Nothing here runs a fragment.

CREATE OR REPLACE FUNCTION order_sweep.tokens(sql text)
RETURNS TABLE (gap text, token text)
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
DECLARE
    _rest text := sql;
    _end int;
BEGIN
    gap := '';
    WHILE _rest <> '' LOOP
        -- blanks and comments; literals; where one in dollars begins; names
        -- and words; anything else is a token of one character
        token := (regexp_match(_rest, '^('
            '[[:space:]]+|--[^\n]*|/[*](?:[^*]|[*]+[^*/])*[*]+/'
            '|[eE]''(?:[^''\\]|\\.|'''')*''|''(?:[^'']|'''')*'''
            '|[$](?:[[:alpha:]_][[:alnum:]_]*)?[$]'
            '|"(?:[^"]|"")*"|[[:alpha:]_][[:alnum:]_$]*'
            '|.)'))[1];
        IF token ~ '^[$].*[$]$' THEN
            _end := strpos(substr(_rest, length(token) + 1), token);
            token := left(_rest, CASE _end WHEN 0 THEN length(_rest)
                                 ELSE _end - 1 + 2 * length(token) END);
        END IF;
        _rest := substr(_rest, length(token) + 1);
        IF token ~ '^([[:space:]]|--|/[*])' THEN
            -- a comment is no more than what it stands between
            gap := gap || CASE WHEN token ~ '^[[:space:]]' THEN token ELSE ' ' END;
        ELSE
            RETURN NEXT;
            gap := '';
        END IF;
    END LOOP;
END $$;
COMMENT ON FUNCTION order_sweep.tokens IS
    'the tokens of a fragment, in order, each with the blanks before it';

CREATE OR REPLACE FUNCTION order_sweep.name_of(token text)
RETURNS text LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN token ~ '^".*"$'
                THEN replace(substr(token, 2, length(token) - 2), '""', '"')
                WHEN token ~ '^[[:alpha:]_][[:alnum:]_$]*$'
                THEN lower(token COLLATE "C") END
$$;
COMMENT ON FUNCTION order_sweep.name_of IS
    'the name that a token means, as the catalog has it; NULL if it is none';

CREATE OR REPLACE FUNCTION order_sweep.without_alias(fragment text)
RETURNS text LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _gaps text[];
    _tokens text[];
    _names text[];
    _bare text := '';
    _n int := 1;
BEGIN
    SELECT array_agg(t.gap), array_agg(t.token),
           array_agg(order_sweep.name_of(t.token))
      INTO _gaps, _tokens, _names FROM order_sweep.tokens(fragment) t;
    WHILE _n <= cardinality(_tokens) LOOP
        _bare := _bare || _gaps[_n];
        IF _names[_n] = 'o' AND _tokens[_n + 1] = '.'
           AND _tokens[_n - 1] IS DISTINCT FROM '.' THEN
            _n := _n + 2; -- o.x
        ELSIF _tokens[_n] = '(' AND _names[_n + 1] = 'o'
              AND _tokens[_n + 2] = ')' AND _tokens[_n + 3] = '.' THEN
            _n := _n + 4; -- (o).x
        ELSE
            _bare := _bare || _tokens[_n];
            _n := _n + 1;
            CONTINUE;
        END IF;
        -- Behind a dot any word is a name; alone it may be another thing.
        _bare := _bare || coalesce(quote_ident(_names[_n]), _tokens[_n], '');
        _n := _n + 1;
    END LOOP;
    RETURN btrim(_bare, E' \t\n\r');
END $$;
COMMENT ON FUNCTION order_sweep.without_alias IS
    'a fragment as it can stand in an index, where the row has no name, and '
    'without its comments';

CREATE OR REPLACE FUNCTION order_sweep.and_parts(predicate text)
RETURNS SETOF text LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    t record;
    _parts text[] := '{}';
    _part text := '';
    _depth int := 0;
    _between boolean := false;
BEGIN
    FOR t IN SELECT k.gap, k.token, lower(k.token) AS word
               FROM order_sweep.tokens(predicate) k LOOP
        IF t.word IN ('(', '[', 'case') THEN
            _depth := _depth + 1;
        ELSIF t.word IN (')', ']', 'end') THEN
            _depth := _depth - 1;
        ELSIF _depth = 0 AND t.word = 'or' THEN
            RETURN NEXT predicate; -- it binds less than AND: one part
            RETURN;
        ELSIF _depth = 0 AND t.word = 'and' AND NOT _between THEN
            _parts := _parts || _part;
            _part := '';
            CONTINUE;
        ELSIF _depth = 0 AND t.word IN ('between', 'and') THEN
            _between := t.word = 'between'; -- its AND comes, or has come
        END IF;
        _part := _part || t.gap || t.token;
    END LOOP;
    RETURN QUERY SELECT btrim(p, E' \t\n\r') FROM unnest(_parts || _part) p;
END $$;
COMMENT ON FUNCTION order_sweep.and_parts IS
    'the parts of a predicate that hold all together';

CREATE OR REPLACE FUNCTION order_sweep.assigned(assignments text)
RETURNS text[] LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _token text;
    _names text[] := '{}';
    _depth int := 0;
    _target boolean := true; -- on the left of its =
    _begins boolean := true; -- a target begins
BEGIN
    -- c = ..., or (c, ...) = ...; in c.part and c[1] the name is c alone.
    FOR _token IN SELECT t.token FROM order_sweep.tokens(assignments) t LOOP
        IF _token IN ('(', '[') THEN
            _depth := _depth + 1;
        ELSIF _token IN (')', ']') THEN
            _depth := _depth - 1;
        ELSIF _token = ',' AND (_target OR _depth = 0) THEN
            _target := true;
            _begins := true;
        ELSIF _token = '=' AND _depth = 0 THEN
            _target := false;
        ELSIF _target AND _begins THEN
            _names := _names || order_sweep.name_of(_token);
            _begins := false;
        END IF;
    END LOOP;
    RETURN _names;
END $$;
COMMENT ON FUNCTION order_sweep.assigned IS
    'the columns that a set writes, in its order';
