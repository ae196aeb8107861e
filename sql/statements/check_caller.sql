-- Whose SQL a superuser would run who checks: no row if all of it is his own,
-- or if he is none.
SELECT x.what, quote_ident(x.owner)
  FROM (SELECT 0 AS n, 'schema order_sweep' AS what, pg_get_userbyid(s.nspowner) AS owner
          FROM pg_namespace s WHERE s.nspname = 'order_sweep'
        UNION ALL
        SELECT s.id, 'sweep ' || s.name, s.owner::name FROM order_sweep.sweep s) x
  JOIN pg_roles r ON r.rolname = current_user AND r.rolsuper
 WHERE x.owner <> current_user
 ORDER BY x.n LIMIT 1
