# shellcheck shell=bash
# Sourced: a PgBouncer of our own before the server that PGHOST and PGPORT
# name.
#
#     pooler_start MODE SIZE [LINE...]  a pool for each database and role, of
#                                       SIZE sessions; LINEs for its settings;
#                                       sets pooler_dir, its PGHOST, which is
#                                       in the folder of the test server
#     pooler_waits DATABASE             until one client waits for a session
#     pooler_served                     how many transactions it has passed on
#     pooler_stop                       stops it and removes its folder
#
# It listens on the port pooler_port.  Anybody may log in whom the server lets in.

pooler_port=6432
pooler_dir=

# The pooler ends with the shell that starts it, even with one that is killed,
# and is no job of it that a bare wait would wait for.  Becomes the pooler.
pooler_become()
{
    # Not the locks of whoever waits for our end.
    exec 9>&- </dev/null >/dev/null
    cd /
    if [ "$(id -u)" = 0 ]; then
        # PgBouncer refuses root.
        set -- --reuid=postgres --regid=postgres --init-groups "$@"
    fi
    exec setpriv --pdeathsig TERM "$@"
}

# Until a command succeeds: so many tries, 0.05 s between them.
pooler_try()
{
    local tries=$1
    shift
    until "$@"; do
        tries=$((tries - 1))
        if [ "$tries" = 0 ]; then
            return 1
        fi
        sleep 0.05
    done
}

pooler_start()
{
    local mode=$1 size=$2
    shift 2
    pooler_dir=$(mktemp -d "${PGHOST%/*}/pooler.XXXXXX")
    {
        echo "[databases]"
        echo "* = host=$PGHOST port=$PGPORT auth_user=postgres"
        echo "[pgbouncer]"
        echo "listen_addr ="
        echo "unix_socket_dir = $pooler_dir"
        echo "listen_port = $pooler_port"
        echo "auth_type = trust"
        echo "auth_file = $pooler_dir/users"
        echo "auth_query = SELECT \$1::text, ''"
        echo "admin_users = postgres"
        echo "pool_mode = $mode"
        echo "default_pool_size = $size"
        echo "server_idle_timeout = 5"
        echo "logfile = $pooler_dir/log"
        echo "pidfile = $pooler_dir/pid"
        printf '%s\n' "$@"
    } >"$pooler_dir/ini"
    echo '"postgres" ""' >"$pooler_dir/users"
    chmod 755 "$pooler_dir"
    if [ "$(id -u)" = 0 ]; then
        chown -R postgres: "$pooler_dir"
    fi
    pooler_become /usr/sbin/pgbouncer -q "$pooler_dir/ini" &
    disown
    if ! pooler_try 200 test -S "$pooler_dir/.s.PGSQL.$pooler_port"; then
        cat "$pooler_dir/log" >&2
        return 1
    fi
}

# Ask the pooler itself: SHOW what.
pooler_show()
{
    PGHOST=$pooler_dir PGPORT=$pooler_port \
        psql -XAtq -F ' ' -d pgbouncer -c "SHOW $1"
}

pooler_has_one_waiting()
{
    [ "$(pooler_show POOLS | awk -v database="$1" '
        $1 == database { n += $4 }
        END { print n + 0 }')" = 1 ]
}

pooler_waits()
{
    if ! pooler_try 400 pooler_has_one_waiting "$1"; then
        echo "no client of $1 waits for a session" >&2
        return 1
    fi
}

pooler_served()
{
    pooler_show STATS_TOTALS |
        awk '$1 != "pgbouncer" { n += $2 } END { print n + 0 }'
}

pooler_stop()
{
    local pid
    if [ -n "$pooler_dir" ]; then
        if [ -s "$pooler_dir/pid" ]; then
            pid=$(cat "$pooler_dir/pid")
            kill "$pid" 2>/dev/null || :
            while kill -0 "$pid" 2>/dev/null; do
                sleep 0.02
            done
        fi
        rm -rf "$pooler_dir"
        pooler_dir=
    fi
}
