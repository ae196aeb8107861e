# shellcheck shell=bash
# Sourced by scripts in bash: a Redis of their own, on a socket.
#
#     redis_start FOLDER [OPTION...]   starts it, with its files there; the words
#                                      of $redis_as run it as another user
#     redis [ARGUMENT...]              redis-cli on it
#     redis_stop                       ends it, if it runs, at once

redis_pid=
redis_folder=
redis_as=()

redis()
{
    redis-cli -s "$redis_folder/socket" "$@"
}

# Debian's package redis-server is no more than this link and a service, which
# would be started at the next boot.
redis_start()
{
    redis_folder=$1
    shift
    ln -sf "$(command -v redis-check-rdb)" "$redis_folder/redis-server"
    "${redis_as[@]}" "$redis_folder/redis-server" --port 0 \
        --unixsocket "$redis_folder/socket" --dir "$redis_folder" --save '' "$@" \
        >"$redis_folder/log" 2>&1 &
    redis_pid=$!
    until [ "$(redis ping 2>/dev/null)" = PONG ]; do
        if ! kill -0 "$redis_pid" 2>/dev/null; then
            echo "Redis: $(tail -n 1 "$redis_folder/log")" >&2
            return 1
        fi
        sleep 0.1
    done
}

redis_stop()
{
    if [ -n "$redis_pid" ]; then
        kill -9 "$redis_pid" 2>/dev/null || :
        wait "$redis_pid" 2>/dev/null || :
        redis_pid=
    fi
}
