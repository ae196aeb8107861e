#!/bin/sh
# sql/embed.cmake keeps every byte, whatever a file holds, and refuses what it
# cannot carry.
set -eu

fail()
{
    echo "embed: $*" >&2
    exit 1
}

cd "$ORDER_SWEEP_TMP"
mkdir -p sql/migrations sql/functions sql/statements out

# What CMake's lists, C's literals and the shell like to mangle.
printf '%s' 'SELECT 1' >sql/statements/plain.sql
printf '%s\n' '-- a comment' "SELECT ';', '[', ']', '[[', ']=]', '\\', '\"';" \
    '${variable} $ENV{HOME} @at@ $$ $1 %s %n ??/ ??> /* */ // \' \
    'trailing backslash \' 'two \\' '#define x "' >sql/statements/hostile.sql
printf 'caf\303\251 \342\202\254 \377\376 \001 \177 tab\t cr\r\nend\n\n\n' \
    >sql/statements/bytes.sql
: >sql/statements/empty.sql
printf '\n' >sql/statements/newline.sql
printf ';' >sql/statements/semicolon.sql
printf '%s\n' 'a;b;;c;' '[a;b' 'c]d' '\;' >sql/functions/20_lists.sql
printf 'first' >sql/functions/10_first.sql
# More than 64 KiB, in long and short lines.
awk 'BEGIN {
    for (i = 0; i < 3000; i++) {
        printf "%s", "-- [;] \"\\ " i ((i % 7) ? "\n" : " ")
    }
    while (j++ < 50000) {
        printf "%s", "x"
    }
}' >sql/migrations/0001_long.sql
[ "$(wc -c <sql/migrations/0001_long.sql)" -gt 65536 ] || fail "long is short"
printf 'second' >sql/migrations/0002_second.sql

embed()
{
    "$CMAKE" -D "SQL_DIR=$PWD/sql" -D "OUT_DIR=$PWD/out" \
        -P "$ORDER_SWEEP_SQL/embed.cmake" >log 2>&1
}

embed || fail "$(cat log)"

cat >dump.c <<'END'
#include <stdio.h>
#include <string.h>

#include "sql_text.h"

/* Write each text into out/KIND_NAME. */
static int
dump(const char *kind, const struct osw_sql_file *files, unsigned count)
{
    char path[256];
    unsigned i;

    for (i = 0; i < count; i++) {
        FILE *out;

        snprintf(path, sizeof(path), "out/%s_%s", kind, files[i].name);
        out = fopen(path, "w");
        if (out == NULL || fputs(files[i].text, out) < 0 || fclose(out) != 0) {
            return 1;
        }
        puts(path);
    }
    return files[count].name != NULL || files[count].text != NULL;
}

int
main(void)
{
    return dump("migrations", osw_sql_migrations, osw_sql_migrations_count) ||
           dump("functions", osw_sql_functions, osw_sql_functions_count) ||
           dump("statements", osw_sql_statements, osw_sql_statements_count) ||
           strcmp(osw_sql_plain, "SELECT 1") != 0;
}
END
"$CC" -std=c11 -Wall -Wextra -Wpedantic -Wconversion -Werror -Iout \
    -o dump dump.c out/sql_text.c || fail "does not compile"
./dump >names || fail "the tables are wrong"

count=0
for file in sql/*/*.sql; do
    kind=$(basename "$(dirname "$file")")
    stem=$(basename "$file" .sql)
    cmp "$file" "out/${kind}_$stem" || fail "$file changed on the way"
    count=$((count + 1))
done
[ "$count" = "$(wc -l <names)" ] || fail "$count files, but: $(cat names)"
[ "$(sed -n 3p names)" = out/functions_10_first ] || fail "not in order"

# Refused, each with the file's name.
refused()
{
    if embed; then
        fail "took $1"
    fi
    grep -q "$1" log || fail "does not name $1: $(cat log)"
    rm "sql/$1"
}
printf 'a\000b' >sql/statements/zero.sql
refused statements/zero.sql
printf 'x' >sql/statements/no-name.sql
refused statements/no-name.sql
printf 'x' >sql/migrations/0002_twice.sql
refused migrations/0002_twice.sql
printf 'x' >sql/migrations/3_short.sql
refused migrations/3_short.sql

# Empty folders are no error.
rm -r sql out
mkdir sql out
embed || fail "$(cat log)"
"$CC" -std=c11 -Wall -Wextra -Wpedantic -Werror -Iout -c -o empty.o \
    out/sql_text.c || fail "empty tables do not compile"
