-- testing.fingerprint(): a hash of every row of the shop and of the books, and
-- of the text, owner and grants of all functions of schema order_sweep. Equal
-- before and after means: nothing changed.

CREATE SCHEMA testing;

CREATE FUNCTION testing.fingerprint() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    name text;
    part text;
    sum  text := '';
BEGIN
    FOR name IN
        SELECT c.oid::regclass::text
          FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname IN ('shop', 'order_sweep') AND c.relkind = 'r'
         ORDER BY 1
    LOOP
        EXECUTE format('SELECT md5(string_agg(t::text, e''\n'' '
                       'ORDER BY t::text)) FROM %s t', name)
           INTO part;
        sum := sum || name || coalesce(part, '') || ' ';
    END LOOP;
    SELECT md5(string_agg(format('%s %s %s %s %s %s', p.proname, p.proargtypes,
                                 p.proowner, p.proacl, p.proconfig, p.prosrc),
                          '' ORDER BY p.oid))
      INTO part
      FROM pg_proc p
     WHERE p.pronamespace = 'order_sweep'::regnamespace;
    RETURN md5(sum || part);
END $$;
COMMENT ON FUNCTION testing.fingerprint() IS
    'a hash of every row of the shop and of the books, and of the text, owner '
    'and grants of the functions: equal before and after means nothing changed';

CREATE FUNCTION testing.mutate(function text, old text, new text,
                               schema text DEFAULT 'order_sweep')
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    definition text;
BEGIN
    SELECT pg_get_functiondef(oid) INTO STRICT definition FROM pg_proc
     WHERE pronamespace = schema::regnamespace AND proname = function;
    IF strpos(definition, old) = 0 THEN
        RAISE '% does not hold: %', function, old;
    END IF;
    EXECUTE replace(definition, old, new);
END $$;
COMMENT ON FUNCTION testing.mutate IS
    'create a function with one text put in another''s place, to see that a test '
    'notices';
