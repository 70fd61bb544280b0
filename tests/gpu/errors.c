/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A real GPU that fails while frames flow: a kernel of somebody else's in the same context faults,
 * or memory runs out. tests/elements/device-errors.c fails each call of a GPU that is none; this
 * shows that drivers fail as it supposes. Not here: a context that the application destroys under
 * the elements. The driver lets it be entered still, and page-locked frames are gone with it.
 * Prints TAP.
 */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device-frames.h"

#define GOOD_FRAMES 4

/* Writes where there is no memory. */
static const char faulty_kernel[] = ".version 6.4\n"
                                    ".target sm_75\n"
                                    ".address_size 64\n"
                                    ".visible .entry fault()\n"
                                    "{\n"
                                    "  .reg .b64 %address;\n"
                                    "  .reg .b32 %value;\n"
                                    "  mov.u64 %address, 64;\n"
                                    "  mov.u32 %value, 1;\n"
                                    "  st.global.u32 [%address], %value;\n"
                                    "  ret;\n"
                                    "}\n";

typedef struct {
  GstCudaContext *context;
  GstHarness *harness;
  GstElement *element;
  GstBus *bus;
  CfVideo video;
  GstBufferPool *pool; /* of frames in CUDA memory, or NULL */
} Stream;

static void set_caps(Stream *stream, const CfVideo *video)
{
  GstCaps *caps = device_caps(video);

  if (!stream->pool)
    gst_caps_set_features_simple(caps, NULL);
  stream->video = *video;
  gst_harness_set_src_caps(stream->harness, caps);
}

static void open_stream(Stream *stream, const ElementCase *element, gboolean in_cuda_memory)
{
  const CfVideo video = cf_video(CF_FORMAT_NV12, 640, 360);
  GstContext *shared;

  memset(stream, 0, sizeof *stream);
  fail_unless(gst_cuda_load_library());
  gst_cuda_memory_init_once();
  stream->context = gst_cuda_context_new(0);
  fail_unless(stream->context != NULL);
  shared = gst_context_new_cuda_context(stream->context);
  stream->bus = gst_bus_new();
  stream->harness = gst_harness_new(element->name);
  stream->element = stream->harness->element;
  gst_harness_set_live(stream->harness, FALSE);
  gst_element_set_bus(stream->element, stream->bus);
  gst_element_set_context(stream->element, shared);
  gst_context_unref(shared);
  set_text(stream->element, "backend=cuda");
  set_text(stream->element, element->working);
  if (in_cuda_memory)
    stream->pool = device_pool(stream->context, &video, NULL);
  set_caps(stream, &video);
}

static GstBuffer *new_frame(Stream *stream, int number)
{
  CfTestPicture *picture =
      new_picture(&stream->video, CF_LAYOUT_ALIGNED, CF_PATTERN_PHOTO, (guint64)number);
  GstBuffer *buffer =
      stream->pool ? device_buffer(stream->pool, picture) : plain_buffer(picture, 0);

  cf_picture_free(picture);
  GST_BUFFER_PTS(buffer) = (GstClockTime)number * 40 * GST_MSECOND;
  return buffer;
}

static guint count_outputs(Stream *stream)
{
  GstBuffer *output;
  guint count = 0;

  while ((output = gst_harness_try_pull(stream->harness))) {
    gst_buffer_unref(output);
    count++;
  }
  return count;
}

static void play(Stream *stream)
{
  for (int i = 0; i < GOOD_FRAMES; i++)
    fail_unless_equals_int(gst_harness_push(stream->harness, new_frame(stream, i)), GST_FLOW_OK);
  for (int i = 0; i < GOOD_FRAMES; i++)
    gst_buffer_unref(gst_harness_pull(stream->harness));
}

/* The stream ends with one error that has `text` in it, and nothing comes out any more. `next` was
 * made when all was well; where frames overlap its own push may return before the device has
 * failed. */
static void expect_end(Stream *stream, GstBuffer *next, const char *text)
{
  const GstFlowReturn flow = gst_harness_push(stream->harness, next);

  fail_unless(flow == GST_FLOW_ERROR || flow == GST_FLOW_NOT_NEGOTIATED ||
                  (flow == GST_FLOW_OK && !stream->pool),
              "the flow is %s", gst_flow_get_name(flow));
  gst_harness_push_event(stream->harness, gst_event_new_eos());
  fail_unless_equals_int(count_outputs(stream), 0);
  fail_unless_equals_int(gst_element_set_state(stream->element, GST_STATE_NULL),
                         GST_STATE_CHANGE_SUCCESS);
  assert_posted(stream->bus, GST_MESSAGE_ERROR, 1, text);
}

static void close_stream(Stream *stream)
{
  gst_element_set_bus(stream->element, NULL);
  gst_harness_teardown(stream->harness);
  gst_object_unref(stream->bus);
  if (stream->pool)
    free_device_pool(stream->pool);
  gst_object_unref(stream->context);
}

static void expect_new_stream_works(const ElementCase *element, gboolean in_cuda_memory)
{
  Stream stream;

  open_stream(&stream, element, in_cuda_memory);
  play(&stream);
  assert_posted(stream.bus, GST_MESSAGE_ERROR, 0, NULL);
  close_stream(&stream);
}

#define ELEMENT        (&element_cases[__i__ / 2])
#define IN_CUDA_MEMORY (__i__ % 2 == 1)

GST_START_TEST(a_kernel_faults)
{
  Stream stream;
  CUmodule module;
  CUfunction function;
  GstBuffer *next;

  open_stream(&stream, ELEMENT, IN_CUDA_MEMORY);
  play(&stream);
  next = new_frame(&stream, GOOD_FRAMES);
  fail_unless(gst_cuda_context_push(stream.context));
  fail_unless_equals_int(CuModuleLoadData(&module, faulty_kernel), CUDA_SUCCESS);
  fail_unless_equals_int(CuModuleGetFunction(&function, module, "fault"), CUDA_SUCCESS);
  fail_unless_equals_int(CuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
                         CUDA_SUCCESS);
  CuStreamSynchronize(NULL);
  gst_cuda_context_pop(NULL);
  expect_end(&stream, next, "restart the application");
  close_stream(&stream);
}
GST_END_TEST

/* Takes all device memory, down to pieces of 2 MiB, which is what drivers hand out at least. */
static GArray *take_all_memory(GstCudaContext *context)
{
  GArray *pieces = g_array_new(FALSE, FALSE, sizeof(CUdeviceptr));

  fail_unless(gst_cuda_context_push(context));
  for (size_t bytes = (size_t)64 << 30; bytes >= (size_t)2 << 20;) {
    CUdeviceptr piece;

    if (CuMemAlloc(&piece, bytes) == CUDA_SUCCESS)
      g_array_append_val(pieces, piece);
    else
      bytes /= 2;
  }
  gst_cuda_context_pop(NULL);
  return pieces;
}

static void give_memory(GstCudaContext *context, GArray *pieces)
{
  fail_unless(gst_cuda_context_push(context));
  for (guint i = 0; i < pieces->len; i++)
    CuMemFree(g_array_index(pieces, CUdeviceptr, i));
  gst_cuda_context_pop(NULL);
  g_array_unref(pieces);
}

/* Larger frames come when nothing is left. */
GST_START_TEST(memory_runs_out)
{
  const CfVideo larger = cf_video(CF_FORMAT_RGBA, 3840, 2160);
  Stream stream;
  GstBuffer *next;
  GArray *pieces;

  open_stream(&stream, ELEMENT, IN_CUDA_MEMORY);
  play(&stream);
  gst_harness_push_event(stream.harness, gst_event_new_flush_start());
  gst_harness_push_event(stream.harness, gst_event_new_flush_stop(TRUE));
  count_outputs(&stream);
  if (stream.pool) {
    free_device_pool(stream.pool);
    stream.pool = device_pool(stream.context, &larger, NULL);
  }
  stream.video = larger;
  next = new_frame(&stream, GOOD_FRAMES);
  pieces = take_all_memory(stream.context);
  set_caps(&stream, &larger);
  expect_end(&stream, next, "memory");
  give_memory(stream.context, pieces);
  close_stream(&stream);
  expect_new_stream_works(ELEMENT, IN_CUDA_MEMORY);
}
GST_END_TEST

static void add_tests(TCase *tests)
{
  tcase_set_timeout(tests, 120);
  tcase_add_loop_test(tests, a_kernel_faults, 0, 2 * N_ELEMENTS);
  tcase_add_loop_test(tests, memory_runs_out, 0, 2 * N_ELEMENTS);
}

/* In a process of its own: a driver that has been used does not survive the fork of each test,
 * which there must be, since after a fault no CUDA works in a process any more. */
static gboolean has_gpu(void)
{
  const pid_t child = fork();
  int status = 1;

  if (child == 0)
    _exit(gst_cuda_load_library() && gst_cuda_context_new(0) ? 0 : 1);
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

int main(int argc, char **argv)
{
  gst_init(&argc, &argv);
  if (!has_gpu()) {
    printf("1..0 # SKIP no CUDA context can be created here\n");
    return 0;
  }
  return run_tests(argc, argv, "gpu-errors", add_tests);
}
