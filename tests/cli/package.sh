#!/bin/bash
# The Debian package that is built from this tree: what is in it, for whom, and
# what dpkg is told of it.  Needs no server.  How it is installed and removed is
# tests/package/lifecycle.
set -euo pipefail

work=$ORDER_SWEEP_TMP
for tool in dpkg-deb dpkg-shlibdeps file; do
    if ! command -v "$tool" >/dev/null; then
        echo "package: $tool is not installed (dpkg-dev, file)" >&2
        exit 77
    fi
done

failures=0
fail()
{
    echo "package: $*" >&2
    failures=$((failures + 1))
}

# --- Building it -------------------------------------------------------------

# The preset's settings in another folder; whatever the umask of who builds.
umask 077
{
    "$CMAKE" -S "$ORDER_SWEEP_SOURCE" --preset deb -B "$work/build"
    "$CMAKE" --build "$work/build" --target package
} >"$work/built" 2>&1 || {
    tail -n 50 "$work/built" >&2
    exit 1
}
umask 022
package=$(echo "$work"/build/*.deb)
version=$ORDER_SWEEP_VERSION-1
architecture=$(dpkg --print-architecture)
[ "${package##*/}" = "order-sweep_${version}_$architecture.deb" ] ||
    fail "the file is ${package##*/}"

# --- What is in it -----------------------------------------------------------

# "mode owner path" a line.
dpkg-deb -c "$package" | awk '{ print $1, $2, $6 }' >"$work/contents"
sed -n 's/^-.* root\/root \.//p' "$work/contents" | sort >"$work/files"
sort >"$work/wanted" <<'FILES'
/etc/cron.d/order-sweep
/usr/bin/order-sweep
/usr/lib/systemd/system/order-sweep@.service
/usr/lib/systemd/system/order-sweep@.timer
/usr/share/bash-completion/completions/order-sweep
/usr/share/doc/order-sweep/README.md
/usr/share/doc/order-sweep/changelog.Debian.gz
/usr/share/doc/order-sweep/changelog.gz
/usr/share/doc/order-sweep/copyright
/usr/share/doc/order-sweep/examples/data.sql
/usr/share/doc/order-sweep/examples/definition.sql
/usr/share/doc/order-sweep/examples/shop.sql
/usr/share/doc/order-sweep/flash-sale.png
/usr/share/doc/order-sweep/monitoring/order-sweep.dashboard.json
/usr/share/doc/order-sweep/monitoring/order-sweep.rules.yml
/usr/share/doc/order-sweep/monitoring/order-sweep.test.yml
/usr/share/doc/order-sweep/order.svg
/usr/share/doc/order-sweep/recipes/01_payment_method.sql
/usr/share/doc/order-sweep/recipes/02_bank_transfer.sql
/usr/share/doc/order-sweep/recipes/03_remind.sql
/usr/share/doc/order-sweep/recipes/04_close_delivered.sql
/usr/share/doc/order-sweep/recipes/05_split_order.sql
/usr/share/doc/order-sweep/recipes/06_tenants.sql
/usr/share/doc/order-sweep/recipes/07_payment_in_flight.sql
/usr/share/doc/order-sweep/recipes/08_partly_paid.sql
/usr/share/doc/order-sweep/recipes/09_coupons_points.sql
/usr/share/doc/order-sweep/recipes/shop.sql
/usr/share/doc/order-sweep/redis/order_sweep.lua
/usr/share/doc/order-sweep/run.svg
/usr/share/doc/order-sweep/troubleshooting.md
/usr/share/lintian/overrides/order-sweep
/usr/share/man/man8/order-sweep.8.gz
FILES
diff -u "$work/wanted" "$work/files" >&2 || fail 'other files than these'
expected='-rwxr-xr-x root/root ./usr/bin/order-sweep'
if grep -v -e '^drwxr-xr-x root/root ' -e '^-rw-r--r-- root/root ' \
    -e "^$expected\$" "$work/contents"; then
    fail 'other owners or rights than these'
fi

dpkg-deb -x "$package" "$work/root"
doc=$work/root/usr/share/doc/order-sweep
[ "$("$work/root/usr/bin/order-sweep" --version)" = \
    "order-sweep $ORDER_SWEEP_VERSION" ] || fail 'it is another version'
# What is embedded in the program and what is shipped beside it.
diff -r "$ORDER_SWEEP_SOURCE/sql/sample" "$doc/examples" || fail 'examples'
diff -r "$ORDER_SWEEP_SOURCE/sql/recipes" "$doc/recipes" || fail 'recipes'
cmp "$ORDER_SWEEP_SOURCE/cmd/order-sweep/completion.bash" \
    "$work/root/usr/share/bash-completion/completions/order-sweep" ||
    fail 'completion'
gzip -dc "$doc/changelog.gz" | cmp - "$ORDER_SWEEP_SOURCE/CHANGELOG.md" ||
    fail 'changelog'
gzip -dc "$doc/changelog.Debian.gz" >"$work/changelog"
[ "$(dpkg-parsechangelog -l "$work/changelog" -S Version)" = "$version" ] ||
    fail 'changelog.Debian'
gzip -dc "$work/root/usr/share/man/man8/order-sweep.8.gz" |
    grep -q '^\.Dt ORDER-SWEEP 8$' || fail 'man page'

# The words of LICENSE, whatever the lines.
words()
{
    tr ' ' '\n' | sed '/^\.\{0,1\}$/d'
}
sed 1d "$ORDER_SWEEP_SOURCE/LICENSE" | words >"$work/license"
sed -n '/^Copyright:/,$p' "$doc/copyright" |
    sed 's/^Copyright:/Copyright (c)/; /^License: Expat$/d' |
    words >"$work/copyright"
diff "$work/license" "$work/copyright" >&2 || fail 'copyright is not LICENSE'

# The entry and the units start the program that is there, as the user that
# postinst makes; and the entry nothing until somebody wants it.
dpkg-deb -e "$package" "$work/control"
user=$(sed -n '/^    adduser/,/[^\\]$/p' "$work/control/postinst" |
    tail -n 1 | sed 's/.* //')
entry=$work/root/etc/cron.d/order-sweep
[ "$(grep -c "^#[* ]* $user test -x /usr/bin/order-sweep || exit 0; exec " \
    "$entry")" = 2 ] || fail 'crontab entry'
! grep '^\*' "$entry" || fail 'a crontab entry that works'
service=$work/root/usr/lib/systemd/system/order-sweep@.service
[ "$(grep '^User=' "$service")" = "User=$user" ] || fail 'user of the service'
grep -q '^ExecStart=/usr/bin/order-sweep --linger$' "$service" ||
    fail 'program of the service'

# --- What dpkg is told -------------------------------------------------------

# field NAME PATTERN
field()
{
    # shellcheck disable=SC2254  # a pattern
    case $(dpkg-deb -f "$package" "$1") in
    $2) ;;
    *) fail "$1: $(dpkg-deb -f "$package" "$1")" ;;
    esac
}
field Package order-sweep
field Version "$version"
field Architecture "$architecture"
field Section database
field Maintainer '* <*@*>'
field Depends '*adduser*'
field Depends '*libbsd0 (>= *'
field Depends '*libc6 (>= *'
field Depends '*libpq5 (>= *'
field Recommends 'cron | *'
field Description 'Cancels unpaid orders*'
[ "$(cat "$work/control/conffiles")" = /etc/cron.d/order-sweep ] ||
    fail "conffiles: $(cat "$work/control/conffiles")"
for script in postinst prerm postrm; do
    [ -x "$work/control/$script" ] || fail "$script cannot be run"
done

# --- Elsewhere ---------------------------------------------------------------

# Under another prefix the entry and the units would name another program.
"$CMAKE" -S "$ORDER_SWEEP_SOURCE" --preset deb -B "$work/local" \
    -D CMAKE_INSTALL_PREFIX=/usr/local >"$work/configured" 2>&1
[ ! -e "$work/local/CPackConfig.cmake" ] || fail 'a package of /usr/local'

[ "$failures" = 0 ] || exit 1
rm -rf "$work/build" "$work/local" "$work/root"
echo "package: ok"
