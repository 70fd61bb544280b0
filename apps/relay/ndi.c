/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ndi.h"

#include <dlfcn.h>

#include "apps/common/error.h"

static const gchar *const folder_variables[] = {"NDI_RUNTIME_DIR_V6", "NDI_RUNTIME_DIR_V5"};
static const gchar *const usual_folders[] = {"", /* where the loader looks */
                                             "/usr/local/lib", "/usr/lib"};
static const gchar *const file_names[] = {"libndi.so.6", "libndi.so.5", "libndi.so"};

static void *open_in(const gchar *folder)
{
  void *library = NULL;

  for (gsize i = 0; !library && i < G_N_ELEMENTS(file_names); i++) {
    g_autofree gchar *path =
        *folder ? g_build_filename(folder, file_names[i], NULL) : g_strdup(file_names[i]);

    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  }
  return library;
}

static void *open_library(void)
{
  void *library = NULL;

  for (gsize i = 0; !library && i < G_N_ELEMENTS(folder_variables); i++) {
    const gchar *folder = g_getenv(folder_variables[i]);

    if (folder && *folder)
      library = open_in(folder);
  }
  for (gsize i = 0; !library && i < G_N_ELEMENTS(usual_folders); i++)
    library = open_in(usual_folders[i]);
  return library;
}

typedef struct {
  const gchar *name;
  gsize offset; /* of the pointer in RelayNdi */
} Function;

#define FUNCTION(name)                                                                             \
  {                                                                                                \
    "NDIlib_" #name, G_STRUCT_OFFSET(RelayNdi, name)                                               \
  }

static const Function functions[] = {
    FUNCTION(initialize),
    FUNCTION(version),
    FUNCTION(recv_create_v3),
    FUNCTION(recv_destroy),
    FUNCTION(recv_capture_v3),
    FUNCTION(recv_free_video_v2),
    FUNCTION(recv_get_no_connections),
    FUNCTION(send_create),
    FUNCTION(send_destroy),
    FUNCTION(send_send_video_async_v2),
};

static gboolean find_functions(void *library, RelayNdi *ndi, GError **error)
{
  for (gsize i = 0; i < G_N_ELEMENTS(functions); i++) {
    void *found = dlsym(library, functions[i].name);

    if (!found) {
      g_set_error(error, APP_ERROR, APP_ERROR_MISSING,
                  "The NDI runtime that is installed has no %s: it is older than NDI 4.",
                  functions[i].name);
      return FALSE;
    }
    G_STRUCT_MEMBER(void *, ndi, functions[i].offset) = found;
  }
  return TRUE;
}

const RelayNdi *relay_ndi_load(GError **error)
{
  static RelayNdi ndi;
  static gboolean loaded;
  void *library;

  if (loaded)
    return &ndi;
  library = open_library();
  if (!library) {
    g_set_error(error, APP_ERROR, APP_ERROR_MISSING,
                "ndi: needs the NDI runtime, libndi.so.6, which is not found. Get the NDI SDK for "
                "Linux from https://ndi.video/for-developers/ndi-sdk/ and set NDI_RUNTIME_DIR_V6 "
                "to the folder of libndi.so.6.");
    return NULL;
  }
  if (!find_functions(library, &ndi, error)) {
    dlclose(library);
    return NULL;
  }
  if (!ndi.initialize()) {
    g_set_error(error, APP_ERROR, APP_ERROR_FAILED,
                "The NDI runtime does not run on this processor.");
    return NULL;
  }
  loaded = TRUE;
  return &ndi;
}
