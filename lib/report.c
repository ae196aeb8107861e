#include "report.h"

#include <inttypes.h>
#include <stddef.h>

#include "duration.h"
#include "json.h"

/* indent below 0: a line break is a control character like others. */
static int
write_plain(FILE *out, const char *text, int indent)
{
    int columns = 0;

    while (*text != '\0') {
        const unsigned char c = (unsigned char)*text;
        const size_t control = osw_control_length(text);

        if (c == '\n' && indent >= 0) {
            (void)fprintf(out, "\n%*s", indent, "");
        } else {
            (void)fputc(control > 0 ? '?' : c, out);
            columns += (c & 0xc0) != 0x80 ? 1 : 0;
        }
        text += control > 0 ? control : 1;
    }
    return columns;
}

int
osw_report_plain(FILE *out, const char *text)
{
    return write_plain(out, text, -1);
}

void
osw_report_lines(FILE *out, const char *text, int indent)
{
    (void)write_plain(out, text, indent);
}

static bool
is_known(const struct osw_lateness *lateness)
{
    return lateness != NULL && lateness->count > 0;
}

static void
write_seconds(FILE *out, int64_t ms)
{
    (void)fprintf(out, "%" PRId64 ".%03" PRId64, ms / 1000, ms % 1000);
}

static void
write_json_late(FILE *out,
                const char *name,
                const struct osw_lateness *lateness,
                int percent)
{
    (void)fprintf(out, ",\"%s\":", name);
    if (is_known(lateness)) {
        write_seconds(out, osw_lateness_percentile(lateness, percent));
    } else {
        (void)fputs("null", out);
    }
}

static void
write_json(FILE *out, const struct osw_report *report)
{
    (void)fputs("{\"sweep\":", out);
    osw_json_string(out, report->sweep);
    (void)fprintf(out,
                  ",\"run\":%s,\"stopped\":",
                  report->run_id != NULL ? report->run_id : "null");
    osw_json_string(out, report->stopped);
    (void)fprintf(out, ",\"rest\":%s", report->rest ? "true" : "false");
    for (int i = 0; i < OSW_OUTCOME_COUNT; i++) {
        (void)fprintf(out,
                      ",\"%s\":%" PRId64,
                      osw_outcome_name((enum osw_outcome)i),
                      report->counts[i]);
    }
    write_json_late(out, "late_p50", report->lateness, 50);
    write_json_late(out, "late_p99", report->lateness, 99);
    write_json_late(out, "late_max", report->lateness, 100);
    (void)fputs(",\"seconds\":", out);
    write_seconds(out, report->elapsed_ms);
    (void)fputs(",\"next_deadline\":", out);
    osw_json_string(out, report->next_deadline);
    (void)fprintf(out, ",\"exit\":%d,\"error\":", (int)report->exit);
    osw_json_string(out, report->error);
    (void)fputs("}\n", out);
}

/* Milliseconds matter below a minute only. */
static void
write_late(FILE *out, int64_t ms)
{
    char text[OSW_DURATION_TEXT_SIZE];

    if (ms < 60000) {
        write_seconds(out, ms);
        (void)fputs(" s", out);
        return;
    }
    osw_duration_format(ms - ms % 1000, text, sizeof(text));
    (void)fputs(text, out);
}

static void
write_counts(FILE *out, const struct osw_report *report)
{
    (void)fprintf(out, " %" PRId64 " swept", report->counts[OSW_OUTCOME_SWEPT]);
    for (int i = 0; i < OSW_OUTCOME_COUNT; i++) {
        if (i != OSW_OUTCOME_SWEPT && report->counts[i] > 0) {
            (void)fprintf(out,
                          ", %" PRId64 " %s",
                          report->counts[i],
                          osw_outcome_name((enum osw_outcome)i));
        }
    }
    (void)fputs(" in ", out);
    write_seconds(out, report->elapsed_ms);
    (void)fputs(" s", out);
    if (report->elapsed_ms > 0 && report->counts[OSW_OUTCOME_SWEPT] > 0) {
        (void)fprintf(out,
                      " (%" PRId64 "/s)",
                      report->counts[OSW_OUTCOME_SWEPT] * 1000 /
                          report->elapsed_ms);
    }
    if (is_known(report->lateness)) {
        (void)fputs("; late p50 ", out);
        write_late(out, osw_lateness_percentile(report->lateness, 50));
        (void)fputs(", p99 ", out);
        write_late(out, osw_lateness_percentile(report->lateness, 99));
        (void)fputs(", max ", out);
        write_late(out, report->lateness->max_ms);
    }
}

static void
write_text(FILE *out, const struct osw_report *report)
{
    (void)fprintf(out, "%s:", report->sweep);
    if (report->run_id == NULL) {
        (void)fprintf(out, " %s", report->stopped);
    } else {
        write_counts(out, report);
        (void)fprintf(out, "; %s", report->stopped);
        (void)fputs(report->rest ? ", a rest is left" : "", out);
    }
    if (report->next_deadline != NULL) {
        (void)fprintf(out, "; next deadline %s", report->next_deadline);
    }
    (void)fputc('\n', out);
}

void
osw_report_write(FILE *out,
                 enum osw_report_format format,
                 const struct osw_report *report)
{
    switch (format) {
    case OSW_REPORT_NONE:
        break;
    case OSW_REPORT_TEXT:
        write_text(out, report);
        break;
    case OSW_REPORT_JSON:
        write_json(out, report);
        break;
    }
}
