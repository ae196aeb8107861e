-- What order-sweep check says of a permission that was denied.

CREATE OR REPLACE FUNCTION order_sweep.rights_used(statement text, name text)
RETURNS text[] LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
    -- The words before the name tell; whatever else is done with a table needs
    -- SELECT, and so does an update or delete of certain rows.
    SELECT array_remove(ARRAY[
               CASE WHEN statement ~* x.into_it THEN 'INSERT' END,
               CASE WHEN statement ~* ('\mupdate\s+' || x.it) THEN 'UPDATE' END,
               CASE WHEN statement ~* ('\mdelete\s+from\s+' || x.it) THEN 'DELETE' END,
               CASE WHEN regexp_replace(statement, x.into_it, '', 'gi') ~* x.it
                    THEN 'SELECT' END], NULL)
      FROM (SELECT i.it, '\minsert\s+into\s+' || i.it AS into_it
              FROM (SELECT '(only\s+)?("[^"]+"\s*\.\s*|\w+\s*\.\s*)?"?(?<!\w)'
                           || regexp_replace(regexp_replace(name,
                                  '(\W)', '\\\1', 'g'), '"', '""', 'g')
                           || '(?!\w)"?' AS it) i) x
$$;
COMMENT ON FUNCTION order_sweep.rights_used IS
    'the rights that a statement needs on a table of this name, as far as its '
    'words tell; none if it does not name it';

CREATE OR REPLACE FUNCTION order_sweep.check_denied(
    role text, statement text, message text)
RETURNS text LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
    -- The message has the name, in whatever language, but not the right; a
    -- name may be a part of another.
    WITH missing AS (
        SELECT string_agg(p, ', ' ORDER BY n) AS rights, c.oid::regclass::text AS object,
               c.relowner AS owner, c.relname AS name
          FROM pg_class c,
               unnest(order_sweep.rights_used(statement, c.relname))
                   WITH ORDINALITY AS u(p, n)
         WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
           AND NOT has_table_privilege(role, c.oid, p)
         GROUP BY c.oid
        UNION ALL
        SELECT 'USAGE', 'SCHEMA ' || quote_ident(n.nspname), n.nspowner, n.nspname
          FROM pg_namespace n
         WHERE NOT has_schema_privilege(role, n.oid, 'USAGE')
           AND cardinality(order_sweep.rights_used(statement, n.nspname)) > 0
        UNION ALL
        SELECT 'EXECUTE', 'FUNCTION ' || p.oid::regprocedure, p.proowner, p.proname
          FROM pg_proc p
         WHERE NOT has_function_privilege(role, p.oid, 'EXECUTE')
           AND cardinality(order_sweep.rights_used(statement, p.proname)) > 0
    )
    SELECT string_agg(format('GRANT %s ON %s TO %I; -- as role %s', m.rights,
                             m.object, role, m.owner::regrole), E'\n'
                      ORDER BY m.object)
      FROM missing m
     WHERE length(m.name) = (SELECT max(length(x.name)) FROM missing x
                              WHERE position(x.name IN message) > 0)
       AND position(m.name IN message) > 0
$$;
COMMENT ON FUNCTION order_sweep.check_denied IS
    'the GRANT that lets a role run a statement, and who may give it, by the '
    'message that denied it; NULL if that does not tell';
