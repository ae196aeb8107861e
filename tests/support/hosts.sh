# shellcheck shell=bash
# Sourced by test scripts in bash, before shop.sh: hosts with a network, an
# address and a name of their own, around one PostgreSQL.  The script starts
# anew, as root and in a network of its own: so nothing of the system's changes,
# and no host is left when the script has ended.
#
#     hosts_server               a durable server, which the hosts reach
#     host_start NAME [WORD...]  a host; the program runs there as an argument
#                                of these words, such as: env FAKETIME=+1d
#     on NAME COMMAND...         run and start of shop.sh, there
#     there NAME COMMAND...      any other command, there
#     cut_off NAME               from here on its packets vanish, both ways
#     reconnect NAME             no more
#     ${host_address[NAME]}      as the server sees it

# shellcheck source=tests/support/namespaces.sh
. "$ORDER_SWEEP_SOURCE/tests/support/namespaces.sh"
own_namespaces networks \
    'ip link add hosts type bridge && ip link add host type veth' --net --uts

hosts_net=10.77.0
hosts_server=$hosts_net.254
hosts_pipe=$ORDER_SWEEP_TMP/hosts
declare -A host_address=() host_words=()

hosts_server()
{
    ip link set lo up
    ip link add hosts type bridge
    ip address add $hosts_server/24 dev hosts
    ip link set hosts up
    ORDER_SWEEP_TEST_CONF="listen_addresses = '$hosts_server'
${ORDER_SWEEP_TEST_CONF:-}"
    own_server
    # shellcheck disable=SC2154  # by own_server
    cluster_as_server sh -c 'echo "host all all $1 trust" >>"$2"' sh \
        "$hosts_net.0/24" "$cluster_dir/data/pg_hba.conf"
    sql -o /dev/null -c 'SELECT pg_reload_conf()'
    # All hosts read from this pipe, and end with this script.
    mkfifo "$hosts_pipe"
    exec {hosts_end}<>"$hosts_pipe"
}

host_start()
{
    local name=$1 address=$hosts_net.$((${#host_address[@]} + 1)) pid up
    shift
    exec {up}< <(exec unshare --net --uts \
        sh -c 'hostname "$1"; echo up; read -r _' sh "$name" \
        <"$hosts_pipe" {hosts_end}>&-)
    pid=$!
    read -r _ <&"$up"
    exec {up}<&-
    ip link add "$name" type veth peer name net netns "$pid"
    ip link set "$name" master hosts up
    host_address[$name]=$address
    host_words[$name]="nsenter --net=/proc/$pid/ns/net --uts=/proc/$pid/ns/uts \
env PGHOST=$hosts_server $*"
    nsenter --net="/proc/$pid/ns/net" sh -c 'ip link set lo up
        ip address add "$1"/24 dev net
        ip link set net up' sh "$address"
    printf '#!/bin/sh\nexec %s "%s" "$@"\n' "${host_words[$name]}" \
        "$ORDER_SWEEP_BIN" >"$ORDER_SWEEP_TMP/$name"
    chmod 755 "$ORDER_SWEEP_TMP/$name"
}

there()
{
    local name=$1
    shift
    # shellcheck disable=SC2086  # a command and its arguments
    ${host_words[$name]} "$@"
}

on()
{
    local ORDER_SWEEP_BIN=$ORDER_SWEEP_TMP/$1
    shift
    "$@"
}

# No link goes down, nothing is refused: the bridge knows the host no more.
cut_off()
{
    ip link set "$1" nomaster
}

reconnect()
{
    ip link set "$1" master hosts
}
