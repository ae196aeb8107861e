/*
 * fuzz: what the fuzz targets share.
 *
 * A target is LLVMFuzzerTestOneInput: it takes any bytes, gives them to the
 * library and ends the process where a promise of a header does not hold.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "status.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Like assert, in every build. */
#define REQUIRE(condition)                                                     \
    ((condition) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #condition))

_Noreturn void fuzz_fail(const char *file, int line, const char *condition);

#define FUZZ_TEXTS 64

/*
 * The texts that the input consists of, each ended by a NUL or by the end of
 * the input, and each in memory of its own, where a sanitizer sees a byte too
 * many.  There is at least one.
 */
struct fuzz_texts {
    char *text[FUZZ_TEXTS];
    int count;
};

void fuzz_split(const uint8_t *data, size_t size, struct fuzz_texts *texts);
void fuzz_free(struct fuzz_texts *texts);

/* The text at this place, or the last one. */
const char *fuzz_text(const struct fuzz_texts *texts, int place);

/* True if text is UTF-8, as another library sees it. */
bool fuzz_is_utf8(const char *text);

/* True if there is no control character in text, of ASCII or beyond. */
bool fuzz_is_plain(const char *text);

/* A control character at this place: its length, else 0. */
size_t fuzz_control_length(const char *text);

/* Take the first byte of the input as a number; 0 if there is none. */
unsigned fuzz_take(const uint8_t **data, size_t *size);

/* The error says in one line what is wrong and in another how to mend it. */
void fuzz_require_usage_error(const struct osw_error *error);

/* A file that is written to memory; fuzz_page_close has the text, to be freed.
 */
struct fuzz_page {
    FILE *out;
    char *text;
    size_t length;
};

void fuzz_page_open(struct fuzz_page *page);
char *fuzz_page_close(struct fuzz_page *page);

#endif
