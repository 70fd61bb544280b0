/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "usage.h"

#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int device_mib(void)
{
  const char *visible = g_getenv("CUDA_VISIBLE_DEVICES");
  char *command =
      g_strdup_printf("nvidia-smi --id=%d --query-gpu=memory.used --format=csv,noheader,nounits",
                      visible ? atoi(visible) : 0);
  FILE *pipe = popen(command, "r");
  int used = -1;

  g_free(command);

  if (pipe) {
    if (fscanf(pipe, "%d", &used) != 1)
      used = -1;
    pclose(pipe);
  }
  return used;
}

double host_mib(void)
{
  FILE *file = fopen("/proc/self/statm", "r");
  long resident = -1;

  if (file) {
    if (fscanf(file, "%*d %ld", &resident) != 1)
      resident = -1;
    fclose(file);
  }
  return resident < 0 ? -1.0 : (double)resident * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}
