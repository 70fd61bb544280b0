/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stats.h"

#include <string.h>

#include "apps/common/json.h"
#include "apps/common/terminal.h"

/* Limit on frames between the filter's input and the output, and on those that wait before it. */
#define MAX_IN_FLIGHT 256

/* Histogram of the latencies of a whole run. */
#define BIN  (GST_MSECOND / 4)
#define BINS 40000

typedef struct {
  GstClockTime pts, captured, entered;
  gboolean fresh;
  gboolean under_way; /* between the filter's input and the output */
} Frame;

typedef struct {
  guint64 received, dropped, sent;
  gint64 time; /* of this count, in us */
} Counts;

struct _RelayStats {
  GMutex lock;
  Counts now, last, start;
  guint reconnections;
  Frame frames[MAX_IN_FLIGHT]; /* a ring buffer, see add() */
  guint next;
  GstClockTime last_sent; /* PTS */
  GArray *latencies;      /* GstClockTime, since the last report */
  GstClockTime filter_sum;
  guint filter_count;
  guint32 histogram[BINS];
  guint64 histogram_count;
  GstClockTime worst;
  GstVideoInfo info;
};

RelayStats *relay_stats_new(void)
{
  RelayStats *stats = g_new0(RelayStats, 1);

  g_mutex_init(&stats->lock);
  stats->latencies = g_array_new(FALSE, FALSE, sizeof(GstClockTime));
  stats->last_sent = GST_CLOCK_TIME_NONE;
  stats->start.time = stats->last.time = g_get_monotonic_time();
  for (guint i = 0; i < MAX_IN_FLIGHT; i++)
    stats->frames[i].pts = GST_CLOCK_TIME_NONE;
  return stats;
}

void relay_stats_free(RelayStats *stats)
{
  g_array_unref(stats->latencies);
  g_mutex_clear(&stats->lock);
  g_free(stats);
}

/* Keeps those that are under way: while the filter works on one, more may come than there is room
 * for, which are dropped. */
static void add(RelayStats *stats, Frame frame)
{
  for (guint i = 0; i < MAX_IN_FLIGHT && stats->frames[stats->next].under_way; i++)
    stats->next = (stats->next + 1) % MAX_IN_FLIGHT;
  stats->frames[stats->next] = frame;
  stats->next = (stats->next + 1) % MAX_IN_FLIGHT;
}

static Frame *find(RelayStats *stats, GstClockTime pts)
{
  for (guint i = 0; i < MAX_IN_FLIGHT; i++) {
    if (stats->frames[i].pts == pts)
      return &stats->frames[i];
  }
  return NULL;
}

void relay_stats_received(RelayStats *stats, GstClockTime pts, GstClockTime captured)
{
  g_mutex_lock(&stats->lock);
  stats->now.received++;
  add(stats, (Frame){pts, captured, GST_CLOCK_TIME_NONE, TRUE, FALSE});
  g_mutex_unlock(&stats->lock);
}

void relay_stats_dropped(RelayStats *stats, guint count)
{
  g_mutex_lock(&stats->lock);
  stats->now.dropped += count;
  g_mutex_unlock(&stats->lock);
}

void relay_stats_entered(RelayStats *stats, GstClockTime pts, GstClockTime now)
{
  Frame *frame;

  g_mutex_lock(&stats->lock);
  frame = find(stats, pts);
  if (frame) {
    frame->entered = now;
    frame->under_way = TRUE;
  }
  g_mutex_unlock(&stats->lock);
}

void relay_stats_filtered(RelayStats *stats, GstClockTime pts, GstClockTime now)
{
  const Frame *frame;

  g_mutex_lock(&stats->lock);
  frame = find(stats, pts);
  if (frame && now >= frame->entered) {
    stats->filter_sum += now - frame->entered;
    stats->filter_count++;
  }
  g_mutex_unlock(&stats->lock);
}

void relay_stats_renamed(RelayStats *stats, GstClockTime pts, GstClockTime sent_as, gboolean fresh)
{
  Frame *frame;

  g_mutex_lock(&stats->lock);
  frame = find(stats, pts);
  if (frame) {
    const Frame renamed = {sent_as, frame->captured, frame->entered, fresh, frame->under_way};

    frame->under_way = FALSE;
    add(stats, renamed);
  }
  g_mutex_unlock(&stats->lock);
}

static void add_latency(RelayStats *stats, GstClockTime latency)
{
  g_array_append_val(stats->latencies, latency);
  stats->histogram[MIN(latency / BIN, BINS - 1)]++;
  stats->histogram_count++;
  stats->worst = MAX(stats->worst, latency);
}

void relay_stats_sent(RelayStats *stats, GstClockTime pts, GstClockTime now)
{
  Frame *frame;

  g_mutex_lock(&stats->lock);
  if (pts != stats->last_sent) {
    stats->last_sent = pts;
    stats->now.sent++;
    frame = find(stats, pts);
    if (frame)
      frame->under_way = FALSE;
    if (frame && frame->fresh && now >= frame->captured)
      add_latency(stats, now - frame->captured);
  }
  g_mutex_unlock(&stats->lock);
}

void relay_stats_reconnected(RelayStats *stats)
{
  g_mutex_lock(&stats->lock);
  stats->reconnections++;
  g_mutex_unlock(&stats->lock);
}

void relay_stats_format(RelayStats *stats, const GstVideoInfo *info)
{
  g_mutex_lock(&stats->lock);
  stats->info = *info;
  g_mutex_unlock(&stats->lock);
}

guint64 relay_stats_frames(RelayStats *stats)
{
  guint64 frames;

  g_mutex_lock(&stats->lock);
  frames = stats->now.received;
  g_mutex_unlock(&stats->lock);
  return frames;
}

static gint compare_times(gconstpointer a, gconstpointer b)
{
  const GstClockTime *left = a, *right = b;

  return *left < *right ? -1 : *left > *right;
}

/* A report. Times in ms, negative if not measured. */
typedef struct {
  gdouble in_fps, out_fps, filter, p50, p95, worst;
  guint64 dropped, frames_in, frames_out, frames_dropped;
  guint reconnections;
  gint width, height;
  const gchar *format;
} Report;

static gdouble in_ms(GstClockTime time)
{
  return time / (gdouble)GST_MSECOND;
}

static void measure_rates(Report *report, const Counts *from, const Counts *to)
{
  const gdouble seconds = MAX(to->time - from->time, 1) / (gdouble)G_USEC_PER_SEC;

  report->in_fps = (to->received - from->received) / seconds;
  report->out_fps = (to->sent - from->sent) / seconds;
  report->dropped = to->dropped - from->dropped;
}

/* Collects and clears what was measured since the last report; with the lock held. */
static Report collect_report(RelayStats *stats)
{
  Report report = {.filter = -1, .p50 = -1, .p95 = -1, .worst = -1};
  GArray *latencies = stats->latencies;

  stats->now.time = g_get_monotonic_time();
  measure_rates(&report, &stats->last, &stats->now);
  report.frames_in = stats->now.received;
  report.frames_out = stats->now.sent;
  report.frames_dropped = stats->now.dropped;
  report.reconnections = stats->reconnections;
  if (stats->filter_count > 0)
    report.filter = in_ms(stats->filter_sum / stats->filter_count);
  if (latencies->len > 0) {
    g_array_sort(latencies, compare_times);
    report.p50 = in_ms(g_array_index(latencies, GstClockTime, latencies->len / 2));
    report.p95 = in_ms(g_array_index(latencies, GstClockTime, latencies->len * 95 / 100));
    report.worst = in_ms(g_array_index(latencies, GstClockTime, latencies->len - 1));
  }
  if (stats->info.finfo) {
    report.width = GST_VIDEO_INFO_WIDTH(&stats->info);
    report.height = GST_VIDEO_INFO_HEIGHT(&stats->info);
    report.format = GST_VIDEO_INFO_NAME(&stats->info);
  }
  stats->last = stats->now;
  stats->filter_sum = stats->filter_count = 0;
  g_array_set_size(latencies, 0);
  return report;
}

static void add_time(AppJson *json, const gchar *key, gdouble value)
{
  if (value < 0)
    app_json_string(json, key, NULL);
  else
    app_json_number(json, key, value, 2);
}

static void print_json(const Report *report, const gchar *event, const gchar *backend,
                       const gchar *reason)
{
  AppJson *json = app_json_new();

  app_json_string(json, "event", event);
  if (reason)
    app_json_string(json, "reason", reason);
  app_json_number(json, "in_fps", report->in_fps, 2);
  app_json_number(json, "out_fps", report->out_fps, 2);
  app_json_integer(json, "dropped", report->dropped);
  app_json_integer(json, "frames_in", report->frames_in);
  app_json_integer(json, "frames_out", report->frames_out);
  app_json_integer(json, "frames_dropped", report->frames_dropped);
  app_json_integer(json, "width", report->width);
  app_json_integer(json, "height", report->height);
  app_json_string(json, "format", report->format);
  add_time(json, "filter_ms", report->filter);
  app_json_open_object(json, "latency_ms");
  add_time(json, "p50", report->p50);
  add_time(json, "p95", report->p95);
  add_time(json, "max", report->worst);
  app_json_close(json);
  if (backend)
    app_json_string(json, "backend", backend);
  app_json_integer(json, "reconnections", report->reconnections);
  app_json_print(json, stdout);
}

static void append_latency(GString *text, const Report *report)
{
  if (report->p50 >= 0)
    g_string_append_printf(text, "  latency %.1f p50 %.1f p95 %.1f max ms", report->p50,
                           report->p95, report->worst);
}

static void print_status(const Report *report, const gchar *backend)
{
  GString *text = g_string_new(NULL);

  g_string_append_printf(text, "in %.1f  out %.1f fps  dropped %" G_GUINT64_FORMAT, report->in_fps,
                         report->out_fps, report->dropped);
  if (report->format)
    g_string_append_printf(text, "  %dx%d %s", report->width, report->height, report->format);
  if (report->filter >= 0)
    g_string_append_printf(text, "  filter %.2f ms", report->filter);
  append_latency(text, report);
  g_string_append_printf(text, "  %s  reconnections %u", backend, report->reconnections);
  app_status(text->str);
  g_string_free(text, TRUE);
}

void relay_stats_report(RelayStats *stats, const gchar *backend, GstClockTime gpu_time,
                        gboolean json)
{
  Report report;

  g_mutex_lock(&stats->lock);
  report = collect_report(stats);
  g_mutex_unlock(&stats->lock);
  if (gpu_time != GST_CLOCK_TIME_NONE)
    report.filter = in_ms(gpu_time);
  if (json)
    print_json(&report, "stats", backend, NULL);
  else
    print_status(&report, backend);
}

static gdouble quantile(const RelayStats *stats, gdouble share)
{
  const guint64 rank = stats->histogram_count * share;
  guint64 below = 0;

  for (guint bin = 0; bin < BINS; bin++) {
    below += stats->histogram[bin];
    if (below > rank)
      return in_ms(MIN((GstClockTime)(bin * BIN + BIN / 2), stats->worst));
  }
  return -1;
}

void relay_stats_summarize(RelayStats *stats, const gchar *reason, gboolean failed, gboolean json)
{
  Report report;

  g_mutex_lock(&stats->lock);
  report = collect_report(stats);
  measure_rates(&report, &stats->start, &stats->now);
  report.p50 = quantile(stats, 0.5);
  report.p95 = quantile(stats, 0.95);
  report.worst = stats->histogram_count > 0 ? in_ms(stats->worst) : -1;
  g_mutex_unlock(&stats->lock);
  report.filter = -1;
  if (json) {
    print_json(&report, "end", NULL, reason);
  } else {
    GString *text = g_string_new(NULL);

    append_latency(text, &report);
    app_status_end();
    app_say("%s: %" G_GUINT64_FORMAT " frames in, %" G_GUINT64_FORMAT " out, %" G_GUINT64_FORMAT
            " dropped, %u reconnections%s",
            failed ? "failed" : reason, report.frames_in, report.frames_out, report.frames_dropped,
            report.reconnections, text->str);
    g_string_free(text, TRUE);
  }
}
