/*
 * Two and more sessions in named steps: a payer, a sweeper, another sweeper, a
 * writer of stock.  A step that waits is seen to wait before the next one.
 *
 * Where a guard of the cancel function decides, the test is run a second time
 * with that guard taken out of the function, and must then see the harm.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db.h"
#include "shop.h"

#define CANCEL "SELECT order_sweep.cancel_unpaid_cancel(%d, NULL, 0)"
#define IN_BATCH                                                               \
    "SELECT count(*) FROM order_sweep.cancel_unpaid_batch(NULL, NULL, NULL, "  \
    "1000) WHERE k1 = %d"

/* What the tests' sessions are named after. */
struct scene {
    struct osw_test_shop shop;
    struct osw_test_session payer;
    struct osw_test_session sweeper;
    struct osw_test_session other;
    const char *broken; /* what the invariants must find; NULL: nothing */
};

static int
open_scene(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));

    assert_non_null(scene);
    osw_test_shop_open(&scene->shop, "races");
    osw_test_session_open(&scene->payer, &scene->shop);
    osw_test_session_open(&scene->sweeper, &scene->shop);
    osw_test_session_open(&scene->other, &scene->shop);
    *state = scene;
    return 0;
}

static int
close_scene(void **state)
{
    struct scene *scene = *state;
    char *found = NULL;
    int failed = 0;

    osw_test_session_close(&scene->payer);
    osw_test_session_close(&scene->sweeper);
    osw_test_session_close(&scene->other);
    found = osw_test_shop_invariants(&scene->shop);
    if (scene->broken == NULL ? *found != '\0'
                              : strstr(found, scene->broken) == NULL) {
        print_error("invariants: %s\n", found);
        failed = 1;
    }
    free(found);
    osw_test_shop_close(&scene->shop);
    free(scene);
    return failed;
}

#define assert_said(step, expected) assert_string_equal((step), (expected))

/* Take the lock of the order row away, and with it the statement of its own. */
static void
make_one_statement(struct scene *scene, const char *orders)
{
    char lock[256];
    char update[256];
    char one[512];

    (void)snprintf(lock,
                   sizeof(lock),
                   "PERFORM FROM %s o WHERE o.id = $1 FOR UPDATE OF o SKIP "
                   "LOCKED;",
                   orders);
    osw_test_shop_mutate(
        &scene->shop, "cancel_unpaid_cancel", lock, "PERFORM 1;");
    (void)snprintf(update, sizeof(update), "\n     WHERE o.id = $1\n");
    (void)snprintf(one,
                   sizeof(one),
                   "\n     WHERE o.id IN (SELECT o.id FROM %s o WHERE o.id = "
                   "$1 FOR UPDATE OF o SKIP LOCKED)\n",
                   orders);
    osw_test_shop_mutate(&scene->shop, "cancel_unpaid_cancel", update, one);
}

static void
use_weaker_lock(struct scene *scene)
{
    osw_test_shop_mutate(&scene->shop,
                         "cancel_unpaid_cancel",
                         "FOR UPDATE OF o",
                         "FOR NO KEY UPDATE OF o");
}

/* The payer has the order row first. */
static void
test_payer_updates_first(void **state)
{
    struct scene *s = *state;
    int order = osw_test_shop_place(&s->shop, "31 minutes", 1, 2);
    int next = osw_test_shop_place(&s->shop, "31 minutes", 1, 2);
    char *before = NULL;
    char *after = NULL;

    osw_test_step(&s->payer, "BEGIN");
    assert_said(
        osw_test_step(&s->payer, "SELECT shop.pay_order(%d, 20) > 0", order),
        "t");
    before = osw_test_shop_fingerprint(&s->shop);
    assert_said(osw_test_step(&s->sweeper, IN_BATCH, order), "0");
    assert_said(osw_test_step(&s->sweeper, IN_BATCH, next), "1");
    assert_said(osw_test_step(&s->sweeper, CANCEL, order), "locked");
    after = osw_test_shop_fingerprint(&s->shop);
    assert_string_equal(before, after);
    osw_test_step(&s->payer, "COMMIT");
    assert_said(osw_test_step(&s->sweeper, CANCEL, order), "changed");
    assert_said(osw_test_step(&s->sweeper, CANCEL, next), "swept");
    free(before);
    free(after);
}

/* The payer gives up: the order is due as before. */
static void
test_payer_rolls_back(void **state)
{
    struct scene *s = *state;
    int order = osw_test_shop_place(&s->shop, "31 minutes", 1, 2);

    osw_test_step(&s->payer, "BEGIN");
    osw_test_step(&s->payer, "SELECT shop.pay_order(%d, 20)", order);
    assert_said(osw_test_step(&s->sweeper, CANCEL, order), "locked");
    osw_test_step(&s->payer, "ROLLBACK");
    assert_said(osw_test_step(&s->sweeper, IN_BATCH, order), "1");
    assert_said(osw_test_step(&s->sweeper, CANCEL, order), "swept");
}

/*
 * A payment on its way through the foreign key, the order's row not changed;
 * lists whether the batch lists the order while the payment is on its way.
 */
static void
insert_payment(struct scene *s,
               int order,
               const char *lists,
               const char *meanwhile,
               const char *afterwards)
{
    osw_test_step(&s->payer, "BEGIN");
    osw_test_step(&s->payer,
                  "INSERT INTO shop.payment (order_id, amount) VALUES (%d, 1)",
                  order);
    assert_said(osw_test_step(&s->sweeper, IN_BATCH, order), lists);
    assert_said(osw_test_step(&s->sweeper, CANCEL, order), meanwhile);
    osw_test_step(&s->payer, "COMMIT");
    assert_said(osw_test_step(&s->sweeper, CANCEL, order), afterwards);
}

static void
test_payment_in_flight(void **state)
{
    struct scene *s = *state;
    int order = osw_test_shop_place(&s->shop, "31 minutes", 1, 2);

    insert_payment(s, order, "0", "locked", "kept: payment received");
}

/* The weaker lock passes the payment by. */
static void
test_payment_in_flight_mutated(void **state)
{
    struct scene *s = *state;
    int order = osw_test_shop_place(&s->shop, "31 minutes", 1, 2);

    use_weaker_lock(s);
    insert_payment(s, order, "0", "swept", "changed");
    s->broken = "paid order closed";
}

static void
test_payment_in_flight_batch_mutated(void **state)
{
    struct scene *s = *state;
    int order = osw_test_shop_place(&s->shop, "31 minutes", 1, 2);

    osw_test_shop_mutate(&s->shop,
                         "cancel_unpaid_batch",
                         "FOR UPDATE OF o",
                         "FOR NO KEY UPDATE OF o");
    insert_payment(s, order, "1", "locked", "kept: payment received");
}

/* The list of due orders is only a hint. */
static void
test_paid_after_batch(void **state)
{
    struct scene *s = *state;
    int paid = osw_test_shop_place(&s->shop, "31 minutes", 1, 2);
    int sent = osw_test_shop_place(&s->shop, "31 minutes", 1, 2);

    assert_said(osw_test_step(&s->sweeper, IN_BATCH, paid), "1");
    assert_said(osw_test_step(&s->sweeper, IN_BATCH, sent), "1");
    osw_test_step(&s->payer, "SELECT shop.pay_order(%d, 20)", paid);
    osw_test_step(&s->payer,
                  "INSERT INTO shop.payment (order_id, amount) VALUES (%d, 1)",
                  sent);
    assert_said(osw_test_step(&s->sweeper, CANCEL, paid), "changed");
    assert_said(osw_test_step(&s->sweeper, CANCEL, sent),
                "kept: payment received");
}

/*
 * The payment is committed after the statement that locks has begun, and
 * before it has the lock: then a snapshot of that statement does not know the
 * payment.  To stop the sweeper just there, the orders are a view with a gate
 * in it, which waits for a lock once in a transaction.
 */
static void
pay_before_lock(struct scene *s, int order, const char *outcome)
{
    osw_test_step(&s->other, "SELECT pg_advisory_lock(5)");
    osw_test_step_waits(&s->shop, &s->sweeper, CANCEL, order);
    /* paid at the provider's clock: before the sweeper's transaction began */
    assert_said(osw_test_step(&s->payer,
                              "INSERT INTO shop.payment "
                              "(order_id, amount, paid_at) VALUES "
                              "(%d, 1, now() - interval '1 minute') "
                              "RETURNING 'paid'",
                              order),
                "paid");
    osw_test_step(&s->other, "SELECT pg_advisory_unlock(5)");
    assert_said(osw_test_step_ends(&s->sweeper), outcome);
}

static void
make_gate(struct scene *s)
{
    osw_test_db_exec(
        s->shop.conn,
        "CREATE FUNCTION shop.gate() RETURNS boolean LANGUAGE plpgsql "
        "SET lock_timeout = 0 AS "
        "'BEGIN PERFORM pg_advisory_xact_lock_shared(5); RETURN true; END'");
}

static void
put_gate(struct scene *s)
{
    make_gate(s);
    osw_test_db_exec(s->shop.conn,
                     "CREATE VIEW shop.gated AS SELECT * FROM shop.orders "
                     "WHERE shop.gate();"
                     "UPDATE order_sweep.sweep SET orders = 'shop.gated';"
                     "SELECT order_sweep.regenerate();"
                     /* the invariants look for sweeps of this table */
                     "UPDATE order_sweep.sweep SET orders = 'shop.orders'");
}

static void
test_payment_between_lock_and_look(void **state)
{
    struct scene *s = *state;
    int order = osw_test_shop_place(&s->shop, "31 minutes", 1, 2);

    put_gate(s);
    pay_before_lock(s, order, "kept: payment received");
}

static void
test_payment_between_lock_and_look_mutated(void **state)
{
    struct scene *s = *state;
    int order = osw_test_shop_place(&s->shop, "31 minutes", 1, 2);

    put_gate(s);
    make_one_statement(s, "shop.gated");
    pay_before_lock(s, order, "swept");
    s->broken = "paid order closed";
}

/* An update with all guards and no lock before it does not see it either. */
static void
test_payment_between_no_lock_and_look(void **state)
{
    struct scene *s = *state;
    int order = osw_test_shop_place(&s->shop, "31 minutes", 1, 2);

    put_gate(s);
    osw_test_shop_mutate(&s->shop,
                         "cancel_unpaid_cancel",
                         "PERFORM FROM shop.gated o WHERE o.id = $1 FOR UPDATE "
                         "OF o SKIP LOCKED;",
                         "PERFORM 1;");
    pay_before_lock(s, order, "swept");
    s->broken = "paid order closed";
}

/* The payer comes second: he waits, and then the shop's half refuses him. */
static void
test_sweeper_first(void **state)
{
    struct scene *s = *state;
    int order = osw_test_shop_place(&s->shop, "31 minutes", 1, 2);

    osw_test_step(&s->sweeper, "BEGIN");
    assert_said(osw_test_step(&s->sweeper, CANCEL, order), "swept");
    osw_test_step_waits(
        &s->shop, &s->payer, "SELECT shop.pay_order(%d, 20)", order);
    osw_test_step(&s->sweeper, "COMMIT");
    assert_said(osw_test_step_ends(&s->payer), "P0001");
}

static void
test_two_sweepers(void **state)
{
    struct scene *s = *state;
    int order = osw_test_shop_place(&s->shop, "31 minutes", 1, 2);

    osw_test_step(&s->sweeper, "BEGIN");
    assert_said(osw_test_step(&s->sweeper, CANCEL, order), "swept");
    assert_said(osw_test_step(&s->other, IN_BATCH, order), "0");
    assert_said(osw_test_step(&s->other, CANCEL, order), "locked");
    osw_test_step(&s->sweeper, "ROLLBACK");
    assert_said(osw_test_step(&s->other, CANCEL, order), "swept");
    assert_said(osw_test_step(&s->sweeper, CANCEL, order), "changed");
    assert_said(
        osw_test_step(&s->sweeper, "SELECT count(*) FROM order_sweep.journal"),
        "1");
}

/* The row goes while somebody holds it. */
static void
test_deleted(void **state)
{
    struct scene *s = *state;

    osw_test_step(&s->payer,
                  "INSERT INTO shop.orders (id, buyer_id, created) "
                  "VALUES (900, 900, 0)");
    osw_test_step(&s->payer, "BEGIN");
    osw_test_step(&s->payer, "DELETE FROM shop.orders WHERE id = 900");
    assert_said(osw_test_step(&s->sweeper, CANCEL, 900), "locked");
    osw_test_step(&s->payer, "COMMIT");
    assert_said(osw_test_step(&s->sweeper, CANCEL, 900), "gone");
}

/*
 * Stock held by a writer of the shop: the order waits for it no longer than
 * lock_timeout, fails whole, and is swept once the stock is free.
 */
static void
test_stock_is_held(void **state)
{
    struct scene *s = *state;
    int order = osw_test_shop_place(&s->shop, "31 minutes", 1, 2);
    char *before = osw_test_shop_fingerprint(&s->shop);
    char *after = NULL;

    osw_test_step(&s->other, "BEGIN");
    osw_test_step(&s->other, "SELECT FROM shop.goods WHERE id = 2 FOR UPDATE");
    assert_said(osw_test_step(&s->sweeper, CANCEL, order), "55P03");
    after = osw_test_shop_fingerprint(&s->shop);
    assert_string_equal(before, after);
    osw_test_step(&s->other, "COMMIT");
    assert_said(osw_test_step(&s->sweeper, CANCEL, order), "swept");
    free(before);
    free(after);
}

/*
 * A definition that takes goods 1 before goods 2, with a gate between, and a
 * writer of the shop who takes them the other way round.
 */
static void
take_goods_one_by_one(struct scene *s)
{
    make_gate(s);
    osw_test_db_exec(
        s->shop.conn,
        "UPDATE order_sweep.sweep SET each = ARRAY["
        "'UPDATE shop.goods SET stock = stock + 1 WHERE id = 1',"
        "'SELECT shop.gate()',"
        "'UPDATE shop.goods SET stock = stock + 1 WHERE id = 2'] || each[3:],"
        "each_rows = '{f,t,f}'::boolean[] || each_rows[3:];"
        "SELECT order_sweep.regenerate()");
}

static void
test_deadlock(void **state)
{
    struct scene *s = *state;
    int order = osw_test_shop_place(&s->shop, "31 minutes", 1, 2);
    char *before = NULL;
    char *after = NULL;

    take_goods_one_by_one(s);
    before = osw_test_shop_fingerprint(&s->shop);
    /* The sweeper's wait closes the circle, so the sweeper finds it. */
    osw_test_step(&s->sweeper, "SET deadlock_timeout = '1ms'");
    osw_test_step(&s->payer, "SET deadlock_timeout = '1h'");
    osw_test_step(&s->other, "SELECT pg_advisory_lock(5)");
    osw_test_step_waits(&s->shop, &s->sweeper, CANCEL, order);
    osw_test_step(&s->payer, "BEGIN");
    osw_test_step(&s->payer, "SELECT FROM shop.goods WHERE id = 2 FOR UPDATE");
    osw_test_step_waits(&s->shop,
                        &s->payer,
                        "SELECT id FROM shop.goods WHERE id = 1 FOR UPDATE");
    osw_test_step(&s->other, "SELECT pg_advisory_unlock(5)");
    assert_said(osw_test_step_ends(&s->sweeper), "40P01");
    assert_said(osw_test_step_ends(&s->payer), "1");
    osw_test_step(&s->payer, "ROLLBACK");
    after = osw_test_shop_fingerprint(&s->shop);
    assert_string_equal(before, after);
    assert_said(osw_test_step(&s->sweeper, CANCEL, order), "swept");
    free(before);
    free(after);
}

/* The same through the program: no attempt, a later try, and no alarm. */
static void
test_deadlock_in_program(void **state)
{
    struct scene *s = *state;
    int order = osw_test_shop_place(&s->shop, "31 minutes", 1, 2);
    char booked[64];
    pid_t program = 0;

    take_goods_one_by_one(s);
    osw_test_step(&s->payer, "SET deadlock_timeout = '1h'");
    osw_test_step(&s->other, "SELECT pg_advisory_lock(5)");
    setenv("PGOPTIONS", "-c deadlock_timeout=1ms", 1);
    program = osw_test_program(&s->shop, (char *)NULL);
    unsetenv("PGOPTIONS");
    osw_test_shop_await(&s->shop,
                        "SELECT EXISTS (SELECT FROM pg_stat_activity "
                        "WHERE application_name LIKE 'order-sweep%' "
                        "AND wait_event_type = 'Lock')");
    osw_test_step(&s->payer, "BEGIN");
    osw_test_step(&s->payer, "SELECT FROM shop.goods WHERE id = 2 FOR UPDATE");
    osw_test_step_waits(&s->shop,
                        &s->payer,
                        "SELECT id FROM shop.goods WHERE id = 1 FOR UPDATE");
    osw_test_step(&s->other, "SELECT pg_advisory_unlock(5)");
    assert_said(osw_test_step_ends(&s->payer), "1");
    osw_test_step(&s->payer, "ROLLBACK");
    assert_int_equal(osw_test_program_ends(program), 0);
    (void)snprintf(booked, sizeof(booked), "[%d] 0 1 40P01", order);
    assert_said(osw_test_step(&s->other,
                              "SELECT format('%%s %%s %%s %%s', order_key, "
                              "attempts, postponed, sqlstate) "
                              "FROM order_sweep.failure"),
                booked);
    assert_said(osw_test_step(&s->other,
                              "SELECT format('%%s %%s %%s %%s %%s', swept, "
                              "locked, failed, unknown, stopped) "
                              "FROM order_sweep.run"),
                "0 1 0 0 done");
}

#define scene_test(f)                                                          \
    cmocka_unit_test_setup_teardown(f, open_scene, close_scene)

/* With an argument, only the tests whose names match it. */
int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        scene_test(test_payer_updates_first),
        scene_test(test_payer_rolls_back),
        scene_test(test_payment_in_flight),
        scene_test(test_payment_in_flight_mutated),
        scene_test(test_payment_in_flight_batch_mutated),
        scene_test(test_paid_after_batch),
        scene_test(test_payment_between_lock_and_look),
        scene_test(test_payment_between_lock_and_look_mutated),
        scene_test(test_payment_between_no_lock_and_look),
        scene_test(test_sweeper_first),
        scene_test(test_two_sweepers),
        scene_test(test_deleted),
        scene_test(test_stock_is_held),
        scene_test(test_deadlock),
        scene_test(test_deadlock_in_program),
    };

    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
