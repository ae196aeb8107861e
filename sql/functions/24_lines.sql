-- What an event looks like to the command of a relay: a line of text.

CREATE OR REPLACE FUNCTION order_sweep.default_line(s order_sweep.sweep)
RETURNS text LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- The columns of an outbox as Debezium's event router expects them.
    SELECT format(
        'pg_catalog.json_build_object(''id'', e.id, ''aggregatetype'', %L, '
        '''aggregateid'', %s, ''type'', e.sweep, ''timestamp'', e.swept_at, '
        '''payload'', e.payload)',
        (parse_ident(s.orders))[cardinality(parse_ident(s.orders))],
        CASE WHEN cardinality(s.key) = 1 THEN 'e.key->>0' ELSE 'e.key::text' END)
$$;
COMMENT ON FUNCTION order_sweep.default_line IS
    'the line of a definition that names none';

CREATE OR REPLACE FUNCTION order_sweep.events_e()
RETURNS text LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT 'unnest($1) WITH ORDINALITY AS e(id, sweep, key, ordinal, swept_at, '
           'payload, order_sweep_n)'
$$;
COMMENT ON FUNCTION order_sweep.events_e IS
    'the events $1 as SQL reads them: what a line may say of e';

CREATE OR REPLACE FUNCTION order_sweep.build_lines(s order_sweep.sweep)
RETURNS TABLE (name text, arguments text, returns text, options text,
               body text, remark text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    name := s.name || '_lines';
    arguments := 'order_sweep.event[]';
    returns := 'SETOF text';
    options := 'STABLE ' || order_sweep.look_pins(s);
    body := format($body$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT (%s
           )::text
      FROM %s
     ORDER BY e.order_sweep_n;
END $body$, coalesce(s.line, order_sweep.default_line(s)),
        order_sweep.events_e());
    remark := 'these events as the lines that the relay hands on';
    RETURN NEXT;
END $$;
COMMENT ON FUNCTION order_sweep.build_lines IS 'the text of <sweep>_lines';

CREATE OR REPLACE FUNCTION order_sweep.check_line(path text, line text)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM order_sweep.check_brackets('line', path, line,
        'PERFORM (%s)', 'PERFORM ARRAY[%s]');
    PERFORM order_sweep.try_body('line', 'sql', '{order_sweep.event[]}', 'void',
        path, format(E'SELECT FROM %s WHERE length((%s\n)::text) > 0',
                     order_sweep.events_e(), line));
END $$;
COMMENT ON FUNCTION order_sweep.check_line IS
    'refuse a line that is no expression over the event e';
