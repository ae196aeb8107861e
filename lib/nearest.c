#include "nearest.h"

#include <string.h>

/* Names are shorter; a longer text is near to none. */
enum {
    LONGEST = 40
};

#define MOST_WRONG 2

static size_t
least(size_t one, size_t other)
{
    return one < other ? one : other;
}

/* Optimal string alignment, by rows: each is how far the beginnings of known
 * are from one beginning of text. */
static size_t
distance(const char *text,
         size_t length,
         const char *known,
         size_t known_length)
{
    size_t rows[3][LONGEST + 1];
    size_t *before = rows[0];
    size_t *last = rows[1];
    size_t *row = rows[2];

    for (size_t j = 0; j <= known_length; j++) {
        last[j] = j;
    }
    for (size_t i = 1; i <= length; i++) {
        size_t *spare = before;

        row[0] = i;
        for (size_t j = 1; j <= known_length; j++) {
            const size_t wrong = text[i - 1] == known[j - 1] ? 0 : 1;

            row[j] = least(least(last[j], row[j - 1]) + 1, last[j - 1] + wrong);
            if (i > 1 && j > 1 && text[i - 1] == known[j - 2] &&
                text[i - 2] == known[j - 1]) {
                row[j] = least(row[j], before[j - 2] + 1);
            }
        }
        before = last;
        last = row;
        row = spare;
    }
    return last[known_length];
}

void
osw_nearest_try(struct osw_nearest *nearest,
                const char *text,
                size_t length,
                const char *known)
{
    const size_t known_length = strlen(known);
    const size_t most =
        least(strspn(text, "-") < length ? (length - strspn(text, "-")) / 3 : 0,
              MOST_WRONG);
    size_t wrong = 0;

    if (length > LONGEST || known_length > LONGEST) {
        return;
    }
    wrong = distance(text, length, known, known_length);
    if (wrong <= most && (nearest->word == NULL || wrong < nearest->distance)) {
        nearest->word = known;
        nearest->distance = wrong;
    }
}
