# shellcheck shell=sh
# Sourced: a PostgreSQL of our own, on a Unix socket in a folder under /tmp.
#
#     cluster_reap              removes clusters whose owner is dead
#     cluster_start [keep]      starts one; the caller traps EXIT, INT and TERM
#     cluster_stop              stops it and removes its folder
#
# cluster_start sets cluster_dir, the environment of libpq (PGHOST, PGPORT,
# PGUSER, PGDATABASE) and puts the server's programs first in PATH.  Durability
# is off unless the argument is "keep".  ORDER_SWEEP_TEST_CONF may hold more
# lines for postgresql.conf.
#
# The folder is short, for a socket's path ends at 107 characters.  It belongs
# to the caller; the two folders in it belong to the user that runs the server,
# since PostgreSQL refuses root.  Whoever starts a cluster holds a lock on the
# folder's file "lock" (descriptor 9), its children too, the server not: once
# the lock is free, nobody uses the cluster any more.

cluster_prefix=/tmp/order-sweep-test
cluster_dir=

# Run a command as the user that runs the server, away from the caller's
# folder, which that user may not be allowed to see.
cluster_as_server()
{
    (
        exec 9>&- </dev/null
        cd /
        if [ "$(id -u)" = 0 ]; then
            exec runuser -u postgres -- "$@"
        fi
        exec "$@"
    )
}

# Print the folder of the server's programs: Debian's newest, or the PATH's.
cluster_bindir()
{
    for version in 19 18 17 16 15 14; do
        if [ -x "/usr/lib/postgresql/$version/bin/initdb" ]; then
            echo "/usr/lib/postgresql/$version/bin"
            return 0
        fi
    done
    if command -v initdb >/dev/null; then
        dirname "$(command -v initdb)"
        return 0
    fi
    echo "cluster: no PostgreSQL server from 14 on; install postgresql" >&2
    return 1
}

# Stop the server in a folder, if one runs, and remove the folder.
cluster_remove()
{
    if cluster_as_server "$(cluster_bindir)/pg_ctl" -D "$1/data" status \
        >/dev/null 2>&1; then
        cluster_as_server "$(cluster_bindir)/pg_ctl" -D "$1/data" \
            -m "${2:-fast}" -w -t 60 stop >/dev/null 2>&1 ||
            cluster_as_server "$(cluster_bindir)/pg_ctl" -D "$1/data" \
                -m immediate -w -t 60 stop >/dev/null
    fi
    rm -rf "$1"
}

cluster_reap()
{
    for stale in "$cluster_prefix".*; do
        # Only a folder of our own, never one that somebody else put there.
        mine=$(find "$stale" -maxdepth 0 -type d -user "$(id -u)" \
            2>/dev/null || :)
        if [ -z "$mine" ] || [ ! -f "$stale/lock" ]; then
            continue
        fi
        if flock -n "$stale/lock" true 2>/dev/null; then
            echo "cluster: removing $stale, left by a run that died" >&2
            cluster_remove "$stale" immediate
        fi
    done
}

cluster_start()
{
    bindir=$(cluster_bindir)
    # Nothing of the caller's own PostgreSQL may leak in.
    for variable in $(env | sed -n 's/^\(PG[A-Z_]*\)=.*/\1/p'); do
        unset "$variable"
    done
    cluster_dir=$(mktemp -d "$cluster_prefix.XXXXXX")
    chmod 755 "$cluster_dir"
    # Locked before it has the name that cluster_reap looks for.
    exec 9>"$cluster_dir/lock.new"
    flock -n 9
    mv "$cluster_dir/lock.new" "$cluster_dir/lock"
    mkdir "$cluster_dir/data" "$cluster_dir/run"
    chmod 700 "$cluster_dir/data"
    if [ "$(id -u)" = 0 ]; then
        chown postgres: "$cluster_dir/data" "$cluster_dir/run"
    fi
    sync=
    if [ "${1:-}" != keep ]; then
        sync=--no-sync
    fi
    cluster_as_server "$bindir/initdb" -D "$cluster_dir/data" -U postgres \
        --encoding=UTF8 --locale=C.UTF-8 --auth=trust $sync \
        >"$cluster_dir/initdb.log" 2>&1 || {
        cat "$cluster_dir/initdb.log" >&2
        return 1
    }
    {
        echo "listen_addresses = ''"
        echo "unix_socket_directories = '$cluster_dir/run'"
        echo "port = 5432"
        echo "max_connections = 100"
        echo "timezone = 'UTC'"
        echo "log_timezone = 'UTC'"
        echo "log_line_prefix = '%m [%p] %q%a %u@%d '"
        echo "log_statement = none"
        if [ "${1:-}" != keep ]; then
            echo "fsync = off"
        fi
        if [ -n "${ORDER_SWEEP_TEST_CONF:-}" ]; then
            printf '%s\n' "$ORDER_SWEEP_TEST_CONF"
        fi
    } >"$cluster_dir/extra.conf"
    cluster_as_server sh -c 'cat "$1" >>"$2"' sh "$cluster_dir/extra.conf" \
        "$cluster_dir/data/postgresql.conf"
    cluster_as_server "$bindir/pg_ctl" -D "$cluster_dir/data" \
        -l "$cluster_dir/run/server.log" -w -t 60 start >/dev/null || {
        cat "$cluster_dir/run/server.log" >&2
        return 1
    }
    PGHOST=$cluster_dir/run
    PGPORT=5432
    PGUSER=postgres
    PGDATABASE=postgres
    # The server's own psql: Debian's in /usr/bin is a wrapper that takes
    # longer than most queries.
    PATH=$bindir:$PATH
    export PGHOST PGPORT PGUSER PGDATABASE PATH
}

cluster_stop()
{
    if [ -n "$cluster_dir" ]; then
        cluster_remove "$cluster_dir"
        exec 9>&-
        cluster_dir=
    fi
}
