/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which of several GPUs an element works on: the one that it is told, or the one that its frames
 * come from; pipelines on the same one share its context. On fake-gpu.
 */
#include "device-frames.h"
#include "fake-cuda.h"

#define CASE (&element_cases[__i__])

static GstHarness *open_on(const ElementCase *element, int device, GstBus **bus)
{
  GstElement *filter = gst_object_ref_sink(gst_element_factory_make(element->name, NULL));
  GstHarness *harness;

  *bus = gst_bus_new();
  gst_element_set_bus(filter, *bus);
  g_object_set(filter, "cuda-device-id", device, NULL);
  set_text(filter, "backend=cuda");
  set_text(filter, element->working);
  harness = gst_harness_new_with_element(filter, "sink", "src");
  gst_object_unref(filter);
  return harness;
}

static void close_harness(GstHarness *harness, GstBus *bus)
{
  gst_element_set_bus(harness->element, NULL);
  gst_object_unref(bus);
  gst_harness_teardown(harness);
}

/* What neighbours are told. */
static void assert_works_in(GstElement *element, GstCudaContext *context)
{
  GstCudaContext *its = context_of_element(element);

  fail_unless(its == context);
  gst_object_unref(its);
}

static int device_of(GstCudaContext *context)
{
  guint device;

  g_object_get(context, "cuda-device-id", &device, NULL);
  return (int)device;
}

GST_START_TEST(each_gpu_has_one_context)
{
  static const int wanted[] = {0, 1, -1, 1, 0}, device[] = {0, 1, 0, 1, 0};
  GstHarness *harness[5];
  GstBus *bus[5];
  GstCudaContext *context[5];

  for (int i = 0; i < 5; i++) {
    harness[i] = open_on(CASE, wanted[i], &bus[i]);
    context[i] = context_of_element(harness[i]->element);
    fail_unless_equals_int(device_of(context[i]), device[i]);
    fail_unless(context[i] == context[device[i]], "element %d has a context of its own", i);
  }
  for (int i = 0; i < 5; i++)
    close_harness(harness[i], bus[i]);
  for (int i = 2; i < 5; i++)
    gst_object_unref(context[i]);
  for (int i = 0; i < 2; i++) {
    fail_unless_equals_int(GST_OBJECT_REFCOUNT_VALUE(context[i]), 1);
    gst_object_unref(context[i]);
  }
}
GST_END_TEST

static void offer_context(GstElement *element, GstCudaContext *context)
{
  GstContext *offer = gst_context_new_cuda_context(context);

  gst_element_set_context(element, offer);
  gst_context_unref(offer);
}

static GstBusSyncReply answer_need(GstBus *bus, GstMessage *message, gpointer context)
{
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_NEED_CONTEXT)
    offer_context(GST_ELEMENT(GST_MESSAGE_SRC(message)), context);
  gst_message_unref(message);
  return GST_BUS_DROP;
}

/* The application's context, which it gives when asked, is the one that is kept: also where another
 * pipeline has one, or another is offered later. */
GST_START_TEST(the_application_gives_a_context)
{
  GstCudaContext *context = gst_cuda_context_new(0), *other = gst_cuda_context_new(0);
  GstElement *element = gst_element_factory_make(CASE->name, NULL);
  GstBus *bus = gst_bus_new(), *bus_before;
  GstHarness *before = open_on(CASE, 0, &bus_before);

  gst_object_ref_sink(element);
  gst_bus_set_sync_handler(bus, answer_need, context, NULL);
  gst_element_set_bus(element, bus);
  set_text(element, "backend=cuda");
  fail_unless_equals_int(gst_element_set_state(element, GST_STATE_PAUSED),
                         GST_STATE_CHANGE_SUCCESS);
  assert_works_in(element, context);
  offer_context(element, other);
  assert_works_in(element, context);
  gst_element_set_state(element, GST_STATE_NULL);
  gst_element_set_bus(element, NULL);
  gst_object_unref(element);
  gst_object_unref(bus);
  close_harness(before, bus_before);
  fail_unless_equals_int(GST_OBJECT_REFCOUNT_VALUE(context), 1);
  fail_unless_equals_int(GST_OBJECT_REFCOUNT_VALUE(other), 1);
  gst_object_unref(context);
  gst_object_unref(other);
}
GST_END_TEST

/* What is wanted where the frames come from GPU 1, and what the error says, if it is one. */
static const struct {
  int device;
  const char *error;
} choices[] = {
    {-1, NULL},
    {1, NULL},
    {0, "frames come from CUDA device 1, but cuda-device-id is 0: set it to 1 or -1"},
};

GST_START_TEST(frames_come_from_another_gpu)
{
  const ElementCase *element = &element_cases[__i__ / G_N_ELEMENTS(choices)];
  const guint choice = __i__ % G_N_ELEMENTS(choices);
  const CfVideo video = cf_video(CF_FORMAT_NV12, 40, 20);
  CfTestPicture *source = new_picture(&video, CF_LAYOUT_ALIGNED, CF_PATTERN_NOISE, 1);
  CfTestPicture *want = engine_output(element, element->working, source);
  GstCudaContext *context = gst_cuda_context_new(1);
  GstBufferPool *pool = device_pool(context, &video, NULL);
  GstHarness *harness;
  GstBus *bus;

  harness = open_on(element, choices[choice].device, &bus);
  gst_harness_set_src_caps(harness, device_caps(&video));
  if (choices[choice].error) {
    fail_unless_equals_int(gst_harness_push(harness, device_buffer(pool, source)),
                           GST_FLOW_NOT_NEGOTIATED);
  } else {
    GstBuffer *output = filter_buffer(harness, device_buffer(pool, source));

    fail_unless(context_of(output) == context);
    assert_shows(output, want, element->working);
    assert_works_in(harness->element, context);
  }
  assert_posted(bus, GST_MESSAGE_ERROR, choices[choice].error ? 1 : 0, choices[choice].error);
  close_harness(harness, bus);
  free_device_pool(pool);
  fail_unless_equals_int(GST_OBJECT_REFCOUNT_VALUE(context), 1);
  gst_object_unref(context);
  fail_unless_equals_int(fake_cuda_objects(), 0);
  cf_picture_free(source);
  cf_picture_free(want);
}
GST_END_TEST

static void add_tests(TCase *tests)
{
  tcase_add_loop_test(tests, each_gpu_has_one_context, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, the_application_gives_a_context, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, frames_come_from_another_gpu, 0, N_ELEMENTS * G_N_ELEMENTS(choices));
}

int main(int argc, char **argv)
{
  fake_cuda_set_devices(2);
  return run_fake_device_tests(argc, argv, "device-choice", add_tests);
}
