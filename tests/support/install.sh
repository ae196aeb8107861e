# shellcheck shell=sh
# Sourced: installs what is missing, on Debian and its like.
#
#     install_packages PACKAGE...
#
# asks apt only when a package is missing.  The server's package neither
# creates nor starts a cluster on the way, no other service is started either,
# and the two files that see to this are gone afterwards.
#
#     install_promtool FOLDER
#
# puts promtool into a folder, where there is none in the PATH: of the package
# prometheus nothing else is wanted, least of all its service.

# The packages, by what needs them.
# shellcheck disable=SC2034  # used by whoever sources this
packages_build='cmake ninja-build gcc libc6-dev pkg-config libpq-dev libbsd-dev'
# Its client programs, which come with it, bring isolationtester.
# shellcheck disable=SC2034
packages_server='postgresql'
# Of iproute2: which ports are taken.
# shellcheck disable=SC2034
packages_flash_sale='redis-tools rabbitmq-server mosquitto-clients iproute2'

# Run a command as root.
as_root()
{
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        echo "install: neither root nor sudo; install yourself:" \
            "$missing_packages" >&2
        return 1
    fi
}

# The script that runs as root; $@ are the packages.
install_script='
set -eu
export DEBIAN_FRONTEND=noninteractive
cluster=/etc/postgresql-common/createcluster.d/order-sweep-install.conf
policy=/usr/sbin/policy-rc.d
made=
tidy_up()
{
    rm -f "$cluster"
    rmdir /etc/postgresql-common/createcluster.d 2>/dev/null || :
    if [ -n "$made" ]; then
        rm -f "$policy"
    fi
}
trap tidy_up EXIT
trap "exit 129" HUP
trap "exit 130" INT
trap "exit 143" TERM
mkdir -p "${cluster%/*}"
echo "create_main_cluster = false" >"$cluster"
echo "start_conf = manual" >>"$cluster"
if [ ! -e "$policy" ]; then
    made=yes
    printf "#!/bin/sh\nexit 101\n" >"$policy"
    chmod 755 "$policy"
fi
apt-get -q -o DPkg::Lock::Timeout=300 update
apt-get -q -y -o DPkg::Lock::Timeout=300 install --no-install-recommends "$@"
'

# Install the packages that are missing.
install_packages()
{
    missing_packages=
    for package in "$@"; do
        case $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>&1 || :) in
        installed) ;;
        *) missing_packages="$missing_packages $package" ;;
        esac
    done
    if [ -z "$missing_packages" ]; then
        return 0
    fi
    echo "install:$missing_packages"
    # shellcheck disable=SC2086  # a list of words
    as_root sh -c "$install_script" install $missing_packages </dev/null
}

# apt downloads as a user of its own, who may not write everywhere: as ours.
install_promtool()
{
    if command -v promtool >/dev/null || [ -x "$1/promtool" ]; then
        return 0
    fi
    echo "install: promtool"
    missing_packages=prometheus
    as_root apt-get -q -o DPkg::Lock::Timeout=300 update
    rm -rf "$1"
    mkdir -p "$1"
    (
        cd "$1" || exit
        apt-get -q -o APT::Sandbox::User= download prometheus
        dpkg-deb --fsys-tarfile prometheus_*.deb |
            tar -x --strip-components=3 ./usr/bin/promtool
        rm prometheus_*.deb
    )
}
