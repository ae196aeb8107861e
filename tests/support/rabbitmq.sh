# shellcheck shell=bash
# Sourced by scripts in bash: a RabbitMQ of their own, with MQTT, also over
# WebSocket, on ports of 127.0.0.1 that were free.
#
#     rabbitmq_start FOLDER  starts it, with its files there; started again on
#                            the same folder, it has its ports and what is
#                            durable; the words of $rabbitmq_as run it as
#                            another user.  The ports are $rabbitmq_mqtt_port,
#                            $rabbitmq_web_port and $rabbitmq_amqp_port
#     rabbitmq_eval TERM     asks the node in Erlang
#     rabbitmq_stop          ends it, if it runs, at once, and its epmd
#
# The node has an epmd, a cookie and a name of its own: it meets no other.

rabbitmq_pid=
rabbitmq_epmd=
rabbitmq_env=()
rabbitmq_folder=
rabbitmq_as=()

# Five ports that nobody has.
rabbitmq_free_ports()
{
    local taken port found=0
    taken=" $(ss -Htan | sed 's/.*:\([0-9]*\) .*:.*/\1/' | tr '\n' ' ') "
    while [ "$found" -lt 5 ]; do
        port=$((20000 + (RANDOM << 15 | RANDOM) % 10000))
        if [[ $taken != *" $port "* ]]; then
            taken+="$port "
            found=$((found + 1))
            echo "$port"
        fi
    done
}

rabbitmq_eval()
{
    "${rabbitmq_as[@]}" env "${rabbitmq_env[@]}" \
        /usr/lib/rabbitmq/bin/rabbitmqctl --quiet eval "$1"
}

rabbitmq_connects()
{
    (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

rabbitmq_start()
{
    rabbitmq_folder=$1
    if [ ! -s "$rabbitmq_folder/ports" ]; then
        rabbitmq_free_ports >"$rabbitmq_folder/ports"
        echo '[rabbitmq_mqtt,rabbitmq_web_mqtt].' >"$rabbitmq_folder/plugins"
    fi
    local ports
    mapfile -t ports <"$rabbitmq_folder/ports"
    rabbitmq_mqtt_port=${ports[0]}
    rabbitmq_web_port=${ports[1]}
    # shellcheck disable=SC2034  # for callers
    rabbitmq_amqp_port=${ports[2]}
    cat >"$rabbitmq_folder/rabbitmq.conf" <<-CONF
	listeners.tcp.1 = 127.0.0.1:$rabbitmq_amqp_port
	mqtt.listeners.tcp.1 = 127.0.0.1:$rabbitmq_mqtt_port
	web_mqtt.tcp.ip = 127.0.0.1
	web_mqtt.tcp.port = $rabbitmq_web_port
	CONF
    rabbitmq_env=(
        HOME="$rabbitmq_folder"
        ERL_EPMD_ADDRESS=127.0.0.1 ERL_EPMD_PORT="${ports[3]}"
        RABBITMQ_NODENAME=sweep@localhost RABBITMQ_DIST_PORT="${ports[4]}"
        RABBITMQ_CONF_ENV_FILE=/dev/null
        RABBITMQ_ADVANCED_CONFIG_FILE="$rabbitmq_folder/none"
        RABBITMQ_CONFIG_FILE="$rabbitmq_folder/rabbitmq.conf"
        RABBITMQ_ENABLED_PLUGINS_FILE="$rabbitmq_folder/plugins"
        RABBITMQ_MNESIA_BASE="$rabbitmq_folder/data"
        RABBITMQ_LOG_BASE="$rabbitmq_folder" RABBITMQ_LOGS=-
        RABBITMQ_PID_FILE="$rabbitmq_folder/pid"
        # The program itself, with no script before it that would outlive it.
        RABBITMQ_ALLOW_INPUT=yes
        RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS='+S 1:1 -start_epmd false'
    )
    "${rabbitmq_as[@]}" env "${rabbitmq_env[@]}" epmd >/dev/null 2>&1 &
    rabbitmq_epmd=$!
    until rabbitmq_connects "${ports[3]}"; do
        sleep 0.05
    done
    "${rabbitmq_as[@]}" env "${rabbitmq_env[@]}" \
        /usr/lib/rabbitmq/bin/rabbitmq-server -noinput \
        </dev/null >>"$rabbitmq_folder/log" 2>&1 &
    rabbitmq_pid=$!
    # The last of the listeners.
    until rabbitmq_connects "$rabbitmq_web_port" &&
        rabbitmq_connects "$rabbitmq_mqtt_port"; do
        if ! kill -0 "$rabbitmq_pid" 2>/dev/null; then
            echo "RabbitMQ: $(tail -n 5 "$rabbitmq_folder/log")" >&2
            return 1
        fi
        sleep 0.1
    done
}

rabbitmq_stop()
{
    local pid
    for pid in $rabbitmq_pid $rabbitmq_epmd; do
        kill -9 "$pid" 2>/dev/null || :
        wait "$pid" 2>/dev/null || :
    done
    rabbitmq_pid=
    rabbitmq_epmd=
}
