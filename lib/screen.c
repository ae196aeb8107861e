#include "screen.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

/* Narrower than this nothing can be made to fit. */
#define LEAST_COLUMNS 40

void
osw_screen_init(struct osw_screen *screen, FILE *out, int fd)
{
    const char *term = getenv("TERM");
    const char *no_color = getenv("NO_COLOR");
    struct winsize size = {.ws_col = 0};

    screen->out = out;
    screen->columns = 0;
    screen->colours = false;
    if (isatty(fd) != 1) {
        return;
    }
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        screen->columns =
            size.ws_col < LEAST_COLUMNS ? LEAST_COLUMNS : size.ws_col;
    }
    screen->colours = term != NULL && strcmp(term, "dumb") != 0 &&
                      (no_color == NULL || no_color[0] == '\0');
}

/* The character at text: its length in bytes, at least 1, and its columns. */
static size_t
next(const char *text, int *columns)
{
    static locale_t utf8;
    locale_t before = (locale_t)0;
    wchar_t character = L'\0';
    mbstate_t state;
    size_t length = 0;

    *columns = 1;
    if ((unsigned char)text[0] < 0x80) {
        return 1;
    }
    /* What the server sends is UTF-8, whatever the locale of the terminal. */
    if (utf8 == (locale_t)0) {
        utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
        if (utf8 == (locale_t)0) {
            return 1;
        }
    }
    (void)memset(&state, 0, sizeof(state));
    before = uselocale(utf8);
    length = mbrtowc(&character, text, strlen(text), &state);
    if (length == 0 || length > strlen(text)) {
        length = 1; /* no UTF-8 */
    } else {
        const int width = wcwidth(character);

        *columns = width >= 0 ? width : 1;
    }
    (void)uselocale(before);
    return length;
}

/* How many bytes of text fit into so many columns; *taken gets those used. */
static size_t
fitting(const char *text, size_t length, int columns, int *taken)
{
    size_t at = 0;

    *taken = 0;
    while (at < length) {
        int width = 0;
        const size_t bytes = next(text + at, &width);

        if (*taken + width > columns) {
            break;
        }
        *taken += width;
        at += bytes;
    }
    return at;
}

static int
width_of(const char *text, size_t length)
{
    int width = 0;

    for (size_t at = 0; at < length;) {
        int columns = 0;

        at += next(text + at, &columns);
        width += columns;
    }
    return width;
}

int
osw_screen_width(const char *text)
{
    return width_of(text, strlen(text));
}

static void
set_colour(const struct osw_screen *screen, enum osw_colour colour)
{
    static const char *const codes[] = {
        "\033[0m", "\033[1m", "\033[33m", "\033[31m"};

    if (screen->colours) {
        (void)fputs(codes[colour], screen->out);
    }
}

static void
begin_colour(const struct osw_screen *screen, enum osw_colour colour)
{
    if (colour != OSW_PLAIN) {
        set_colour(screen, colour);
    }
}

static void
end_colour(const struct osw_screen *screen, enum osw_colour colour)
{
    if (colour != OSW_PLAIN) {
        set_colour(screen, OSW_PLAIN);
    }
}

void
osw_screen_write(const struct osw_screen *screen,
                 enum osw_colour colour,
                 const char *text)
{
    begin_colour(screen, colour);
    (void)fputs(text, screen->out);
    end_colour(screen, colour);
}

void
osw_screen_cell(const struct osw_screen *screen,
                int width,
                bool last,
                const char *text)
{
    const size_t length = strlen(text);
    int taken = 0;

    if (width_of(text, length) > width) {
        (void)fwrite(
            text, 1, fitting(text, length, width - 3, &taken), screen->out);
        (void)fputs("...", screen->out);
        taken += 3;
    } else {
        (void)fputs(text, screen->out);
        taken = width_of(text, length);
    }
    if (!last) {
        (void)fprintf(screen->out, "%*s", width - taken, "");
    }
}

/* A text that goes on in the next line under its column. */
struct wrapped {
    const struct osw_screen *screen;
    int indent;
    int left; /* columns left in this line */
};

static void
break_line(struct wrapped *wrapped)
{
    (void)fprintf(wrapped->screen->out, "\n%*s", wrapped->indent, "");
    wrapped->left = wrapped->screen->columns - wrapped->indent;
}

/* A word, which may be longer than a line. */
static void
write_word(struct wrapped *wrapped, const char *word, size_t length)
{
    for (;;) {
        int taken = 0;
        const size_t bytes = fitting(word, length, wrapped->left, &taken);

        (void)fwrite(word, 1, bytes, wrapped->screen->out);
        wrapped->left -= taken;
        word += bytes;
        length -= bytes;
        if (length == 0) {
            return;
        }
        break_line(wrapped);
    }
}

/* Write text at column at; what is beyond the width is indented. */
static void
wrap(const struct osw_screen *screen, int at, int indent, const char *text)
{
    struct wrapped wrapped = {screen, indent, screen->columns - at};
    bool first = true;

    if (screen->columns == 0) {
        (void)fputs(text, screen->out);
        return;
    }
    for (text += strspn(text, " "); *text != '\0'; text += strspn(text, " ")) {
        const size_t length = strcspn(text, " ");

        if (!first && width_of(text, length) + 1 > wrapped.left) {
            break_line(&wrapped);
        } else if (!first) {
            (void)fputc(' ', screen->out);
            wrapped.left--;
        }
        write_word(&wrapped, text, length);
        text += length;
        first = false;
    }
}

void
osw_screen_field(const struct osw_screen *screen,
                 enum osw_colour colour,
                 const char *label,
                 const char *text)
{
    (void)fprintf(screen->out, "  %-*s", OSW_SCREEN_LABEL - 2, label);
    begin_colour(screen, colour);
    wrap(screen, OSW_SCREEN_LABEL, OSW_SCREEN_LABEL, text);
    end_colour(screen, colour);
    (void)fputc('\n', screen->out);
}

void
osw_screen_line(const struct osw_screen *screen, const char *text)
{
    (void)fputs("  ", screen->out);
    wrap(screen, 2, 4, text);
    (void)fputc('\n', screen->out);
}
