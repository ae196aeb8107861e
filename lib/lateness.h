/*
 * lateness: how late the orders of a run were swept, from deadline to commit.
 *
 * Counted in buckets, each at most a 32nd wide: however many orders, as much
 * memory.
 */
#ifndef OSW_LATENESS_H
#define OSW_LATENESS_H

#include <stdint.h>

/* 2^OSW_LATENESS_BITS ms are 34 years; what is later counts as so late. */
#define OSW_LATENESS_BITS    40
#define OSW_LATENESS_STEPS   32 /* buckets for each doubling; 2^5 */
#define OSW_LATENESS_BUCKETS ((OSW_LATENESS_BITS - 4) * OSW_LATENESS_STEPS)

/* All zero: nothing counted. */
struct osw_lateness {
    int64_t count;
    int64_t max_ms;
    uint32_t buckets[OSW_LATENESS_BUCKETS];
};

/* Count an order that was so late; one that was early, by a clock that is not
 * the database's, as punctual. */
void osw_lateness_add(struct osw_lateness *lateness, int64_t late_ms);

/* Count what other has counted. */
void osw_lateness_merge(struct osw_lateness *lateness,
                        const struct osw_lateness *other);

/*
 * So late at most were percent of 100 orders: in ms, exact to a 32nd, and never
 * less than was.  0 if none was counted.
 */
int64_t osw_lateness_percentile(const struct osw_lateness *lateness,
                                int percent);

#endif
