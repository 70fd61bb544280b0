/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 *   fuzz-pipeline [--seed N] [--runs N] [--seconds N] [--element NAME] [--verbose]
 *
 * Runs the cases of the seeds N, N + 1, ... until one fails, which it describes.
 */
#include "pipeline.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blockavg.h"
#include "llf.h"
#include "sepconv.h"

#define HANGS_SECONDS 120 /* for one case, also where sanitizers slow it down */
#define MOST_STEPS    24

static const FuzzElement elements[] = {
    {"cudallf", &cf_llf, false},
    {"cudagaussblur", &cf_gaussblur, true},
    {"cudablockavg", &cf_blockavg, true},
    {"cudasepconv", &cf_sepconv, false},
};

static const char *const ways[] = {"cpu", "reference", "cuda, system memory", "cuda, CUDA memory"};

static const FuzzCase *running;
static gboolean verbose;

/* Telling */

static void tell(const FuzzCase *self)
{
  fprintf(stderr, "\nfuzz-pipeline: seed %" G_GUINT64_FORMAT ", %s, %s:\n%s", self->seed,
          self->kind->name, ways[self->way], self->history->str);
}

void fuzz_case_fail(const FuzzCase *self, const char *format, ...)
{
  va_list arguments;

  tell(self);
  va_start(arguments, format);
  fprintf(stderr, "FAILS: ");
  vfprintf(stderr, format, arguments);
  fprintf(stderr, "\nagain: fuzz-pipeline --seed %" G_GUINT64_FORMAT " --runs 1\n", self->seed);
  va_end(arguments);
  _exit(1);
}

void fuzz_note(FuzzCase *self, const char *format, ...)
{
  const gsize start = self->history->len;
  va_list arguments;

  va_start(arguments, format);
  g_string_append_vprintf(self->history, format, arguments);
  va_end(arguments);
  g_string_append_c(self->history, '\n');
  if (verbose)
    fputs(self->history->str + start, stderr);
}

/* Aborts are GLib's criticals and sanitizers' findings. */
static void tell_of_signal(int number)
{
  if (running) {
    tell(running);
    fprintf(stderr, "FAILS: %s\nagain: fuzz-pipeline --seed %" G_GUINT64_FORMAT " --runs 1\n",
            number == SIGALRM ? "something waits for ever" : "the process ends", running->seed);
  }
  _exit(1);
}

/* Frames */

/* Whether settings or caps are such that an error is due: none may come out of it otherwise. */
static void expect_refusal(FuzzCase *self, const char *doing)
{
  const char *refusal = fuzz_settings_refusal(self->kind, &self->format->video, self->wanted);

  fuzz_life_take_messages(self);
  if (self->errors != 1)
    fuzz_case_fail(self, "%s fails with %u errors instead of one", doing, self->errors);
  if (!refusal && !self->animated && !self->refused_start)
    fuzz_case_fail(self, "%s fails, and nothing was to be refused: %s", doing, self->said);
}

static void lose_expected(FuzzCase *self)
{
  FuzzFrame *frame;

  while ((frame = g_queue_pop_head(self->expected)))
    fuzz_frame_free(frame);
}

/* After an error: what is held is lost, and allowed settings work again. */
static void start_over(FuzzCase *self)
{
  fuzz_life_set_state(self, GST_STATE_NULL);
  fuzz_life_collect(self, false);
  lose_expected(self);
  fuzz_life_take_messages(self);
  if (self->animated)
    fuzz_settings_animate(self);
  fuzz_settings_mend(self);
}

static void start(FuzzCase *self)
{
  if (fuzz_life_set_state(self, GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE) {
    expect_refusal(self, "the start");
    start_over(self);
    if (fuzz_life_set_state(self, GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE)
      fuzz_case_fail(self, "the start fails with default settings");
  }
  fuzz_life_take_messages(self);
}

static void push_caps(FuzzCase *self)
{
  gst_pad_push_event(self->source, gst_event_new_caps(self->format->caps));
}

/* Everything that a stream begins with; a started element has it anew from the pad. */
static void begin(FuzzCase *self)
{
  gst_pad_push_event(self->source, gst_event_new_stream_start("fuzz"));
  push_caps(self);
  fuzz_life_segment(self);
  fuzz_settings_begin(self);
}

static void check_messages(FuzzCase *self)
{
  fuzz_life_take_messages(self);
  if (self->errors > 0)
    fuzz_case_fail(self, "an error, although frames flow on: %s", self->said);
  if (self->refused && self->warnings == 0)
    fuzz_case_fail(self, "a value is refused without a warning");
  self->refused = false;
}

/* Only the first frame after a start or new caps may meet settings that no frame can have. */
static void push_frame(FuzzCase *self, bool may_fail)
{
  GstBuffer *buffer;
  FuzzFrame *frame = fuzz_frame_new(self, &buffer);
  GstFlowReturn flow;

  fuzz_masks_look(self, frame);
  g_queue_push_tail(self->expected, frame);
  flow = gst_pad_push(self->source, buffer);
  if (flow == GST_FLOW_OK) {
    frame->params = fuzz_settings_in_force(self);
    check_messages(self);
    return;
  }
  frame->params = NULL;
  if (!may_fail) {
    fuzz_life_take_messages(self);
    fuzz_case_fail(self, "frame %u ends the stream: %s, %s", frame->number, gst_flow_get_name(flow),
                   self->said ? self->said : "without an error");
  }
  expect_refusal(self, "a frame");
  start_over(self);
  start(self);
  begin(self);
}

static void change_format(FuzzCase *self)
{
  fuzz_format_unref(self->format);
  self->format = fuzz_format_new(self);
  push_caps(self);
  push_frame(self, true);
}

static void stop_and_go(FuzzCase *self)
{
  fuzz_life_drain(self);
  fuzz_life_set_state(self, fuzz_one_in(self, 2) ? GST_STATE_NULL : GST_STATE_READY);
  if (fuzz_one_in(self, 3))
    fuzz_settings_change(self);
  start(self);
  begin(self);
  push_frame(self, true);
}

static void swap(FuzzCase *self)
{
  fuzz_life_drain(self);
  fuzz_life_swap(self);
  if (fuzz_one_in(self, 2))
    fuzz_settings_change(self);
  start(self);
  begin(self);
  push_frame(self, true);
}

/* The receiver is another one, or thinks better of it. */
static void change_receiver(FuzzCase *self)
{
  fuzz_life_drain(self);
  g_atomic_int_set(&self->takes_meta, fuzz_below(self, 2));
  self->pool_max =
      self->way == FUZZ_CUDA_MEMORY || !fuzz_one_in(self, 3) ? 0 : (guint)(1 + fuzz_below(self, 3));
  fuzz_note(self, "the receiver %s GstVideoMeta, pool of %u",
            self->takes_meta ? "offers" : "does not offer", self->pool_max);
  gst_pad_push_event(self->sink, gst_event_new_reconfigure());
}

/* The device fails in the middle: one error at most, what comes out is right, nothing is lost in
 * silence, and the next element works. */
static void break_device(FuzzCase *self)
{
  const int count = 1 + fuzz_below(self, 3);
  FuzzFrame *frames[3];
  GstBuffer *buffers[3];
  GstFlowReturn flow = GST_FLOW_OK;

  if (!self->device)
    return;
  fuzz_life_drain(self);
  for (int i = 0; i < count; i++)
    frames[i] = fuzz_frame_new(self, &buffers[i]);
  fuzz_device_fail(self);
  for (int i = 0; i < count; i++) {
    if (flow != GST_FLOW_OK) {
      gst_buffer_unref(buffers[i]);
      fuzz_frame_free(frames[i]);
      continue;
    }
    fuzz_masks_look(self, frames[i]);
    g_queue_push_tail(self->expected, frames[i]);
    flow = gst_pad_push(self->source, buffers[i]);
    frames[i]->params = flow == GST_FLOW_OK ? fuzz_settings_in_force(self) : NULL;
  }
  gst_pad_push_event(self->source, gst_event_new_gap(self->clock, 1));
  fuzz_device_heal(self);
  fuzz_life_take_messages(self);
  if (self->errors > 1)
    fuzz_case_fail(self, "%u errors for one failure", self->errors);
  if (flow != GST_FLOW_OK && self->errors == 0)
    fuzz_case_fail(self, "a frame ends the stream without an error");
  fuzz_life_collect(self, self->errors == 0);
  lose_expected(self);
  fuzz_life_set_state(self, GST_STATE_NULL);
  fuzz_device_renew(self);
  fuzz_life_swap(self);
  start(self);
  begin(self);
  push_frame(self, true);
}

static void answer(FuzzCase *self)
{
  fuzz_note(self, "every frame is waited for");
  fuzz_life_collect(self, true);
}

static void take_step(FuzzCase *self)
{
  static void (*const rare[])(FuzzCase *) = {
      change_format,   stop_and_go,           swap,
      change_receiver, fuzz_life_flush,       answer,
      fuzz_life_drain, fuzz_settings_animate, break_device,
  };

  if (fuzz_one_in(self, 3))
    rare[fuzz_below(self, G_N_ELEMENTS(rare))](self);
  for (int changes = fuzz_below(self, 3); changes > 0; changes--)
    fuzz_settings_change(self);
  for (int frames = fuzz_below(self, 4); frames > 0; frames--)
    push_frame(self, false);
  fuzz_life_collect(self, false);
}

/* Cases */

static void run_case(guint64 seed, const char *element, guint *frames)
{
  FuzzCase self = {.seed = seed, .random = {seed}, .history = g_string_new("")};

  do
    self.kind = &elements[fuzz_below(&self, G_N_ELEMENTS(elements))];
  while (element && strcmp(element, self.kind->name) != 0);
  self.way = fuzz_one_in(&self, 12) && self.kind->regions ? FUZZ_REFERENCE : FUZZ_CPU;
  if (fuzz_device_exists())
    self.way = fuzz_one_in(&self, 2) ? FUZZ_CUDA_SYSTEM : FUZZ_CUDA_MEMORY;
  self.takes_meta = fuzz_below(&self, 2);
  self.live = fuzz_below(&self, 2);
  running = &self;
  alarm(HANGS_SECONDS);
  if (self.way >= FUZZ_CUDA_SYSTEM)
    fuzz_device_open(&self);
  fuzz_life_new(&self);
  self.format = fuzz_format_new(&self);
  for (int changes = fuzz_below(&self, 4); changes > 0; changes--)
    fuzz_settings_change(&self);
  start(&self);
  begin(&self);
  push_frame(&self, true);
  for (int steps = 1 + fuzz_below(&self, MOST_STEPS); steps > 0; steps--)
    take_step(&self);
  fuzz_note(&self, "end of stream");
  gst_pad_push_event(self.source, gst_event_new_eos());
  fuzz_life_collect(&self, true);
  check_messages(&self);
  fuzz_life_free(&self);
  fuzz_settings_free(&self);
  fuzz_format_unref(self.format);
  if (self.device)
    fuzz_device_close(&self);
  alarm(0);
  running = NULL;
  *frames += self.compared;
  g_string_free(self.history, TRUE);
}

int main(int argc, char **argv)
{
  gint64 seed = 1;
  gint runs = 200, seconds = 0;
  gchar *element = NULL;
  const GOptionEntry entries[] = {
      {"seed", 0, 0, G_OPTION_ARG_INT64, &seed, "the first case", "N"},
      {"runs", 0, 0, G_OPTION_ARG_INT, &runs, "so many cases", "N"},
      {"seconds", 0, 0, G_OPTION_ARG_INT, &seconds, "no new case after that", "N"},
      {"element", 0, 0, G_OPTION_ARG_STRING, &element, "only this one", "NAME"},
      {"verbose", 0, 0, G_OPTION_ARG_NONE, &verbose, "tell of every step", NULL},
      {NULL},
  };
  GOptionContext *context = g_option_context_new(NULL);
  GError *error = NULL;
  gint64 start_time;
  guint frames = 0;
  gint done = 0;

  g_option_context_add_main_entries(context, entries, NULL);
  if (!g_option_context_parse(context, &argc, &argv, &error)) {
    fprintf(stderr, "fuzz-pipeline: %s\n", error->message);
    return 2;
  }
  g_option_context_free(context);
  gst_init(NULL, NULL);
  g_log_set_always_fatal(
      (GLogLevelFlags)(G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING | G_LOG_FATAL_MASK));
  signal(SIGALRM, tell_of_signal);
  signal(SIGABRT, tell_of_signal);
  signal(SIGTRAP, tell_of_signal);
  signal(SIGSEGV, tell_of_signal);
  start_time = g_get_monotonic_time();
  for (; done < runs; done++) {
    if (seconds > 0 && g_get_monotonic_time() - start_time > seconds * G_USEC_PER_SEC)
      break;
    run_case((guint64)seed + (guint64)done, element, &frames);
  }
  printf("fuzz-pipeline: seeds %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT
         ", %u frames compared in %.0f s, nothing found\n",
         seed, seed + done - 1, frames,
         (double)(g_get_monotonic_time() - start_time) / G_USEC_PER_SEC);
  g_free(element);
  return 0;
}
