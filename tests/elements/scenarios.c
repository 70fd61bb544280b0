/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What players do: seeking, scrubbing, rates, pausing, stopping and starting. What reaches the sink
 * has the times and flags that it has with `identity` in the element's place.
 */
#include "elements.h"

#ifndef BACKEND
#define BACKEND "cpu"
#endif

#define CASE (&element_cases[__i__])

/* What came since the last flush. */
typedef struct {
  GstClockTime pts, duration;
  gboolean discont;
} Arrival;

typedef struct {
  GstElement *pipeline;
  GMutex lock;
  GArray *arrivals;
  gboolean ended; /* the sink has got the end of the stream since the last flush */
} Player;

static GstPadProbeReturn note_arrival(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  Player *player = data;

  g_mutex_lock(&player->lock);
  if (info->type & GST_PAD_PROBE_TYPE_BUFFER) {
    GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER(info);
    const Arrival arrival = {GST_BUFFER_PTS(buffer), GST_BUFFER_DURATION(buffer),
                             GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_DISCONT)};

    g_array_append_val(player->arrivals, arrival);
  } else if (GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info)) == GST_EVENT_FLUSH_STOP) {
    g_array_set_size(player->arrivals, 0);
    player->ended = FALSE;
  } else if (GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info)) == GST_EVENT_EOS) {
    player->ended = TRUE;
  }
  g_mutex_unlock(&player->lock);
  return GST_PAD_PROBE_OK;
}

static void player_open(Player *player, const gchar *element)
{
  gchar *launch = g_strdup_printf("videotestsrc ! video/x-raw, format=I420, width=34, height=22, "
                                  "framerate=25/1 ! %s ! fakesink name=sink sync=false",
                                  element);
  GstElement *sink;
  GstPad *pad;

  player->pipeline = gst_parse_launch(launch, NULL);
  fail_unless(player->pipeline != NULL, "%s", launch);
  g_mutex_init(&player->lock);
  player->arrivals = g_array_new(FALSE, FALSE, sizeof(Arrival));
  player->ended = FALSE;
  sink = gst_bin_get_by_name(GST_BIN(player->pipeline), "sink");
  pad = gst_element_get_static_pad(sink, "sink");
  gst_pad_add_probe(pad,
                    GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM |
                        GST_PAD_PROBE_TYPE_EVENT_FLUSH,
                    note_arrival, player, NULL);
  gst_object_unref(pad);
  gst_object_unref(sink);
  g_free(launch);
}

static void player_close(Player *player)
{
  fail_unless_equals_int(gst_element_set_state(player->pipeline, GST_STATE_NULL),
                         GST_STATE_CHANGE_SUCCESS);
  gst_object_unref(player->pipeline);
  g_mutex_clear(&player->lock);
}

static void go_to(Player *player, GstState state)
{
  fail_if(gst_element_set_state(player->pipeline, state) == GST_STATE_CHANGE_FAILURE);
  fail_unless_equals_int(gst_element_get_state(player->pipeline, NULL, NULL, 20 * GST_SECOND),
                         GST_STATE_CHANGE_SUCCESS);
}

/* Milliseconds. */
static void seek_with(Player *player, GstSeekFlags flags, gdouble rate, gint64 start, gint64 stop)
{
  fail_unless(gst_element_seek(player->pipeline, rate, GST_FORMAT_TIME, flags, GST_SEEK_TYPE_SET,
                               start * (gint64)GST_MSECOND, GST_SEEK_TYPE_SET,
                               stop * (gint64)GST_MSECOND));
}

static void seek(Player *player, gdouble rate, gint64 start, gint64 stop)
{
  seek_with(player, GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_ACCURATE, rate, start, stop);
  fail_unless_equals_int(gst_element_get_state(player->pipeline, NULL, NULL, 20 * GST_SECOND),
                         GST_STATE_CHANGE_SUCCESS);
}

static gboolean has_ended(Player *player)
{
  gboolean ended;

  g_mutex_lock(&player->lock);
  ended = player->ended;
  g_mutex_unlock(&player->lock);
  return ended;
}

/* The bus may bring the end of what was played before the last seek, too. */
static void play_to_the_end(Player *player)
{
  GstBus *bus = gst_element_get_bus(player->pipeline);
  GstMessage *message;

  gst_element_set_state(player->pipeline, GST_STATE_PLAYING);
  do {
    message = gst_bus_timed_pop_filtered(bus, 20 * GST_SECOND,
                                         GST_MESSAGE_EOS | GST_MESSAGE_ERROR | GST_MESSAGE_WARNING);
    fail_unless(message && GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS, "no end but %s",
                message ? GST_MESSAGE_TYPE_NAME(message) : "nothing");
    gst_message_unref(message);
  } while (!has_ended(player));
  gst_object_unref(bus);
}

/* ---- what is played ---- */

static void seek_forward(Player *player)
{
  go_to(player, GST_STATE_PAUSED);
  seek(player, 1.0, 1000, 2000);
}

static void seek_back(Player *player)
{
  go_to(player, GST_STATE_PAUSED);
  seek(player, 1.0, 3000, 4000);
  seek(player, 1.0, 200, 1200);
}

/* Some of these come to their end, and some do not. */
static void seek_while_playing(Player *player)
{
  GstBus *bus = gst_element_get_bus(player->pipeline);

  go_to(player, GST_STATE_PLAYING);
  for (gint64 i = 0; i < 10; i++)
    seek(player, 1.0, 100 * i, 100 * i + 1000);
  go_to(player, GST_STATE_PAUSED);
  seek(player, 1.0, 2000, 3000);
  gst_bus_set_flushing(bus, TRUE);
  gst_bus_set_flushing(bus, FALSE);
  gst_object_unref(bus);
}

static void scrub(Player *player)
{
  go_to(player, GST_STATE_PAUSED);
  for (gint64 i = 0; i < 30; i++)
    seek(player, 1.0, (i * 997) % 5000, 6000);
  seek(player, 1.0, 5000, 5500);
}

static void fast_forward(Player *player)
{
  go_to(player, GST_STATE_PAUSED);
  seek(player, 4.0, 0, 4000);
}

static void slow_motion(Player *player)
{
  go_to(player, GST_STATE_PAUSED);
  seek(player, 0.25, 500, 1000);
}

static void backwards(Player *player)
{
  go_to(player, GST_STATE_PAUSED);
  seek(player, -1.0, 500, 2000);
}

static void pause_and_resume(Player *player)
{
  go_to(player, GST_STATE_PAUSED);
  seek(player, 1.0, 0, 2000);
  for (int i = 0; i < 10; i++) {
    gst_element_set_state(player->pipeline, GST_STATE_PLAYING);
    gst_element_set_state(player->pipeline, GST_STATE_PAUSED);
  }
}

/* As editors do, one frame at a time, and a few at once. */
static void step(Player *player)
{
  go_to(player, GST_STATE_PAUSED);
  seek(player, 1.0, 0, 2000);
  for (guint64 i = 0; i < 10; i++) {
    fail_unless(gst_element_send_event(
        player->pipeline, gst_event_new_step(GST_FORMAT_BUFFERS, 1 + i % 3, 1.0, TRUE, FALSE)));
    fail_unless_equals_int(gst_element_get_state(player->pipeline, NULL, NULL, 20 * GST_SECOND),
                           GST_STATE_CHANGE_SUCCESS);
  }
}

/* Three times the same, without a gap. */
static void loop(Player *player)
{
  GstBus *bus = gst_element_get_bus(player->pipeline);

  go_to(player, GST_STATE_PAUSED);
  seek_with(player, GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_SEGMENT, 1.0, 200, 600);
  gst_element_set_state(player->pipeline, GST_STATE_PLAYING);
  for (guint i = 0; i < 2; i++) {
    GstMessage *message = gst_bus_timed_pop_filtered(bus, 20 * GST_SECOND,
                                                     GST_MESSAGE_SEGMENT_DONE | GST_MESSAGE_ERROR);

    fail_unless(message && GST_MESSAGE_TYPE(message) == GST_MESSAGE_SEGMENT_DONE);
    gst_message_unref(message);
    seek_with(player, i == 0 ? GST_SEEK_FLAG_SEGMENT : 0, 1.0, 200, 600);
  }
  gst_object_unref(bus);
}

static void scan(Player *player, gdouble rate)
{
  go_to(player, GST_STATE_PAUSED);
  seek_with(player,
            GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_TRICKMODE | GST_SEEK_FLAG_TRICKMODE_KEY_UNITS |
                GST_SEEK_FLAG_TRICKMODE_NO_AUDIO,
            rate, 0, 4000);
}

static void scan_forward(Player *player)
{
  scan(player, 8.0);
}

static void scan_backwards(Player *player)
{
  scan(player, -8.0);
}

static void stop_and_start(Player *player)
{
  static const GstState states[] = {GST_STATE_PLAYING, GST_STATE_READY, GST_STATE_PAUSED,
                                    GST_STATE_NULL};

  for (int i = 0; i < 20; i++)
    fail_if(gst_element_set_state(player->pipeline, states[i % 4]) == GST_STATE_CHANGE_FAILURE);
  go_to(player, GST_STATE_PAUSED);
  seek(player, 1.0, 0, 1000);
}

static const struct {
  const char *name;
  void (*run)(Player *player);
} scenarios[] = {
    {"seek-forward", seek_forward},
    {"seek-back", seek_back},
    {"seek-while-playing", seek_while_playing},
    {"scrub", scrub},
    {"fast-forward", fast_forward},
    {"slow-motion", slow_motion},
    {"backwards", backwards},
    {"pause-and-resume", pause_and_resume},
    {"step", step},
    {"loop", loop},
    {"scan-forward", scan_forward},
    {"scan-backwards", scan_backwards},
    {"stop-and-start", stop_and_start},
};

/* What the sink got of it in the end. */
static GArray *played(const gchar *element, void (*run)(Player *))
{
  Player player;

  player_open(&player, element);
  run(&player);
  play_to_the_end(&player);
  player_close(&player);
  return player.arrivals;
}

static void check_settings(const ElementCase *element, const char *settings)
{
  gchar *text = g_strdup_printf("%s backend=" BACKEND " %s", element->name, settings);

  for (guint i = 0; i < G_N_ELEMENTS(scenarios); i++) {
    GArray *want = played("identity", scenarios[i].run), *got = played(text, scenarios[i].run);

    fail_unless(got->len == want->len, "%s, %s: %u frames instead of %u", scenarios[i].name, text,
                got->len, want->len);
    for (guint k = 0; k < want->len; k++) {
      const Arrival *one = &g_array_index(got, Arrival, k);
      const Arrival *other = &g_array_index(want, Arrival, k);

      fail_unless(one->pts == other->pts && one->duration == other->duration &&
                      one->discont == other->discont,
                  "%s, %s: frame %u at %" GST_TIME_FORMAT "%s instead of %" GST_TIME_FORMAT "%s",
                  scenarios[i].name, text, k, GST_TIME_ARGS(one->pts),
                  one->discont ? " DISCONT" : "", GST_TIME_ARGS(other->pts),
                  other->discont ? " DISCONT" : "");
    }
    g_array_unref(want);
    g_array_unref(got);
  }
  g_free(text);
}

GST_START_TEST(plays_as_identity_does)
{
  check_settings(CASE, CASE->working);
  check_settings(CASE, CASE->identity);
}
GST_END_TEST;

static void add_tests(TCase *tests)
{
  tcase_add_loop_test(tests, plays_as_identity_does, 0, N_ELEMENTS);
}

int main(int argc, char **argv)
{
  return run_tests(argc, argv, "scenarios", add_tests);
}
