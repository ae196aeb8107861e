/* feeder: what a command gets, and what counts as its verdict. */
#include "feeder.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "interrupt.h"
#include "log.h"

static struct osw_error why;
static int64_t took_ms;

/* Feed a text to a shell, which has so many milliseconds. */
static enum osw_fed
feed_for(int64_t limit_ms, const char *script, const char *text)
{
    char sh[] = "sh";
    char option[] = "-c";
    char words[512];
    char *const command[] = {sh, option, words, NULL};
    const int64_t began_ms = osw_clock_now_ms();
    enum osw_fed fed = OSW_FED_BROKEN;

    (void)snprintf(words, sizeof words, "%s", script);
    why = (struct osw_error)OSW_ERROR_INIT;
    fed = osw_feed(command, text, strlen(text), began_ms + limit_ms, &why);
    took_ms = osw_clock_now_ms() - began_ms;
    return fed;
}

static enum osw_fed
feed(const char *script, const char *text)
{
    return feed_for(20000, script, text);
}

static void
a_command_that_reads_all_accepts(void **state)
{
    (void)state;
    assert_int_equal(feed("cat >/dev/null", "a\nb\n"), OSW_FED_ACCEPTED);
    assert_int_equal(feed("read -r a; read -r b; [ \"$a$b\" = ab ]", "a\nb\n"),
                     OSW_FED_ACCEPTED);
    assert_int_equal(feed("cat >/dev/null; exec </dev/null", "a\n"),
                     OSW_FED_ACCEPTED);
}

/* Far more than a pipe holds, to a command that reads late. */
static void
a_long_text_arrives_whole(void **state)
{
    static char text[3000001];

    (void)state;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 2] = '\n';
    assert_int_equal(feed("sleep 0.1; [ $(cat | wc -c) = 3000000 ]", text),
                     OSW_FED_ACCEPTED);
}

static void
a_command_that_fails_refuses(void **state)
{
    (void)state;
    assert_int_equal(feed("cat >/dev/null; exit 3", "a\n"), OSW_FED_REFUSED);
    assert_string_equal(why.message, "sh ended with 3");
    assert_int_equal(
        feed("cat >/dev/null; echo no; echo why >&2; exit 1", "a\n"),
        OSW_FED_REFUSED);
    assert_string_equal(why.message, "sh ended with 1: why");
    assert_int_equal(
        feed("cat >/dev/null; printf unfinished; kill -9 $$", "a\n"),
        OSW_FED_REFUSED);
    assert_string_equal(why.message, "sh was ended by signal 9: unfinished");
}

static void
a_command_that_has_not_read_all_refuses(void **state)
{
    (void)state;
    assert_int_equal(feed("true", "a\n"), OSW_FED_REFUSED);
    assert_string_equal(why.message,
                        "sh ended with 0 before it had read its whole input");
    assert_int_equal(feed("exec <&-", "a\n"), OSW_FED_REFUSED);
    assert_int_equal(feed("read -r line", "a\nb\n"), OSW_FED_REFUSED);
}

static void
there_may_be_no_such_command(void **state)
{
    char name[] = "/no/such/command";
    char *const command[] = {name, NULL};

    (void)state;
    assert_int_equal(
        osw_feed(command, "a\n", 2, osw_clock_now_ms() + 1000, &why),
        OSW_FED_BROKEN);
    assert_int_equal(why.exit, OSW_EXIT_CONFIG);
    assert_string_equal(
        why.message,
        "/no/such/command cannot be run: No such file or directory");
}

/* With all that it has begun, and whether it hears or not. */
static void
a_command_that_hangs_is_ended(void **state)
{
    (void)state;
    assert_int_equal(feed_for(200, "cat >/dev/null; sleep 30; exit 0", "a\n"),
                     OSW_FED_LATE);
    assert_string_equal(why.message, "sh did not end in time");
    assert_in_range(took_ms, 200, 10000);
    assert_int_equal(
        feed_for(200, "trap '' TERM; echo deaf; sleep 30; exit 0", "a\n"),
        OSW_FED_LATE);
    assert_string_equal(why.message, "sh did not end in time: deaf");
    assert_in_range(took_ms, 1200, 20000);
}

/* A process that stays in the background holds nobody up. */
static void
what_it_leaves_behind_is_not_waited_for(void **state)
{
    (void)state;
    assert_int_equal(
        feed("cat >/dev/null; (trap '' HUP; sleep 5) & exit 0", "a\n"),
        OSW_FED_ACCEPTED);
    assert_in_range(took_ms, 0, 4500);
}

static void
it_has_no_signals_blocked_or_ignored(void **state)
{
    (void)state;
    osw_interrupt_ignore_pipe();
    assert_int_equal(
        feed("cat >/dev/null; trap 'exit 7' TERM; kill -TERM $$; exit 0",
             "a\n"),
        OSW_FED_REFUSED);
    assert_string_equal(why.message, "sh ended with 7");
    assert_int_equal(feed("cat >/dev/null; kill -PIPE $$; exit 0", "a\n"),
                     OSW_FED_REFUSED);
    assert_string_equal(why.message, "sh was ended by signal 13");
}

/* The last test: signals are never forgotten.  One is no hurry, two are. */
static void
a_second_signal_ends_it(void **state)
{
    (void)state;
    assert_true(osw_interrupt_install());
    assert_int_equal(raise(SIGTERM), 0);
    assert_int_equal(feed("cat >/dev/null; sleep 0.1", "a\n"),
                     OSW_FED_ACCEPTED);
    assert_int_equal(raise(SIGTERM), 0);
    assert_int_equal(feed("cat >/dev/null; sleep 30", "a\n"), OSW_FED_LATE);
    assert_in_range(took_ms, 0, 10000);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_that_reads_all_accepts),
        cmocka_unit_test(a_long_text_arrives_whole),
        cmocka_unit_test(a_command_that_fails_refuses),
        cmocka_unit_test(a_command_that_has_not_read_all_refuses),
        cmocka_unit_test(there_may_be_no_such_command),
        cmocka_unit_test(a_command_that_hangs_is_ended),
        cmocka_unit_test(what_it_leaves_behind_is_not_waited_for),
        cmocka_unit_test(it_has_no_signals_blocked_or_ignored),
        cmocka_unit_test(a_second_signal_ends_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
