#include "lateness.h"

#define STEP_BITS 5
_Static_assert(OSW_LATENESS_STEPS == 1 << STEP_BITS, "steps are a power of 2");

#define LATEST_MS ((INT64_C(1) << OSW_LATENESS_BITS) - 1)

/* The doublings of OSW_LATENESS_STEPS that lie below a value. */
static int
doublings(int64_t ms)
{
    int count = 0;

    while (ms >> count >= INT64_C(2) * OSW_LATENESS_STEPS) {
        count++;
    }
    return count;
}

/* Each doubling has its steps; the first two have a bucket for each ms. */
static int
bucket_of(int64_t ms)
{
    const int shift = doublings(ms);

    return shift * OSW_LATENESS_STEPS + (int)(ms >> shift);
}

/* The largest value of a bucket. */
static int64_t
end_of(int bucket)
{
    const int shift =
        bucket < 2 * OSW_LATENESS_STEPS ? 0 : bucket / OSW_LATENESS_STEPS - 1;
    const int64_t step = bucket - shift * OSW_LATENESS_STEPS;

    return ((step + 1) << shift) - 1;
}

void
osw_lateness_add(struct osw_lateness *lateness, int64_t late_ms)
{
    int64_t ms = late_ms > 0 ? late_ms : 0;

    if (ms > LATEST_MS) {
        ms = LATEST_MS;
    }
    lateness->count++;
    if (ms > lateness->max_ms) {
        lateness->max_ms = ms;
    }
    lateness->buckets[bucket_of(ms)]++;
}

void
osw_lateness_merge(struct osw_lateness *lateness,
                   const struct osw_lateness *other)
{
    lateness->count += other->count;
    if (other->max_ms > lateness->max_ms) {
        lateness->max_ms = other->max_ms;
    }
    for (int i = 0; i < OSW_LATENESS_BUCKETS; i++) {
        lateness->buckets[i] += other->buckets[i];
    }
}

int64_t
osw_lateness_percentile(const struct osw_lateness *lateness, int percent)
{
    /* The first of the orders that are not more than the others. */
    const int64_t wanted = (lateness->count * percent + 99) / 100;
    int64_t seen = 0;

    for (int i = 0; i < OSW_LATENESS_BUCKETS && wanted > 0; i++) {
        seen += lateness->buckets[i];
        if (seen >= wanted) {
            return end_of(i) < lateness->max_ms ? end_of(i) : lateness->max_ms;
        }
    }
    return lateness->max_ms;
}
