#!/bin/sh
# Every C file is formatted as .clang-format says, by clang-format 14.
set -eu

cd "$ORDER_SWEEP_SOURCE"
for program in clang-format-14 clang-format; do
    case $("$program" --version 2>/dev/null || :) in
    *"version 14."*)
        find cmd lib tests -name '*.[ch]' -exec \
            "$program" --dry-run -Werror --style=file {} +
        exit
        ;;
    esac
done
echo "format: no clang-format 14" >&2
exit 77
