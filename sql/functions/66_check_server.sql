-- What order-sweep check says of the server.

CREATE OR REPLACE FUNCTION order_sweep.set_for(setting text)
RETURNS TABLE (role oid, rank integer, value text, whose text, mend text)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT d.setrole, 1 + (d.setdatabase = 0)::int + 2 * (d.setrole = 0)::int,
           substr(c, length(setting) + 2),
           coalesce(' for role ' || quote_ident(r.rolname), ''),
           format('ALTER %s RESET %s;',
               CASE WHEN r.rolname IS NOT NULL
                    THEN format('ROLE %I', r.rolname)
                         || CASE d.setdatabase WHEN 0 THEN ''
                            ELSE format(' IN DATABASE %I', current_database()) END
                    WHEN d.setdatabase = 0 THEN 'ROLE ALL'
                    ELSE format('DATABASE %I', current_database()) END, setting)
      FROM pg_db_role_setting d
      LEFT JOIN pg_roles r ON r.oid = d.setrole, unnest(d.setconfig) c
     WHERE starts_with(c, setting || '=')
       AND d.setdatabase IN (0, (SELECT b.oid FROM pg_database b
                                  WHERE b.datname = current_database()))
$$;
COMMENT ON FUNCTION order_sweep.set_for IS
    'where a setting is given for roles (0: all) that connect here, and what '
    'ends it; the least rank that a role has counts';

CREATE OR REPLACE FUNCTION order_sweep.reset_in_server(setting text)
RETURNS text LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- Whoever may not read all settings is not told the file.
    SELECT CASE WHEN f.sourcefile IS NULL OR f.sourcefile LIKE '%postgresql.auto.conf'
                THEN format('ALTER SYSTEM RESET %s; SELECT pg_reload_conf();', $1)
                ELSE format('Take it out of %s, line %s, and SELECT '
                            'pg_reload_conf().', f.sourcefile, f.sourceline) END
      FROM pg_settings f WHERE f.name = $1
$$;
COMMENT ON FUNCTION order_sweep.reset_in_server IS
    'what ends a setting that the server''s files have';

CREATE OR REPLACE FUNCTION order_sweep.check_server(patience interval)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    level := 'fail';
    IF pg_is_in_recovery() THEN
        item := 'standby';
        what := 'this server is a standby';
        why := 'A run needs a server that takes writes.';
        mend := 'Name the primary, or all hosts: --host a,b.';
        RETURN NEXT;
    END IF;
    FOR what, mend IN
        SELECT format('table %s is unlogged', c.oid::regclass),
               format('ALTER TABLE %s SET LOGGED;', c.oid::regclass)
          FROM pg_class c
         WHERE c.relnamespace = 'order_sweep'::regnamespace
           AND c.relkind = 'r' AND c.relpersistence = 'u' ORDER BY 1 LOOP
        item := 'unlogged';
        why := 'A crash empties it, and with it what keeps an order from being '
               'swept twice.';
        RETURN NEXT;
    END LOOP;
    level := 'warn';
    FOR what, mend IN
        SELECT format('default_transaction_isolation is %s%s', d.value, d.whose),
               d.mend
          FROM order_sweep.set_for('default_transaction_isolation') d
         WHERE d.value <> 'read committed'
           -- of those who sweep
           AND (d.role = 0 OR has_function_privilege(d.role,
                    'order_sweep.begin_run(text, text, integer, interval)',
                    'EXECUTE'))
        UNION ALL
        -- what this session would have without its own setting, and without
        -- one of its role or of the database
        SELECT format('default_transaction_isolation is %s', f.reset_val),
               order_sweep.reset_in_server(f.name)
          FROM pg_settings f
         WHERE f.name = 'default_transaction_isolation'
           AND f.reset_val <> 'read committed'
           AND NOT EXISTS (
               SELECT FROM order_sweep.set_for(f.name) d
                WHERE d.role = 0 OR pg_get_userbyid(d.role) = session_user)
    LOOP
        item := 'isolation';
        why := 'A run sets it back to read committed for itself; what else '
               'calls the functions is refused.';
        RETURN NEXT;
    END LOOP;
    FOR what, mend IN
        SELECT format('session %s (%s) has held back vacuum for %s', a.pid,
                   coalesce(nullif(a.application_name, ''), a.backend_type),
                   date_trunc('second', now() - a.xact_start)),
               format('SELECT pg_terminate_backend(%s);', a.pid)
          FROM pg_stat_activity a
         WHERE (a.backend_xmin IS NOT NULL OR a.backend_xid IS NOT NULL)
           AND a.pid <> pg_backend_pid() AND now() - a.xact_start > patience
           AND coalesce(a.datname = current_database(), true)
           -- a VACUUM holds back no other
           AND NOT EXISTS (SELECT FROM pg_stat_progress_vacuum v
                            WHERE v.pid = a.pid)
        UNION ALL
        -- Of sessions of others only this much is shown to everybody.
        SELECT format('session %s (%s) holds back vacuum for more than 10000 '
                      'transactions, and role %I cannot see since when',
                   a.pid, coalesce(nullif(a.application_name, ''),
                                   quote_ident(a.usename)), current_user),
               format('GRANT pg_monitor TO %I;', current_user)
          FROM pg_stat_activity a
         WHERE greatest(age(a.backend_xmin), age(a.backend_xid)) > 10000
           AND a.datname = current_database() AND a.usesysid IS NOT NULL
           AND NOT pg_has_role(a.usesysid, 'USAGE')
           AND NOT pg_has_role('pg_read_all_stats', 'USAGE')
           AND NOT EXISTS (SELECT FROM pg_stat_progress_vacuum v
                            WHERE v.pid = a.pid)
        UNION ALL
        SELECT format('prepared transaction %L has held back vacuum for %s',
                   p.gid, date_trunc('second', now() - p.prepared)),
               format('ROLLBACK PREPARED %L;', p.gid)
          FROM pg_prepared_xacts p
         WHERE now() - p.prepared > patience AND p.database = current_database()
        UNION ALL
        SELECT format('replication slot %I holds back vacuum', r.slot_name),
               format('SELECT pg_drop_replication_slot(%L);', r.slot_name)
          FROM pg_replication_slots r
         WHERE NOT r.active AND (r.xmin IS NOT NULL OR r.catalog_xmin IS NOT NULL)
           AND coalesce(r.database = current_database(), true)
    LOOP
        item := 'vacuum';
        why := 'Rows of swept orders pile up before the next due one, and each '
               'look walks past them.';
        RETURN NEXT;
    END LOOP;
END $$;
COMMENT ON FUNCTION order_sweep.check_server IS
    'standby, unlogged tables, isolation, and who has held back vacuum for '
    'longer than patience, or for long while the caller may not see since when';
