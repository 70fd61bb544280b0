/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A GPU that fails, at every single call that is made of its driver in the life of an element: the
 * element says so once, no frame leaves it unfiltered, and nothing is left over. On fake-gpu.
 */
#include <string.h>

#include "device-frames.h"
#include "fake-cuda.h"

#define FRAMES 6

/* Elements next to each other do not wait, but keep their inputs. */
typedef enum { SYSTEM_MEMORY, CUDA_MEMORY, CUDA_NEIGHBOURS, N_WAYS } Way;
static const char *const way_names[] = {"system memory", "CUDA memory", "neighbours"};

/* Frames, and what is to become of them: in the middle, settings change, then caps. */
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
  gboolean repeated;                     /* by one element */
  GError *error;                         /* the first one */
  int calls_at_last_frame, calls_at_end; /* as fake_cuda_calls counts */
} Outcome;

static void make_work(Work *work, const ElementCase *element, Way way)
{
  memset(work, 0, sizeof *work);
  work->element = element;
  work->way = way;
  for (int i = 0; i < FRAMES; i++) {
    work->video[i] = cf_video(CF_FORMAT_NV12, i < 4 ? 40 : 24, i < 4 ? 20 : 32);
    work->settings[i] = i < 2 ? element->working : element->other;
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

static void take_messages(GstBus *bus, Outcome *outcome)
{
  GHashTable *told = g_hash_table_new(NULL, NULL);
  GstMessage *message;

  while ((message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR))) {
    if (outcome->errors++ == 0)
      gst_message_parse_error(message, &outcome->error, NULL);
    outcome->repeated |= !g_hash_table_add(told, GST_MESSAGE_SRC(message));
    gst_message_unref(message);
  }
  g_hash_table_unref(told);
}

static void push_frames(const Work *work, GstHarness *harness, GstElement *element,
                        GstBuffer **inputs, Outcome *outcome)
{
  for (int i = 0; i < FRAMES; i++) {
    if (outcome->flow != GST_FLOW_OK) {
      gst_buffer_unref(inputs[i]);
      continue;
    }
    if (i > 0 && work->video[i].width != work->video[i - 1].width) {
      GstCaps *caps = caps_of(work, i);

      gst_harness_push_event(harness, gst_event_new_caps(caps));
      gst_caps_unref(caps);
    }
    set_text(element, work->settings[i]);
    outcome->flow = gst_harness_push(harness, inputs[i]);
  }
  gst_harness_push_event(harness, gst_event_new_eos());
}

static GstPadProbeReturn count_calls(GstPad *pad, GstPadProbeInfo *info, gpointer outcome)
{
  ((Outcome *)outcome)->calls_at_last_frame = fake_cuda_calls();
  return GST_PAD_PROBE_OK;
}

/* The element's life, with a failure as fake-cuda.h says. */
static void live(const Work *work, int failing, CUresult result, FakeFailure how, Outcome *outcome)
{
  GstBus *bus = gst_bus_new();
  GstBuffer *inputs[FRAMES];
  GstBufferPool *pools[FRAMES];
  gchar *elements = g_strdup_printf("%s%s", work->element->name,
                                    work->way == CUDA_NEIGHBOURS ? " ! cudasepconv" : "");
  GstElement *element;
  GstHarness *harness;
  GstBuffer *output;

  memset(outcome, 0, sizeof *outcome);
  make_inputs(work, inputs, pools);
  fake_cuda_fail(failing, result, how);
  fake_cuda_fail_function(work->broken, CUDA_ERROR_OUT_OF_MEMORY);
  harness = gst_harness_new_parse(elements);
  element = gst_harness_find_element(harness, work->element->name);
  gst_element_set_bus(harness->element, bus);
  gst_harness_set_live(harness, FALSE);
  set_text(element, "backend=cuda n-threads=1");
  if (work->context) {
    GstContext *context = gst_context_new_cuda_context(work->context);

    gst_element_set_context(harness->element, context);
    gst_context_unref(context);
  }
  gst_pad_add_probe(harness->sinkpad, GST_PAD_PROBE_TYPE_BUFFER, count_calls, outcome, NULL);
  gst_harness_set_src_caps(harness, caps_of(work, 0));
  push_frames(work, harness, element, inputs, outcome);
  outcome->calls_at_end = fake_cuda_calls();
  while ((output = gst_harness_try_pull(harness)))
    outcome->output[outcome->outputs++] = output;
  gst_element_set_state(harness->element, GST_STATE_NULL);
  fake_cuda_fail_function(NULL, CUDA_SUCCESS);
  take_messages(bus, outcome);
  gst_element_set_bus(harness->element, NULL);
  gst_object_unref(element);
  gst_harness_teardown(harness);
  gst_object_unref(bus);
  g_free(elements);
  for (int i = 0; work->way != SYSTEM_MEMORY && i < FRAMES; i++)
    free_device_pool(pools[i]);
}

/* What came out is what was filtered, in order, and ends the outcome. */
static void check_outputs(const Work *work, Outcome *outcome, const char *what)
{
  int last = -1;

  for (guint i = 0; i < outcome->outputs; i++) {
    const int frame = (int)(GST_BUFFER_PTS(outcome->output[i]) / (40 * GST_MSECOND));

    fail_unless(frame > last, "%s: frame %d comes out after frame %d", what, frame, last);
    assert_shows(outcome->output[i], work->want[frame], what);
    last = frame;
  }
  g_clear_error(&outcome->error);
}

/* Calls that may fail once without harm: GStreamer does without the answer or the pool that we
 * propose; page-locked memory is only faster; and what is
 * closed is waited for in vain. Where they matter, no frame comes out. */
static gboolean is_harmless(const char *call)
{
  static const char *const calls[] = {
      "cuMemAllocHost_v2",    "cuMemAllocPitch_v2", "cuStreamSynchronize", "cuDeviceCanAccessPeer",
      "cuDeviceGetAttribute", "cuDeviceGetName",    "cuDriverGetVersion"};

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

static void check_failure(const Work *work, int failing, CUresult result, FakeFailure how,
                          const Outcome *usual)
{
  const int objects = fake_cuda_objects();
  Outcome outcome;
  gchar *what;
  const char *failed;

  live(work, failing, result, how, &outcome);
  failed = fake_cuda_failed();
  what = g_strdup_printf("%s, %s: call %d, %s, fails with %d: %s", work->element->name,
                         way_names[work->way], failing, failed ? failed : "none", result,
                         outcome.error ? outcome.error->message : "no error");
  fake_cuda_fail(0, CUDA_SUCCESS, FAKE_ONCE);
  fail_unless(failed || how == FAKE_FULL, "%s", what);
  fail_unless(!outcome.repeated, "%s; %u errors", what, outcome.errors);
  /* All may come after an error, too: the caps are offered again when the call works again. */
  fail_unless(outcome.errors > 0 || outcome.outputs == FRAMES, "%s; %u frames come out", what,
              outcome.outputs);
  fail_unless(outcome.errors > 0 || failing > usual->calls_at_last_frame || !failed ||
                  (how <= FAKE_FULL && is_harmless(failed)),
              "%s; nobody is told", what);
  check_outputs(work, &outcome, what);
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
  Outcome outcome;

  make_work(&work, &element_cases[__i__ / N_WAYS], (Way)(__i__ % N_WAYS));
  live(&work, 0, CUDA_SUCCESS, FAKE_ONCE, &outcome);
  check_outputs(&work, &outcome, "the first life");
  for (guint f = 0; f < G_N_ELEMENTS(failures); f++) {
    Outcome usual;

    live(&work, 0, CUDA_SUCCESS, failures[f].how, &usual);
    fail_unless(usual.outputs == FRAMES && usual.errors == 0 && usual.calls_at_end > 20);
    check_outputs(&work, &usual, "nothing fails");
    for (int call = 1; call <= usual.calls_at_end; call++)
      check_failure(&work, call, failures[f].result, failures[f].how, &usual);
  }
  free_work(&work);
}
GST_END_TEST

/* Caps are negotiated again and again when there is nothing to filter into. */
GST_START_TEST(no_memory_for_frames)
{
  Work work;
  Outcome outcome;

  make_work(&work, &element_cases[__i__], CUDA_MEMORY);
  live(&work, 0, CUDA_SUCCESS, FAKE_ONCE, &outcome);
  check_outputs(&work, &outcome, "the first life");
  work.broken = "cuMemAllocPitch_v2";
  live(&work, 0, CUDA_SUCCESS, FAKE_ONCE, &outcome);
  fail_unless(outcome.errors == 1 && outcome.outputs == 0, "%u errors, %u frames come out",
              outcome.errors, outcome.outputs);
  g_clear_error(&outcome.error);
  free_work(&work);
}
GST_END_TEST

/* Why there may be no GPU to open, and what the error says of it. */
static const struct {
  const char *function; /* that fails, or NULL */
  CUresult result;
  int devices;
  const char *settings, *text;
} reasons[] = {
    {"cuInit", CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, 1, "", "loading the driver"},
    {NULL, CUDA_SUCCESS, 0, "", "looking for GPUs"},
    {NULL, CUDA_SUCCESS, 2, " cuda-device-id=2",
     "cuda-device-id is 2, but there are 2 CUDA devices: allowed is -1 to 1"},
    {"cuCtxCreate_v2", CUDA_ERROR_OUT_OF_MEMORY, 1, "", "no CUDA context could be created"},
    {"cuModuleLoadData", CUDA_ERROR_NO_BINARY_FOR_GPU, 1, "", "loading the kernels"},
    {"cuMemPoolCreate", CUDA_ERROR_OUT_OF_MEMORY, 1, "", "creating the scratch pool"},
};

static void make_reason(guint index)
{
  fake_cuda_fail_function(reasons[index].function, reasons[index].result);
  fake_cuda_set_devices(reasons[index].devices);
}

static void end_reason(void)
{
  fake_cuda_fail_function(NULL, CUDA_SUCCESS);
  fake_cuda_set_devices(1);
}

GST_START_TEST(no_gpu_says_why)
{
  const char *name = element_cases[__i__ / G_N_ELEMENTS(reasons)].name;
  const guint reason = __i__ % G_N_ELEMENTS(reasons);
  GstElement *element = gst_check_setup_element(name);
  GstBus *bus = gst_bus_new();
  gchar *settings = g_strdup_printf("backend=cuda%s", reasons[reason].settings);

  gst_element_set_bus(element, bus);
  set_text(element, settings);
  make_reason(reason);
  fail_unless_equals_int(gst_element_set_state(element, GST_STATE_PAUSED),
                         GST_STATE_CHANGE_FAILURE);
  assert_posted(bus, GST_MESSAGE_ERROR, 1, reasons[reason].text);
  fail_unless_equals_int(gst_element_set_state(element, GST_STATE_NULL), GST_STATE_CHANGE_SUCCESS);
  end_reason();
  set_text(element, "cuda-device-id=-1");
  fail_unless_equals_int(gst_element_set_state(element, GST_STATE_PAUSED),
                         GST_STATE_CHANGE_SUCCESS);
  assert_posted(bus, GST_MESSAGE_ERROR, 0, NULL);
  gst_element_set_state(element, GST_STATE_NULL);
  fail_unless_equals_int(fake_cuda_objects(), 0);
  gst_element_set_bus(element, NULL);
  gst_object_unref(bus);
  gst_check_teardown_element(element);
  g_free(settings);
}
GST_END_TEST

GST_START_TEST(without_a_gpu_auto_is_the_cpu)
{
  const ElementCase *element = &element_cases[__i__ / G_N_ELEMENTS(reasons)];
  const CfVideo video = cf_video(CF_FORMAT_NV12, 40, 20);
  CfTestPicture *source = new_picture(&video, CF_LAYOUT_ALIGNED, CF_PATTERN_NOISE, 1);
  CfTestPicture *want = engine_output(element, element->working, source);
  GstBus *bus;
  GstHarness *harness;
  gchar *settings, *active;

  make_reason(__i__ % G_N_ELEMENTS(reasons));
  settings = g_strdup_printf("backend=auto %s%s", element->working,
                             reasons[__i__ % G_N_ELEMENTS(reasons)].settings);
  harness = harness_new(element->name, settings, &video, NULL, &bus);
  assert_shows(filter_buffer(harness, plain_buffer(source, 0)), want, settings);
  g_object_get(harness->element, "active-backend", &active, NULL);
  fail_unless_equals_string(active, "cpu");
  assert_posted(bus, GST_MESSAGE_ERROR, 0, NULL);
  end_reason();
  harness_free(harness, bus);
  cf_picture_free(source);
  cf_picture_free(want);
  g_free(settings);
  g_free(active);
}
GST_END_TEST

static void add_tests(TCase *tests)
{
  tcase_add_loop_test(tests, no_gpu_says_why, 0, N_ELEMENTS * G_N_ELEMENTS(reasons));
  tcase_add_loop_test(tests, without_a_gpu_auto_is_the_cpu, 0, N_ELEMENTS * G_N_ELEMENTS(reasons));
  tcase_add_loop_test(tests, no_memory_for_frames, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, every_call_fails_once, 0, N_ELEMENTS * N_WAYS);
}

int main(int argc, char **argv)
{
  gst_init(&argc, &argv);
  if (!gst_cuda_load_library()) {
    g_print("1..0 # SKIP this GStreamer asks for functions that fake-gpu lacks\n");
    return 0;
  }
  gst_cuda_memory_init_once();
  return run_tests(argc, argv, "device-errors", add_tests);
}
