/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The NDI runtime, loaded if it is installed. It is not part of this program, which declares the
 * few structures that it needs of the runtime's documented C interface.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <glib.h>

#define RELAY_NDI_FOURCC(a, b, c, d)                                                               \
  ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

/* Results of recv_capture_v3. */
enum {
  RELAY_NDI_FRAME_VIDEO = 1,
  RELAY_NDI_FRAME_ERROR = 4,
};

/* Formats that a receiver asks for: without alpha and with alpha. */
enum {
  RELAY_NDI_COLOR_UYVY_BGRA = 1,
  RELAY_NDI_COLOR_RGBX_RGBA = 2,
};

#define RELAY_NDI_BANDWIDTH_HIGHEST 100
#define RELAY_NDI_PROGRESSIVE       1

/* As a timecode to send: let the runtime make one. As a received one: none. */
#define RELAY_NDI_NO_TIMECODE INT64_MAX

typedef struct {
  const char *name; /* "MACHINE (SOURCE)", or NULL */
  const char *url;  /* "HOST:PORT", or NULL: found by name */
} RelayNdiAddress;

typedef struct {
  int width, height;
  uint32_t fourcc;
  int rate_numerator, rate_denominator;
  float picture_aspect_ratio; /* 0: square pixels */
  int frame_format;
  int64_t timecode; /* in 100 ns */
  uint8_t *data;
  int stride; /* in bytes, of the first plane */
  const char *metadata;
  int64_t timestamp;
} RelayNdiVideo;

typedef struct {
  RelayNdiAddress source;
  int color_format;
  int bandwidth;
  bool allow_fields;
  const char *receiver_name;
} RelayNdiReceiverSettings;

typedef struct {
  const char *name;
  const char *groups;
  bool clock_video, clock_audio;
} RelayNdiSenderSettings;

/* The functions; their names have the prefix NDIlib_ in the library. */
typedef struct {
  bool (*initialize)(void);
  const char *(*version)(void);
  void *(*recv_create_v3)(const RelayNdiReceiverSettings *settings);
  void (*recv_destroy)(void *receiver);
  int (*recv_capture_v3)(void *receiver, RelayNdiVideo *video, void *audio, void *metadata,
                         uint32_t timeout_ms);
  void (*recv_free_video_v2)(void *receiver, const RelayNdiVideo *video);
  int (*recv_get_no_connections)(void *receiver);
  void *(*send_create)(const RelayNdiSenderSettings *settings);
  void (*send_destroy)(void *sender);
  void (*send_send_video_async_v2)(void *sender, const RelayNdiVideo *video);
} RelayNdi;

/* Loads the runtime once, and keeps it until the program ends. NULL with APP_ERROR_MISSING, which
 * says where to get it, or APP_ERROR_FAILED. */
const RelayNdi *relay_ndi_load(GError **error);
