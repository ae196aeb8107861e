#!/bin/sh
# The modules of lib/ include each other as the table in lib/README.md says,
# and only downward.  A row is "| module | layer | may include | ...", the
# third column names modules or is "-".
set -eu

cd "$ORDER_SWEEP_SOURCE"

# "module layer allowed allowed ..." a line.
sed -n 's/^| `\([a-z0-9_]*\)` | \([0-9]*\) | \([a-z0-9_, -]*\) |.*/\1 \2 \3/p' \
    lib/README.md | sed 's/,/ /g; s/ - *$//' >"$ORDER_SWEEP_TMP/table"

# "module included" a line, from the files.  sql_text is made at build time.
{
    echo "sql_text"
    for file in lib/*.c lib/*.h; do
        module=$(basename "$file" | sed 's/\.[ch]$//')
        echo "$module"
        sed -n "s/^ *# *include *\"\(.*\)\.h\".*/$module \1/p" "$file"
    done
} | sort -u >"$ORDER_SWEEP_TMP/edges"

awk '
    FNR == NR {
        layer[$1] = $2
        for (i = 3; i <= NF; i++) {
            allowed[$1, $i] = 1
            pairs[++count] = $1 " " $i
        }
        next
    }
    NF == 1 {
        present[$1] = 1
        if (!($1 in layer)) {
            bad("lib/" $1 " has no row in the table of lib/README.md")
        }
    }
    NF == 2 && $1 != $2 && !(($1, $2) in allowed) {
        bad("lib/" $1 " includes \"" $2 ".h\", which its row in " \
            "lib/README.md does not allow")
    }
    function bad(message) {
        print "layers: " message
        failed = 1
    }
    END {
        for (module in layer) {
            if (!(module in present)) {
                bad("lib/README.md has a row for " module ", lib/ has not")
            }
        }
        for (i = 1; i <= count; i++) {
            split(pairs[i], pair, " ")
            if (!(pair[2] in layer)) {
                bad("the row of " pair[1] " allows " pair[2] \
                    ", which has no row")
            } else if (layer[pair[2]] >= layer[pair[1]]) {
                bad("the row of " pair[1] " allows " pair[2] \
                    ", which is not in a lower layer")
            }
        }
        exit failed
    }
' "$ORDER_SWEEP_TMP/table" "$ORDER_SWEEP_TMP/edges"
