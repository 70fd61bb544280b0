/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The plugin on a GStreamer of the other side of 1.24 than it was built for, whose CUDA library has
 * another ABI: it loads, also where warnings are fatal (G_DEBUG, set by meson.build), offers no
 * CUDA memory, and says why. On fake-gpu.
 */
#include "elements.h"

/* In the place of GStreamer's, for the plugin too. */
__attribute__((visibility("default"))) void gst_version(guint *major, guint *minor, guint *micro,
                                                        guint *nano)
{
  *major = 1;
  *minor = GST_CHECK_VERSION(1, 24, 0) ? 22 : 24;
  *micro = *nano = 0;
}

static gboolean takes_cuda_memory(GstElement *element)
{
  GstPad *pad = gst_element_get_static_pad(element, "sink");
  GstCaps *caps = gst_pad_get_pad_template_caps(pad);
  gboolean takes = FALSE;

  for (guint i = 0; i < gst_caps_get_size(caps); i++)
    takes |= gst_caps_features_contains(gst_caps_get_features(caps, i), "memory:CUDAMemory");
  gst_caps_unref(caps);
  gst_object_unref(pad);
  return takes;
}

GST_START_TEST(system_memory_is_left)
{
  GstElement *element = gst_check_setup_element(element_cases[__i__].name);
  GstBus *bus = gst_bus_new();

  fail_if(takes_cuda_memory(element));
  gst_element_set_bus(element, bus);
  set_text(element, "backend=cuda");
  fail_unless_equals_int(gst_element_set_state(element, GST_STATE_PAUSED),
                         GST_STATE_CHANGE_FAILURE);
  assert_posted(bus, GST_MESSAGE_ERROR, 1, "built for another GStreamer than it runs with");
  set_text(element, "backend=auto");
  gst_element_set_state(element, GST_STATE_NULL);
  fail_unless_equals_int(gst_element_set_state(element, GST_STATE_PAUSED),
                         GST_STATE_CHANGE_SUCCESS);
  gst_element_set_state(element, GST_STATE_NULL);
  gst_element_set_bus(element, NULL);
  gst_object_unref(bus);
  gst_check_teardown_element(element);
}
GST_END_TEST

#if GST_CHECK_VERSION(1, 24, 0)
GST_START_TEST(the_plugin_says_so)
{
  GstPlugin *plugin = gst_registry_find_plugin(gst_registry_get(), "cudafilters");
  gchar **warnings = gst_plugin_get_status_warnings(plugin);

  fail_unless(warnings && g_strv_length(warnings) == 1 && strstr(warnings[0], "Rebuild it"));
  g_strfreev(warnings);
  gst_object_unref(plugin);
}
GST_END_TEST
#endif

static void add_tests(TCase *tests)
{
  tcase_add_loop_test(tests, system_memory_is_left, 0, N_ELEMENTS);
#if GST_CHECK_VERSION(1, 24, 0)
  tcase_add_test(tests, the_plugin_says_so);
#endif
}

int main(int argc, char **argv)
{
  gst_init(&argc, &argv);
  return run_tests(argc, argv, "device-mismatch", add_tests);
}
