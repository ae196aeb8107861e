#include "clock.h"

#include <limits.h>
#include <time.h>

int64_t
osw_clock_now_ms(void)
{
    struct timespec now = {0, 0};

    /* Cannot fail: Linux has always had this clock. */
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int
osw_clock_left_ms(int64_t deadline_ms)
{
    int64_t now_ms = osw_clock_now_ms();

    if (deadline_ms <= now_ms) {
        return 0;
    }
    /* now_ms is never negative, so the difference cannot overflow. */
    return deadline_ms - now_ms > INT_MAX ? INT_MAX
                                          : (int)(deadline_ms - now_ms);
}

int64_t
osw_clock_until_ms(int64_t wait_ms, int64_t deadline_ms)
{
    int64_t until_ms = osw_clock_now_ms() + wait_ms;

    return until_ms < deadline_ms ? until_ms : deadline_ms;
}
