-- The owner of the schema, if there is one, and whether that is who asks.
SELECT n.nspowner::regrole::text, pg_get_userbyid(n.nspowner) = current_user
  FROM pg_namespace n WHERE n.nspname = 'order_sweep'
