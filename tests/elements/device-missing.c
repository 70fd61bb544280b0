/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A GPU that does not open, for every reason there is: backend=cuda says why, and backend=auto is
 * the CPU. On fake-gpu.
 */
#include "device-frames.h"
#include "fake-cuda.h"

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

/* The context is the application's. */
GST_START_TEST(a_gpu_that_does_not_open_is_let_go)
{
  static const char *const needed[] = {"cuModuleLoadData", "cuMemPoolCreate", "cuStreamCreate",
                                       "cuEventCreate"};

  for (guint i = 0; i < G_N_ELEMENTS(needed); i++) {
    GstElement *element = gst_check_setup_element(element_cases[__i__].name);
    GstCudaContext *context = gst_cuda_context_new(0);
    GstContext *offer = gst_context_new_cuda_context(context);

    set_text(element, "backend=cuda");
    gst_element_set_context(element, offer);
    gst_context_unref(offer);
    fake_cuda_fail_function(needed[i], CUDA_ERROR_OUT_OF_MEMORY);
    fail_unless_equals_int(gst_element_set_state(element, GST_STATE_PAUSED),
                           GST_STATE_CHANGE_FAILURE);
    fake_cuda_fail_function(NULL, CUDA_SUCCESS);
    gst_check_teardown_element(element);
    fail_unless_equals_int(fake_cuda_objects(), 0);
    fail_unless_equals_int(GST_OBJECT_REFCOUNT_VALUE(context), 1);
    gst_object_unref(context);
  }
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
  tcase_add_loop_test(tests, a_gpu_that_does_not_open_is_let_go, 0, N_ELEMENTS);
  tcase_add_loop_test(tests, without_a_gpu_auto_is_the_cpu, 0, N_ELEMENTS * G_N_ELEMENTS(reasons));
}

int main(int argc, char **argv)
{
  return run_fake_device_tests(argc, argv, "device-missing", add_tests);
}
