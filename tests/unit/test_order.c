/* order: one due row, queues of them, and the key as people read it. */
#include "order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Freed by the teardown, since a failing assertion jumps out of a test. */
struct fixture {
    struct osw_order_queue queue;
    struct osw_order_queue other;
};

static struct fixture fixture;

static int
set_up(void **state)
{
    memset(&fixture, 0, sizeof fixture);
    *state = &fixture;
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    osw_order_clear(&fixture.queue);
    osw_order_clear(&fixture.other);
    return 0;
}

static struct osw_order *
push(struct osw_order_queue *queue, int count, const char *const *values)
{
    struct osw_order *order = osw_order_new(count, values);

    assert_non_null(order);
    osw_order_push(queue, order);
    return order;
}

/* An order with a key of one column, and a clock that is always the same. */
static void
push_key(struct osw_order_queue *queue, const char *key)
{
    const char *const values[] = {"2024-01-01 00:00:00+00", key};

    (void)push(queue, 2, values);
}

static void
assert_keys(const struct osw_order_queue *queue, const char *expected)
{
    char keys[64] = "";
    const struct osw_order *last = NULL;
    int length = 0;

    for (const struct osw_order *order = queue->head; order != NULL;
         order = order->next) {
        assert_true(strlen(keys) + strlen(order->values[1]) < sizeof keys);
        (void)strcat(keys, order->values[1]);
        last = order;
        length++;
    }
    assert_string_equal(keys, expected);
    assert_ptr_equal(queue->tail, last);
    assert_int_equal(queue->length, length);
}

static void
an_order_holds_copies_of_its_values(void **state)
{
    struct fixture *f = *state;
    char clock[] = "1700000000";
    char key[] = "4711";
    const char *const values[] = {clock, key, ""};
    const struct osw_order *order = push(&f->queue, 3, values);

    clock[0] = 'x';
    key[0] = 'x';
    assert_int_equal(order->count, 3);
    assert_string_equal(order->values[0], "1700000000");
    assert_string_equal(order->values[1], "4711");
    assert_string_equal(order->values[2], "");
}

static void
a_missing_value_is_empty(void **state)
{
    struct fixture *f = *state;
    const char *const values[] = {NULL, "1", NULL};
    const struct osw_order *order = push(&f->queue, 3, values);

    assert_string_equal(order->values[0], "");
    assert_string_equal(order->values[1], "1");
    assert_string_equal(order->values[2], "");
}

static void
an_order_may_have_no_values(void **state)
{
    struct fixture *f = *state;
    const char *const values[] = {NULL};

    assert_int_equal(push(&f->queue, 0, values)->count, 0);
}

static void
orders_leave_a_queue_as_they_came(void **state)
{
    struct fixture *f = *state;

    push_key(&f->queue, "a");
    push_key(&f->queue, "b");
    push_key(&f->queue, "c");
    assert_keys(&f->queue, "abc");
    for (const char *key = "abc"; *key != '\0'; key++) {
        struct osw_order *order = osw_order_pop(&f->queue);

        assert_int_equal(order->values[1][0], *key);
        assert_null(order->next);
        free(order);
        assert_keys(&f->queue, key + 1);
    }
    assert_null(osw_order_pop(&f->queue));
}

static void
an_emptied_queue_takes_orders_again(void **state)
{
    struct fixture *f = *state;

    push_key(&f->queue, "a");
    free(osw_order_pop(&f->queue));
    push_key(&f->queue, "b");
    assert_keys(&f->queue, "b");
}

static void
append_moves_all_behind_the_last(void **state)
{
    struct fixture *f = *state;

    push_key(&f->queue, "a");
    push_key(&f->other, "b");
    push_key(&f->other, "c");
    osw_order_append(&f->queue, &f->other);
    assert_keys(&f->queue, "abc");
    assert_keys(&f->other, "");
    push_key(&f->queue, "d");
    assert_keys(&f->queue, "abcd");
}

static void
append_to_an_empty_queue_moves_all(void **state)
{
    struct fixture *f = *state;

    push_key(&f->other, "a");
    osw_order_append(&f->queue, &f->other);
    assert_keys(&f->queue, "a");
    assert_keys(&f->other, "");
}

static void
append_of_an_empty_queue_changes_nothing(void **state)
{
    struct fixture *f = *state;

    osw_order_append(&f->queue, &f->other);
    assert_keys(&f->queue, "");
    push_key(&f->queue, "a");
    osw_order_append(&f->queue, &f->other);
    assert_keys(&f->queue, "a");
}

static void
clear_empties_a_queue(void **state)
{
    struct fixture *f = *state;

    push_key(&f->queue, "a");
    push_key(&f->queue, "b");
    osw_order_clear(&f->queue);
    assert_keys(&f->queue, "");
    osw_order_clear(&f->queue);
    assert_keys(&f->queue, "");
}

static void
orders_are_the_same_by_their_whole_key(void **state)
{
    static const char *const rows[][3] = {
        {"10:00", "7", "x"},
        {"11:00", "7", "x"}, /* another clock */
        {"10:00", "7", "y"},
        {"10:00", "8", "x"},
    };
    struct fixture *f = *state;
    const struct osw_order *order = push(&f->queue, 3, rows[0]);

    assert_true(osw_order_same(order, order));
    assert_true(osw_order_same(order, push(&f->queue, 3, rows[1])));
    assert_false(osw_order_same(order, push(&f->queue, 3, rows[2])));
    assert_false(osw_order_same(order, push(&f->queue, 3, rows[3])));
    assert_false(osw_order_same(order, push(&f->queue, 2, rows[0])));
}

/* values are the clock and up to three key columns. */
struct key_case {
    const char *values[4];
    size_t size;
    const char *text;
};

static void
a_key_is_its_columns_cut_to_what_fits(void **state)
{
    static const struct key_case cases[] = {
        {{"10:00"}, 64, ""},
        {{"10:00", "4711"}, 64, "4711"},
        {{"10:00", ""}, 64, ""},
        {{"10:00", "4711", "eu", "a b"}, 64, "4711, eu, a b"},
        {{"10:00", "123456789"}, 10, "123456789"},
        {{"10:00", "1234567890"}, 10, "123456..."},
        {{"10:00", "1234567", "8"}, 11, "1234567, 8"},
        {{"10:00", "1234567", "8"}, 10, "123456..."},
        {{"10:00", "12345678", "9", "10"}, 10, "123456..."},
        {{"10:00", "1234567890", ""}, 10, "123456..."},
        {{"10:00", "123456789", ""}, 10, "123456..."},
        /* a character of two bytes, and one of three, at the cut */
        {{"10:00",
          "12345\xc3\xbc"
          "7890"},
         10,
         "12345..."},
        {{"10:00",
          "1234\xc3\xbc"
          "7890"},
         10,
         "1234\xc3\xbc..."},
        {{"10:00",
          "1234\xe2\x82\xac"
          "7890"},
         10,
         "1234..."},
        {{"10:00",
          "12345\xe2\x82\xac"
          "890"},
         10,
         "12345..."},
        {{"10:00",
          "123\xe2\x82\xac"
          "7890"},
         10,
         "123\xe2\x82\xac..."},
        {{"10:00", "12345"}, 5, "1..."},
        /* no room for dots */
        {{"10:00", "12345"}, 4, "123"},
        {{"10:00", "12345"}, 1, ""},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[65];
        int count = 0;

        while (count < 4 && cases[i].values[count] != NULL) {
            count++;
        }
        memset(text, '#', sizeof text);
        osw_order_key(
            push(&f->queue, count, cases[i].values), text, cases[i].size);
        assert_string_equal(text, cases[i].text);
        assert_int_equal(text[cases[i].size], '#');
    }
}

int
main(void)
{
#define ORDER_TEST(name)                                                       \
    cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    static const struct CMUnitTest tests[] = {
        ORDER_TEST(an_order_holds_copies_of_its_values),
        ORDER_TEST(a_missing_value_is_empty),
        ORDER_TEST(an_order_may_have_no_values),
        ORDER_TEST(orders_leave_a_queue_as_they_came),
        ORDER_TEST(an_emptied_queue_takes_orders_again),
        ORDER_TEST(append_moves_all_behind_the_last),
        ORDER_TEST(append_to_an_empty_queue_moves_all),
        ORDER_TEST(append_of_an_empty_queue_changes_nothing),
        ORDER_TEST(clear_empties_a_queue),
        ORDER_TEST(orders_are_the_same_by_their_whole_key),
        ORDER_TEST(a_key_is_its_columns_cut_to_what_fits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
