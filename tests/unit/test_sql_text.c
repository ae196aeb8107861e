/*
 * The embedded SQL is the files' own text, and no file is missing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql_text.h"

/* How many SQL files a folder holds. */
static unsigned
count_files(const char *folder)
{
    DIR *dir = opendir(folder);
    struct dirent *entry = NULL;
    unsigned count = 0;

    if (dir == NULL) {
        return 0;
    }
    while ((entry = readdir(dir)) != NULL) {
        const char *end = strrchr(entry->d_name, '.');

        if (end != NULL && end != entry->d_name && strcmp(end, ".sql") == 0) {
            count++;
        }
    }
    closedir(dir);
    return count;
}

/* Compare a table with the folder it was made from. */
static void
check(const char *kind, const struct osw_sql_file *files, unsigned count)
{
    const char *sql = getenv("ORDER_SWEEP_SQL");
    char path[4096];
    unsigned i = 0;

    assert_non_null(sql);
    snprintf(path, sizeof(path), "%s/%s", sql, kind);
    assert_int_equal(count_files(path), count);
    for (i = 0; i < count; i++) {
        FILE *file = NULL;
        char *text = NULL;
        size_t length = strlen(files[i].text);

        if (i > 0) {
            assert_true(strcmp(files[i - 1].name, files[i].name) < 0);
        }
        snprintf(path, sizeof(path), "%s/%s/%s.sql", sql, kind, files[i].name);
        file = fopen(path, "r");
        assert_non_null(file);
        text = malloc(length + 2);
        assert_non_null(text);
        /* One byte more than expected, to see that there is none. */
        assert_int_equal(fread(text, 1, length + 1, file), length);
        assert_memory_equal(text, files[i].text, length);
        free(text);
        fclose(file);
    }
    assert_null(files[count].name);
}

static void
test_migrations(void **state)
{
    (void)state;
    check("migrations", osw_sql_migrations, osw_sql_migrations_count);
}

static void
test_functions(void **state)
{
    (void)state;
    check("functions", osw_sql_functions, osw_sql_functions_count);
}

static void
test_statements(void **state)
{
    (void)state;
    check("statements", osw_sql_statements, osw_sql_statements_count);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_migrations),
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_statements),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
