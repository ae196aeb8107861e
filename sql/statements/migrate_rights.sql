-- A right that a migration needs and that who asks does not have: who asks, the
-- right, who may grant it, and how; no row if none is missing.
SELECT quote_ident(current_user), m."right",
       m.owner::regrole::text,
       format('GRANT %s TO %I', m."right", current_user)
  FROM (SELECT format('CREATE ON DATABASE %I', d.datname), d.datdba,
               has_database_privilege(d.oid, 'CREATE')
               OR to_regnamespace('order_sweep') IS NOT NULL
          FROM pg_database d WHERE d.datname = current_database()
        UNION ALL
        SELECT format('%s ON SCHEMA %I', p, n.nspname), n.nspowner,
               has_schema_privilege(n.oid, p)
          FROM pg_namespace n, unnest('{USAGE,CREATE}'::text[]) p
         WHERE n.nspname = 'order_sweep') AS m ("right", owner, held)
 WHERE NOT m.held
 LIMIT 1
