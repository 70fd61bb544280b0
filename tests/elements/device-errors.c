/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A GPU that fails, at every single call that is made of its driver in the life of an element: the
 * element says so once, no frame leaves it unfiltered, and nothing is left over. On fake-gpu.
 */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device-frames.h"
#include "fake-cuda.h"

#define FRAMES 7

/* Elements next to each other do not wait, but keep their inputs. */
typedef enum { SYSTEM_MEMORY, CUDA_MEMORY, CUDA_NEIGHBOURS, N_WAYS } Way;
static const char *const way_names[] = {"system memory", "CUDA memory", "neighbours"};

/* Frames, and what is to become of them. Before frame 2 the element is drained and flushed, and its
 * settings change; frame 3 is handed on as it is; the caps change before frame 4; and before frame
 * 6 the stream is flushed as it stands, which the frames since then need not survive. */
#define DRAINED_BEFORE 2
#define HANDED_ON      3
#define CAPS_BEFORE    4
#define FLUSHED_BEFORE 6
typedef struct {
  const ElementCase *element;
  Way way;
  GstCudaContext *context; /* of frames in CUDA memory */
  const char *broken;      /* the driver's function that has no memory to give, or NULL */
  CfVideo video[FRAMES];
  const char *settings[FRAMES];
  CfTestPicture *source[FRAMES], *want[FRAMES];
} Work;

/* What became of them. */
typedef struct {
  GstBuffer *output[FRAMES];
  guint outputs, errors;
  GstFlowReturn flow;
  gboolean repeated; /* by one element */
  GError *error;     /* the first one */
  gint said, ended;  /* atomic: errors so far, and whether the end of the stream has come out */
  gint calls_at_last_frame, calls_at_end; /* as fake_cuda_calls counts */
} Outcome;

static void make_work(Work *work, const ElementCase *element, Way way)
{
  memset(work, 0, sizeof *work);
  work->element = element;
  work->way = way;
  for (int i = 0; i < FRAMES; i++) {
    work->video[i] = cf_video(CF_FORMAT_NV12, i < CAPS_BEFORE ? 40 : 24, i < CAPS_BEFORE ? 20 : 32);
    work->settings[i] = i < DRAINED_BEFORE ? element->working
                        : i == HANDED_ON   ? element->identity
                                           : element->other;
    work->source[i] = new_picture(&work->video[i], CF_LAYOUT_ALIGNED, CF_PATTERN_NOISE, i + 1u);
    work->want[i] = engine_output(element, work->settings[i], work->source[i]);
  }
  if (way != SYSTEM_MEMORY)
    work->context = gst_cuda_context_new(0);
}

static void free_work(Work *work)
{
  for (int i = 0; i < FRAMES; i++) {
    cf_picture_free(work->source[i]);
    cf_picture_free(work->want[i]);
  }
  gst_clear_object(&work->context);
}

static GstCaps *caps_of(const Work *work, int frame)
{
  GstCaps *caps = device_caps(&work->video[frame]);

  if (work->way == SYSTEM_MEMORY)
    gst_caps_set_features_simple(caps, NULL);
  return caps;
}

static gint buffers_alive; /* atomic: inputs are let go by the thread that has read them */

static void count_end(gpointer unused)
{
  g_atomic_int_add(&buffers_alive, -1);
}

/* Inputs are made before anything fails, in pools that outlive it. */
static void make_inputs(const Work *work, GstBuffer **inputs, GstBufferPool **pools)
{
  for (int i = 0; i < FRAMES; i++) {
    if (work->way != SYSTEM_MEMORY) {
      pools[i] = device_pool(work->context, &work->video[i], NULL);
      inputs[i] = device_buffer(pools[i], work->source[i]);
    } else {
      inputs[i] = plain_buffer(work->source[i], 0);
    }
    GST_BUFFER_PTS(inputs[i]) = (GstClockTime)i * 40 * GST_MSECOND;
    gst_mini_object_set_qdata(GST_MINI_OBJECT(inputs[i]), g_quark_from_static_string("alive"),
                              &buffers_alive, count_end);
    g_atomic_int_inc(&buffers_alive);
  }
}

/* The element, or it and a neighbour, in a bin. */
static GstElement *new_elements(const Work *work)
{
  gchar *text = g_strdup_printf("%s name=filter backend=cuda n-threads=1%s", work->element->name,
                                work->way == CUDA_NEIGHBOURS ? " ! cudasepconv backend=cuda" : "");
  GstElement *elements = gst_parse_bin_from_description(text, TRUE, NULL);

  fail_unless(elements != NULL);
  g_free(text);
  return gst_object_ref_sink(elements);
}

static GstBusSyncReply keep_errors(GstBus *bus, GstMessage *message, gpointer outcome)
{
  if (GST_MESSAGE_TYPE(message) != GST_MESSAGE_ERROR) {
    gst_message_unref(message);
    return GST_BUS_DROP;
  }
  g_atomic_int_inc(&((Outcome *)outcome)->said);
  return GST_BUS_PASS;
}

static void take_messages(GstBus *bus, Outcome *outcome)
{
  GHashTable *told = g_hash_table_new(NULL, NULL);
  GstMessage *message;

  while ((message = gst_bus_pop(bus))) {
    if (outcome->errors++ == 0)
      gst_message_parse_error(message, &outcome->error, NULL);
    outcome->repeated |= !g_hash_table_add(told, GST_MESSAGE_SRC(message));
    gst_message_unref(message);
  }
  g_hash_table_unref(told);
}

static void flush(GstHarness *harness)
{
  GstSegment segment;

  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(harness, gst_event_new_flush_start());
  gst_harness_push_event(harness, gst_event_new_flush_stop(FALSE));
  gst_harness_push_event(harness, gst_event_new_segment(&segment));
}

static void prepare_for_frame(const Work *work, GstHarness *harness, int frame)
{
  if (frame == DRAINED_BEFORE) {
    GstQuery *query = gst_query_new_drain();

    gst_pad_peer_query(harness->srcpad, query);
    gst_query_unref(query);
  }
  if (frame == DRAINED_BEFORE || frame == FLUSHED_BEFORE)
    flush(harness);
  if (frame == CAPS_BEFORE) {
    GstCaps *caps = caps_of(work, frame);

    gst_harness_push_event(harness, gst_event_new_caps(caps));
    gst_caps_unref(caps);
  }
}

static void push_frames(const Work *work, GstHarness *harness, GstElement *filter,
                        GstBuffer **inputs, Outcome *outcome)
{
  for (int i = 0; i < FRAMES; i++) {
    if (outcome->flow != GST_FLOW_OK) {
      gst_buffer_unref(inputs[i]);
      continue;
    }
    prepare_for_frame(work, harness, i);
    set_text(filter, work->settings[i]);
    outcome->flow = gst_harness_push(harness, inputs[i]);
  }
  gst_harness_push_event(harness, gst_event_new_eos());
  /* Whatever thread it is that pushes. */
  for (int i = 0; !g_atomic_int_get(&outcome->ended) && !g_atomic_int_get(&outcome->said); i++) {
    fail_unless(i < 10000, "neither an error nor the end of the stream comes");
    g_usleep(1000);
  }
}

static GstPadProbeReturn watch(GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  Outcome *outcome = user_data;

  if (info->type & GST_PAD_PROBE_TYPE_BUFFER)
    g_atomic_int_set(&outcome->calls_at_last_frame, fake_cuda_calls());
  else if (GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info)) == GST_EVENT_EOS)
    g_atomic_int_set(&outcome->ended, TRUE);
  return GST_PAD_PROBE_OK;
}

/* As long as the elements play; `inputs` are transfer full. */
static void stream(const Work *work, GstElement *elements, GstBuffer **inputs, Outcome *outcome)
{
  GstHarness *harness = gst_harness_new_with_element(elements, "sink", "src");
  GstElement *filter = gst_bin_get_by_name(GST_BIN(elements), "filter");
  GstBuffer *output;

  gst_harness_set_live(harness, FALSE);
  gst_pad_add_probe(harness->sinkpad,
                    GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, watch, outcome,
                    NULL);
  gst_harness_set_src_caps(harness, caps_of(work, 0));
  push_frames(work, harness, filter, inputs, outcome);
  fail_unless_equals_int(gst_element_set_state(elements, GST_STATE_NULL), GST_STATE_CHANGE_SUCCESS);
  while ((output = gst_harness_try_pull(harness)))
    outcome->output[outcome->outputs++] = output;
  gst_object_unref(filter);
  gst_harness_teardown(harness);
}

/* From NULL to NULL. */
static void live(const Work *work, GstElement *elements, GstBuffer **inputs, Outcome *outcome)
{
  GstBus *bus = gst_bus_new();

  memset(outcome, 0, sizeof *outcome);
  gst_bus_set_sync_handler(bus, keep_errors, outcome, NULL);
  gst_element_set_bus(elements, bus);
  if (work->context) {
    GstContext *context = gst_context_new_cuda_context(work->context);

    gst_element_set_context(elements, context);
    gst_context_unref(context);
  }
  if (gst_element_set_state(elements, GST_STATE_PLAYING) == GST_STATE_CHANGE_SUCCESS) {
    stream(work, elements, inputs, outcome);
  } else {
    fail_unless(gst_element_set_state(elements, GST_STATE_NULL) == GST_STATE_CHANGE_SUCCESS);
    for (int i = 0; i < FRAMES; i++)
      gst_buffer_unref(inputs[i]);
  }
  outcome->calls_at_end = fake_cuda_calls();
  take_messages(bus, outcome);
  gst_element_set_bus(elements, NULL);
  gst_object_unref(bus);
}

/* Readers of memory that carries a stream wait for it, and are told of the failure. */
static void drop_unreadable(Outcome *outcome)
{
  guint kept = 0;

  for (guint i = 0; i < outcome->outputs; i++) {
    GstBuffer *output = outcome->output[i];
    GstMapInfo map;

    if (!gst_is_cuda_memory(gst_buffer_peek_memory(output, 0)) ||
        !gst_cuda_filters_compat_memory_stream(gst_buffer_peek_memory(output, 0))) {
      outcome->output[kept++] = output;
    } else if (gst_buffer_map(output, &map, GST_MAP_READ)) {
      gst_buffer_unmap(output, &map);
      outcome->output[kept++] = output;
    } else {
      gst_buffer_unref(output);
    }
  }
  outcome->outputs = kept;
}

/* A life of new elements with a failure as fake-cuda.h says, and one after it, in which nothing
 * fails. */
static void live_twice(const Work *work, int failing, CUresult result, FakeFailure how,
                       Outcome *outcome, Outcome *next, const char **failed)
{
  GstBuffer *inputs[FRAMES];
  GstBufferPool *pools[2 * FRAMES];
  GstElement *elements;

  make_inputs(work, inputs, pools);
  fake_cuda_fail(failing, result, how);
  fake_cuda_fail_function(work->broken, CUDA_ERROR_OUT_OF_MEMORY);
  elements = new_elements(work);
  live(work, elements, inputs, outcome);
  *failed = fake_cuda_failed();
  if (how >= FAKE_STICKY)
    drop_unreadable(outcome);
  fake_cuda_fail_function(NULL, CUDA_SUCCESS);
  fake_cuda_fail(0, CUDA_SUCCESS, FAKE_ONCE);

  make_inputs(work, inputs, pools + FRAMES);
  live(work, elements, inputs, next);
  gst_object_unref(elements);
  for (int i = 0; work->way != SYSTEM_MEMORY && i < 2 * FRAMES; i++)
    free_device_pool(pools[i]);
}

static int frame_of(GstBuffer *buffer)
{
  return (int)(GST_BUFFER_PTS(buffer) / (40 * GST_MSECOND));
}

/* Whether all frames have come that must. */
static gboolean is_complete(const Outcome *outcome)
{
  guint must_come = 0;

  for (guint i = 0; i < outcome->outputs; i++) {
    const int frame = frame_of(outcome->output[i]);

    must_come += frame < CAPS_BEFORE || frame >= FLUSHED_BEFORE;
  }
  return must_come == FRAMES - (FLUSHED_BEFORE - CAPS_BEFORE);
}

/* What came out is what was filtered, in order, and ends the outcome. */
static void check_outputs(const Work *work, Outcome *outcome, const char *what)
{
  int last = -1;

  for (guint i = 0; i < outcome->outputs; i++) {
    const int frame = frame_of(outcome->output[i]);

    fail_unless(frame > last, "%s: frame %d comes out after frame %d", what, frame, last);
    assert_shows(outcome->output[i], work->want[frame], what);
    last = frame;
  }
  g_clear_error(&outcome->error);
}

static void check_clean(const Work *work, Outcome *outcome, const char *what)
{
  fail_unless(is_complete(outcome) && outcome->errors == 0, "%s: %u frames come out, %u errors: %s",
              what, outcome->outputs, outcome->errors,
              outcome->error ? outcome->error->message : "");
  check_outputs(work, outcome, what);
}

/* Calls that may fail once without harm: GStreamer does without the answer or the pool that we
 * propose; page-locked memory is only faster; and what is closed or flushed is waited for in vain.
 * Where they matter, no frame comes out. */
static gboolean is_harmless(const char *call)
{
  static const char *const calls[] = {
      "cuMemAllocHost_v2",     "cuMemAllocPitch_v2",   "cuStreamSynchronize", "cuEventSynchronize",
      "cuDeviceCanAccessPeer", "cuDeviceGetAttribute", "cuDeviceGetName",     "cuDriverGetVersion"};

  for (guint i = 0; i < G_N_ELEMENTS(calls); i++) {
    if (strcmp(call, calls[i]) == 0)
      return TRUE;
  }
  return FALSE;
}

static const struct {
  CUresult result;
  FakeFailure how;
} failures[] = {
    {CUDA_ERROR_OUT_OF_MEMORY, FAKE_ONCE},
    {CUDA_ERROR_OUT_OF_MEMORY, FAKE_FULL},
    {CUDA_ERROR_ILLEGAL_ADDRESS, FAKE_STICKY},
    {CUDA_ERROR_CONTEXT_IS_DESTROYED, FAKE_GONE},
};

static void check_failure(const Work *work, int failing, CUresult result, FakeFailure how)
{
  const int objects = fake_cuda_objects();
  Outcome outcome, next;
  gchar *what;
  const char *failed;
  gboolean complete;

  live_twice(work, failing, result, how, &outcome, &next, &failed);
  complete = is_complete(&outcome);
  what = g_strdup_printf("%s, %s: call %d, %s, fails with %d: %s", work->element->name,
                         way_names[work->way], failing, failed ? failed : "none", result,
                         outcome.error ? outcome.error->message : "no error");
  fail_unless(!outcome.repeated, "%s; %u errors", what, outcome.errors);
  /* All may come after an error, too: the caps are offered again when the call works again. */
  fail_unless(outcome.errors > 0 || complete || how >= FAKE_STICKY, "%s; %u frames come out", what,
              outcome.outputs);
  fail_unless(outcome.errors > 0 || !failed || failing > outcome.calls_at_last_frame ||
                  (complete && how <= FAKE_FULL && is_harmless(failed)),
              "%s; nobody is told", what);
  check_outputs(work, &outcome, what);
  check_clean(work, &next, what);
  /* The driver takes what is left in a context that is gone. */
  fail_unless(how == FAKE_GONE || fake_cuda_objects() == objects, "%s; %d objects are left over",
              what, fake_cuda_objects() - objects);
  fail_unless(buffers_alive == 0, "%s; %d inputs are left over", what, buffers_alive);
  g_free(what);
}

/* Of each element and memory; GStreamer's one-time preparations come with the first life. */
GST_START_TEST(every_call_fails_once)
{
  Work work;

  make_work(&work, &element_cases[__i__ / N_WAYS], (Way)(__i__ % N_WAYS));
  for (guint f = 0; f < G_N_ELEMENTS(failures); f++) {
    Outcome first, usual;
    const char *failed;

    live_twice(&work, 0, CUDA_SUCCESS, failures[f].how, &first, &usual, &failed);
    check_clean(&work, &first, "nothing fails");
    check_clean(&work, &usual, "nothing fails");
    fail_unless(first.calls_at_end > 20);
    for (int call = 1; call <= first.calls_at_end; call++)
      check_failure(&work, call, failures[f].result, failures[f].how);
  }
  free_work(&work);
}
GST_END_TEST

/* Caps are negotiated again and again when there is nothing to filter into. */
GST_START_TEST(no_memory_for_frames)
{
  Work work;
  Outcome outcome, next;
  const char *failed;

  make_work(&work, &element_cases[__i__], CUDA_MEMORY);
  work.broken = "cuMemAllocPitch_v2";
  live_twice(&work, 0, CUDA_SUCCESS, FAKE_ONCE, &outcome, &next, &failed);
  fail_unless(outcome.errors == 1 && outcome.outputs == 0, "%u errors, %u frames come out",
              outcome.errors, outcome.outputs);
  g_clear_error(&outcome.error);
  check_clean(&work, &next, "memory is there again");
  free_work(&work);
}
GST_END_TEST

#if GST_CHECK_VERSION(1, 24, 0)
/* Where GStreamer's own calls do not fail: frames in system memory do without. */
GST_START_TEST(a_critical_error_ends_the_process)
{
  Work work;
  Outcome usual, next;
  const char *failed;
  const pid_t child = fork();
  int status = 0;

  fail_unless(child >= 0);
  if (child > 0) {
    fail_unless(waitpid(child, &status, 0) == child);
    fail_unless(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "the process goes on");
    return;
  }
  g_setenv("GST_CUDA_CRITICAL_ERRORS", "719,700", TRUE);
  make_work(&work, &element_cases[__i__], SYSTEM_MEMORY);
  live_twice(&work, 0, CUDA_SUCCESS, FAKE_ONCE, &usual, &next, &failed);
  live_twice(&work, usual.calls_at_last_frame / 2, CUDA_ERROR_ILLEGAL_ADDRESS, FAKE_STICKY, &usual,
             &next, &failed);
  _exit(0);
}
GST_END_TEST
#endif

static void add_tests(TCase *tests)
{
#if GST_CHECK_VERSION(1, 24, 0)
  tcase_add_loop_test(tests, a_critical_error_ends_the_process, 0, N_ELEMENTS);
#endif
  tcase_add_loop_test(tests, no_memory_for_frames, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, every_call_fails_once, 0, N_ELEMENTS * N_WAYS);
}

int main(int argc, char **argv)
{
  return run_fake_device_tests(argc, argv, "device-errors", add_tests);
}
