/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fit.h"

#include "apps/common/elements.h"

typedef struct {
  RelayFit fit;
  GstElement *filter, *setter; /* not references: the bin owns them and this struct */
  gint width, height;          /* of the first frame, with RELAY_FIT_FIRST */
} State;

static void free_state(gpointer data)
{
  g_free((gchar *)((State *)data)->fit.formats);
  g_free(data);
}

static GstCaps *base_caps(const RelayFit *fit)
{
  g_autofree gchar *text =
      g_strdup_printf("video/x-raw%s%s%s", fit->in_cuda ? "(memory:CUDAMemory)" : "",
                      fit->formats ? ",format=" : "", fit->formats ? fit->formats : "");

  return gst_caps_from_string(text);
}

static gint encodable(gint size, gint least)
{
  return MAX(GST_ROUND_UP_2(size), GST_ROUND_UP_2(least));
}

/* Gives later frames the frame rate of the first, for containers in which it cannot change. */
static void pin_rate(const State *state, const GstStructure *structure)
{
  const GValue *rate = gst_structure_get_value(structure, "framerate");
  GstCaps *caps = gst_caps_new_empty_simple("video/x-raw");

  if (rate)
    gst_caps_set_value(caps, "framerate", rate);
  g_object_set(state->setter, "caps", caps, NULL);
  gst_caps_unref(caps);
}

static void choose_size(State *state, GstCaps *incoming)
{
  const GstStructure *structure = gst_caps_get_structure(incoming, 0);
  const RelayFit *fit = &state->fit;
  gint width, height, wanted_width, wanted_height;
  GstCaps *caps = base_caps(fit);

  if (!gst_structure_get_int(structure, "width", &width) ||
      !gst_structure_get_int(structure, "height", &height)) {
    gst_caps_unref(caps);
    return;
  }
  wanted_width = fit->size == RELAY_FIT_FIXED ? fit->width : encodable(width, fit->width);
  wanted_height = fit->size == RELAY_FIT_FIXED ? fit->height : encodable(height, fit->height);
  if (fit->size == RELAY_FIT_FIRST && state->width == 0) {
    state->width = wanted_width;
    state->height = wanted_height;
    pin_rate(state, structure);
  } else if (fit->size == RELAY_FIT_FIRST) {
    wanted_width = state->width;
    wanted_height = state->height;
  }
  if (fit->size == RELAY_FIT_FIRST || wanted_width != width || wanted_height != height)
    gst_caps_set_simple(caps, "width", G_TYPE_INT, wanted_width, "height", G_TYPE_INT,
                        wanted_height, "pixel-aspect-ratio", GST_TYPE_FRACTION, 1, 1, NULL);
  g_object_set(state->filter, "caps", caps, NULL);
  gst_caps_unref(caps);
}

static GstPadProbeReturn watch_caps(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  GstEvent *event = GST_PAD_PROBE_INFO_EVENT(info);
  GstCaps *caps;

  if (GST_EVENT_TYPE(event) == GST_EVENT_CAPS) {
    gst_event_parse_caps(event, &caps);
    choose_size(data, caps);
  }
  return GST_PAD_PROBE_OK;
}

/* Appends an element to the chain in `bin`, which ends with `*last`. */
static GstElement *append(GstBin *bin, GstElement **last, const gchar *factory, GError **error)
{
  GstElement *element = app_element_make(factory, NULL, NULL, error);

  if (!element)
    return NULL;
  gst_bin_add(bin, element);
  if (*last)
    gst_element_link(*last, element);
  *last = element;
  return element;
}

static gboolean append_converters(GstBin *bin, GstElement **last, const RelayFit *fit,
                                  GError **error)
{
  GstElement *scale;

  if (fit->in_cuda)
    return append(bin, last, "videoconvert", error) != NULL &&
           append(bin, last, "cudaupload", error) != NULL &&
           append(bin, last, "cudaconvertscale", error) != NULL;
  if (fit->download && app_element_exists("cudadownload") &&
      !append(bin, last, "cudadownload", error))
    return FALSE;
  if (!append(bin, last, "videoconvert", error))
    return FALSE;
  scale = append(bin, last, "videoscale", error);
  /* No black border where a size is rounded up by a pixel. */
  if (scale && fit->size == RELAY_FIT_EVEN)
    g_object_set(scale, "add-borders", FALSE, NULL);
  return scale != NULL;
}

/* A capssetter does not restrict the caps upstream of it, so a capsfilter before it does. */
static gboolean append_capssetter(State *state, GstBin *bin, GstElement **last, GError **error)
{
  GstElement *formats = append(bin, last, "capsfilter", error);
  g_autoptr(GstCaps) caps = base_caps(&state->fit);

  if (!formats)
    return FALSE;
  g_object_set(formats, "caps", caps, NULL);
  state->setter = append(bin, last, "capssetter", error);
  return state->setter != NULL;
}

static void add_ghost_pad(GstElement *bin, GstElement *element, const gchar *name)
{
  GstPad *pad = gst_element_get_static_pad(element, name);

  gst_element_add_pad(bin, gst_ghost_pad_new(name, pad));
  gst_object_unref(pad);
}

GstElement *relay_fit_new(const RelayFit *fit, GError **error)
{
  GstElement *bin = gst_bin_new("fit"), *last = NULL, *first;
  State *state = g_new0(State, 1);
  GstCaps *caps;
  GstPad *pad;

  state->fit = *fit;
  state->fit.formats = g_strdup(fit->formats);
  g_object_set_data_full(G_OBJECT(bin), "state", state, free_state);
  first = append(GST_BIN(bin), &last, "identity", error);
  if (!first || !append_converters(GST_BIN(bin), &last, fit, error))
    goto failed;
  if (fit->size == RELAY_FIT_FIRST && !append_capssetter(state, GST_BIN(bin), &last, error))
    goto failed;
  state->filter = append(GST_BIN(bin), &last, "capsfilter", error);
  if (!state->filter)
    goto failed;
  g_object_set(first, "silent", TRUE, NULL);
  caps = base_caps(fit);
  g_object_set(state->filter, "caps", caps, NULL);
  gst_caps_unref(caps);
  add_ghost_pad(bin, first, "sink");
  add_ghost_pad(bin, last, "src");
  if (fit->size != RELAY_FIT_ANY) {
    pad = gst_element_get_static_pad(bin, "sink");
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, watch_caps, state, NULL);
    gst_object_unref(pad);
  }
  return bin;

failed:
  gst_object_unref(gst_object_ref_sink(bin));
  return NULL;
}
