/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cudafilters-relay: receives live video, filters the newest frame, and sends it on.
 *
 *   input:  source ... decoder ! appsink     replaced whenever the source fails
 *             -> slot (the newest frame)
 *   stage:  appsrc ! filter ! encoder ... sink     stays up; its errors end the program
 */
#include <locale.h>
#include <signal.h>
#include <unistd.h>
#include <gst/gst.h>

#include "apps/common/error.h"
#include "apps/common/signals.h"
#include "apps/common/terminal.h"
#include "commands.h"
#include "events.h"
#include "input.h"
#include "stage.h"

/* With --drop none: limit on waiting frames, before the source is held back. */
#define MAX_WAITING 60

/* Time to send the frames in flight at the end. */
#define DRAIN_SECONDS 5

/* Time for elements to stop. */
#define CLEAN_UP_SECONDS 5

typedef struct {
  RelayOptions options;
  RelayHardware hardware;
  RelayStats *stats;
  RelaySlot *slot;
  RelayContexts *contexts;
  RelayStage *stage;
  RelayInput *input;
  RelayCommands *commands;
  GMainLoop *loop;
  guint report, drain;
  gchar *reason; /* why the program ends */
  AppExit code;
} Relay;

static void quit(Relay *relay, const gchar *reason, AppExit code)
{
  if (!relay->reason) {
    relay->reason = g_strdup(reason);
    relay->code = code;
  }
  g_main_loop_quit(relay->loop);
}

static gboolean give_up_draining(gpointer data)
{
  Relay *relay = data;

  relay->drain = 0;
  relay_event_warning(&relay->options, "what was under way could not be sent in time");
  g_main_loop_quit(relay->loop);
  return G_SOURCE_REMOVE;
}

/* Ends the input, and the program when the frames in flight are sent. */
static void drain(Relay *relay, const gchar *reason, AppExit code)
{
  if (relay->drain)
    return;
  relay->reason = g_strdup(reason);
  relay->code = code;
  relay->drain = g_timeout_add_seconds(DRAIN_SECONDS, give_up_draining, relay);
  relay_slot_end(relay->slot);
}

static void stop_by_signal(gpointer data)
{
  drain(data, "stopped", APP_EXIT_OK);
}

static void input_has_ended(const gchar *reason, gboolean failed, gpointer data)
{
  Relay *relay = data;
  g_autofree gchar *text = g_strdup_printf("%s: %s", relay->options.from->shown, reason);

  if (failed)
    relay_event_error(&relay->options, text);
  drain(relay, reason, failed ? APP_EXIT_FAILED : APP_EXIT_OK);
}

static void stage_has_ended(const gchar *reason, gpointer data)
{
  Relay *relay = data;

  if (reason) {
    relay_event_error(&relay->options, reason);
    g_clear_pointer(&relay->reason, g_free);
  }
  quit(relay, reason ? reason : "stopped", reason ? APP_EXIT_FAILED : APP_EXIT_OK);
}

static gboolean report(gpointer data)
{
  Relay *relay = data;
  g_autofree gchar *backend = relay_stage_backend(relay->stage);

  relay_stats_report(relay->stats, backend, relay_stage_gpu_time(relay->stage),
                     relay->options.json);
  return G_SOURCE_CONTINUE;
}

static gboolean make_stage(Relay *relay, GError **error)
{
  const RelayStageSetup setup = {&relay->options, &relay->hardware, relay->stats, relay->slot,
                                 relay->contexts, stage_has_ended,  relay};

  relay->stage = relay_stage_new(&setup, error);
  return relay->stage != NULL;
}

static gboolean make_input(Relay *relay, GError **error)
{
  const RelayInputSetup setup = {&relay->options,
                                 relay->stats,
                                 relay->slot,
                                 relay->contexts,
                                 relay_stage_pipeline(relay->stage),
                                 relay_stage_caps(relay->stage),
                                 input_has_ended,
                                 relay};

  relay->input = relay_input_new(&setup, error);
  return relay->input != NULL;
}

static gboolean start(Relay *relay, GError **error)
{
  relay->hardware = relay_hardware_probe(relay->options.gpu);
  if (!make_stage(relay, error) || !make_input(relay, error))
    return FALSE;
  relay_event_started(&relay->options, &relay->hardware);
  /* A failure of the stage is reported on its bus, and ends the loop. */
  if (!relay_stage_start(relay->stage))
    return TRUE;
  relay_input_start(relay->input);
  relay->commands = relay_commands_new(&relay->options, relay_stage_filter(relay->stage));
  if (relay->options.interval > 0)
    relay->report = g_timeout_add(GST_TIME_AS_MSECONDS(relay->options.interval), report, relay);
  return TRUE;
}

static void run(Relay *relay)
{
  AppSignals signals;

  app_signals_install(&signals, stop_by_signal, relay);
  g_main_loop_run(relay->loop);
  app_signals_remove(&signals);
}

static volatile sig_atomic_t exit_code;

static void exit_anyway(int number)
{
  _exit(exit_code);
}

/* Exits even if an element does not stop because a network or a driver hangs. */
static void limit_clean_up(const Relay *relay)
{
  exit_code = relay->code;
  signal(SIGALRM, exit_anyway);
  alarm(CLEAN_UP_SECONDS);
}

static void clean_up(Relay *relay)
{
  g_clear_handle_id(&relay->report, g_source_remove);
  g_clear_handle_id(&relay->drain, g_source_remove);
  g_clear_pointer(&relay->commands, relay_commands_free);
  relay_slot_abort(relay->slot);
  g_clear_pointer(&relay->input, relay_input_free);
  g_clear_pointer(&relay->stage, relay_stage_free);
  relay_slot_free(relay->slot);
  relay_contexts_free(relay->contexts);
  relay_stats_free(relay->stats);
  relay_options_clear(&relay->options);
  g_main_loop_unref(relay->loop);
  g_free(relay->reason);
}

int main(int argc, char **argv)
{
  Relay relay = {0};
  g_autoptr(GError) error = NULL;
  RelayOptionsResult result;

  setlocale(LC_ALL, "");
  setlocale(LC_NUMERIC, "C");
  /* The video goes on without a reader of the output. */
  signal(SIGPIPE, SIG_IGN);
  g_set_prgname("cudafilters-relay");
  result = relay_options_read(&relay.options, argc, argv, &error);
  if (result == RELAY_OPTIONS_WRONG)
    app_complain(error->message);
  if (result != RELAY_OPTIONS_GO_ON) {
    relay_options_clear(&relay.options);
    return app_exit_code(error);
  }
  gst_init(NULL, NULL);
  relay.stats = relay_stats_new();
  relay.slot = relay.options.newest ? relay_slot_new(1, TRUE) : relay_slot_new(MAX_WAITING, FALSE);
  relay.contexts = relay_contexts_new();
  relay.loop = g_main_loop_new(NULL, FALSE);
  if (start(&relay, &error)) {
    run(&relay);
    relay_stats_summarize(relay.stats, relay.reason, relay.code != APP_EXIT_OK, relay.options.json);
  } else {
    app_complain(error->message);
    relay.code = app_exit_code(error);
  }
  limit_clean_up(&relay);
  clean_up(&relay);
  gst_deinit();
  return relay.code;
}
