/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "times.h"

GstClockTime relay_now(GstElement *pipeline)
{
  GstClock *clock = gst_element_get_clock(pipeline);
  const GstClockTime base = gst_element_get_base_time(pipeline);
  GstClockTime now = 0;

  if (clock) {
    now = gst_clock_get_time(clock);
    gst_object_unref(clock);
  }
  return now > base ? now - base : 0;
}

GstClockTime relay_running_time(GstPad *pad, const GstBuffer *buffer)
{
  GstEvent *event = gst_pad_get_sticky_event(pad, GST_EVENT_SEGMENT, 0);
  const GstSegment *segment;
  GstClockTime time = GST_BUFFER_PTS(buffer);

  if (!event)
    return time;
  gst_event_parse_segment(event, &segment);
  if (segment->format == GST_FORMAT_TIME)
    time = gst_segment_to_running_time(segment, GST_FORMAT_TIME, time);
  gst_event_unref(event);
  return time;
}
