#!/bin/sh
# The newest numbered entry of the changelog is the project's version.
set -eu

newest=$(sed -n 's/^## \([0-9][0-9.]*\).*/\1/p' \
    "$ORDER_SWEEP_SOURCE/CHANGELOG.md" | head -n 1)
if [ "$newest" != "$ORDER_SWEEP_VERSION" ]; then
    echo "version: CHANGELOG.md says '$newest'," \
        "CMakeLists.txt '$ORDER_SWEEP_VERSION'" >&2
    exit 1
fi
