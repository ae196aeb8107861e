#!/bin/sh
# A skipped test counts as failed, unless it was allowed by name.
set -eu

run_test=$ORDER_SWEEP_SOURCE/tests/support/run-test
failed=0
cd "$ORDER_SWEEP_TMP"

# expect STATUS SKIP-LIST TEST-STATUS: what run-test makes of a test a/b.
expect()
{
    status=0
    ORDER_SWEEP_SKIP=$2 "$run_test" a/b script sh -c "exit $3" \
        >out 2>&1 || status=$?
    if [ "$status" != "$1" ]; then
        echo "run-test: status $status instead of $1 for $3, skip list '$2'"
        failed=1
    fi
}

expect 0 '' 0
expect 0 'a/b' 0
expect 3 '' 3
expect 3 'a/b' 3
expect 1 '' 77
expect 1 'a/b2' 77
expect 1 'a' 77
expect 1 'xa/b,a/bx' 77
expect 1 '*' 77
expect 125 'a/b' 77
expect 125 'x,a/b,y' 77
expect 1 '' 125
expect 1 'a/b' 125

# No other way to a test that ctest does not count: the property is set for
# 125 only, and no test in C calls cmocka's skip, which ends with 0.
cd "$ORDER_SWEEP_SOURCE/tests"
if [ "$(grep -cE 'SKIP_(RETURN|REGULAR)' CMakeLists.txt)" != 1 ] ||
    ! grep -q 'SKIP_RETURN_CODE 125' CMakeLists.txt; then
    echo "run-test: CMakeLists.txt skips by something else than 125"
    failed=1
fi
if grep -rnE '(^|[^[:alnum:]_])skip\(\)' --include='*.c' .; then
    echo "run-test: return 77 from main instead of cmocka's skip()"
    failed=1
fi
exit "$failed"
