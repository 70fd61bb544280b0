# SPDX-License-Identifier: LGPL-2.1-or-later
"""Exports the settings as a gst-launch-1.0 line, a C program or a Python program."""
import shlex

from .source import quoted

# A single picture would vanish from the window at once.
STILLS = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".tif", ".tiff")

C_PROGRAM = """/* cc program.c $(pkg-config --cflags --libs gstreamer-1.0) */
#include <gst/gst.h>

int main(int argc, char **argv)
{{
  GstElement *pipeline, *filter;
  GstMessage *message;
  GError *error = NULL;
  int status = 0;

  gst_init(&argc, &argv);
  pipeline = gst_parse_launch(
      {head}
      " ! videoconvert ! {element} name=filter ! videoconvert ! autovideosink",
      &error);
  if (!pipeline) {{
    g_printerr("%s\\n", error->message);
    return 1;
  }}
  filter = gst_bin_get_by_name(GST_BIN(pipeline), "filter");
{settings}  gst_object_unref(filter);

  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  message = gst_bus_timed_pop_filtered(GST_ELEMENT_BUS(pipeline), GST_CLOCK_TIME_NONE,
                                       GST_MESSAGE_ERROR | GST_MESSAGE_EOS);
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {{
    gst_message_parse_error(message, &error, NULL);
    g_printerr("%s\\n", error->message);
    status = 1;
  }}
  gst_message_unref(message);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pipeline);
  return status;
}}
"""

PYTHON_PROGRAM = """import sys

import gi
gi.require_version("Gst", "1.0")
from gi.repository import Gst

Gst.init(None)
pipeline = Gst.parse_launch(
    {head}
    " ! videoconvert ! {element} name=filter ! videoconvert ! autovideosink")
element = pipeline.get_by_name("filter")
{settings}
pipeline.set_state(Gst.State.PLAYING)
message = pipeline.get_bus().timed_pop_filtered(
    Gst.CLOCK_TIME_NONE, Gst.MessageType.ERROR | Gst.MessageType.EOS)
pipeline.set_state(Gst.State.NULL)
if message.type == Gst.MessageType.ERROR:
    sys.exit(message.parse_error()[0].message)
"""


def head_of(place):
    """The source: elements with their properties, as lists of words."""
    if place.kind == "camera":
        words = ["v4l2src"] + ([f"device={place.where}"] if place.where else [])
        return [words, ["decodebin"]]
    if place.kind == "test":
        return [["videotestsrc", f"pattern={place.where}"],
                ["video/x-raw,width=1280,height=720,framerate=25/1"]]
    if place.path:
        still = place.path.lower().endswith(STILLS)
        return [["filesrc", f"location={place.path}"], ["decodebin"]] + [["imagefreeze"]] * still
    return [["uridecodebin", f"uri={place.where}"]]


def _described(words):
    """An element with its properties, for gst_parse_launch."""
    properties = (word.partition("=") for word in words[1:])
    return " ".join([words[0], *(f"{name}={quoted(value)}" for name, _, value in properties)])


def description_of(place):
    return " ! ".join(_described(words) for words in head_of(place))


def as_launch(element, settings, place):
    """`settings`: {property: text} of properties not at their default."""
    words = ["gst-launch-1.0"]
    for part in head_of(place):
        words += [*(shlex.quote(word) for word in part), "!"]
    words += ["videoconvert", "!", element]
    words += [shlex.quote(f"{name}={text}") for name, text in settings.items()]
    return " ".join([*words, "!", "videoconvert", "!", "autovideosink"])


def _c_string(text):
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def as_c(element, settings, place):
    lines = "".join(
        f"  gst_util_set_object_arg(G_OBJECT(filter), {_c_string(name)}, {_c_string(text)});\n"
        for name, text in settings.items())
    return C_PROGRAM.format(head=_c_string(description_of(place)), element=element, settings=lines)


def as_python(element, settings, place):
    lines = "".join(f"Gst.util_set_object_arg(element, {name!r}, {text!r})\n"
                    for name, text in settings.items())
    return PYTHON_PROGRAM.format(head=repr(description_of(place)), element=element, settings=lines)


WAYS = {"gst-launch": as_launch, "C": as_c, "Python": as_python}
