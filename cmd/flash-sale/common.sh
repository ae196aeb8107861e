# shellcheck shell=bash
# Sourced by the parts of the flash sale: how they reach the three engines.
#
#     SALE_REDIS       Redis' socket
#     SALE_MQTT        the port of RabbitMQ's plugin for MQTT
#     PGHOST, ...      the database, as libpq knows it
#
#     redis COMMAND [ARGUMENT...]   fails where Redis answers with an error
#     sql [OPTION...]               psql, a line a row, columns by spaces
#     tell TOPIC MESSAGE [OPTION...]  returns 0 when the broker has it

redis()
{
    redis-cli -s "$SALE_REDIS" -e "$@"
}

sql()
{
    psql -X -q -A -t -F ' ' "$@"
}

tell()
{
    timeout 10 mosquitto_pub -p "$SALE_MQTT" -q 1 -t "$1" -m "$2" "${@:3}" \
        2>/dev/null
}
