/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A strip goes through a slot of device memory on three streams, which wait for each other by the
 * slot's events:
 *
 *   upload    waits for source_free; the strip's new rows -> slot.source; records uploaded
 *   filter    waits for uploaded and downloaded; slot.source -> slot.result; records filtered;
 *             copies the rows that the next strip reads too into its slot; records source_free
 *   download  waits for filtered; slot.result -> host; records downloaded
 *
 * The events of a slot that was never used count as passed. Rows from ordinary memory are first
 * copied into the slot's page-locked rows, once those before them have been uploaded.
 */
#include "cuda/common/host_transfer.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define MAX_SLOTS 4

/* What a thread copies at a time. */
#define COPY_BYTES ((size_t)64 << 10)

/* A thread more is worth waking for so much. */
#define THREAD_BYTES ((size_t)512 << 10)

/* Looks for an event, of half a microsecond each, before a wait sleeps between them. */
#define FEW_LOOKS 64
#define NAP_NS    20000

/* The planes of one strip in device memory, and its events. */
typedef struct {
  CfPicture source, result;
  CfPicture staged; /* page-locked, as `source`; where pictures come from ordinary memory */
  void *uploaded, *filtered, *downloaded;
  void *source_free; /* filtered, and the next strip has its rows */
} Slot;

struct CfHostTransfer {
  void *upload, *download; /* streams, the device's */
  void *stream;            /* of the last picture's filter, borrowed */
  CfStrips strips;
  void *memory; /* the slots' device memory, `bytes` of it */
  size_t bytes;
  void *staged;         /* the slots' page-locked memory; NULL until it is needed */
  CfHostLoop copy_loop; /* copies into it; NULL where sources are page-locked */
  int copy_threads;
  Slot slots[MAX_SLOTS]; /* used in turn */
  unsigned next_slot;
  void *done[CF_HOST_TRANSFER_PICTURES]; /* events: picture number n modulo these is in the host */
  unsigned sent;                         /* pictures */
};

static bool create_event(void **event, CfStatus *status)
{
  *event = cf_event_create(false, status);
  return *event != NULL;
}

CfHostTransfer *cf_host_transfer_open(const CfDevice *device, CfStatus *status)
{
  CfHostTransfer *transfer = calloc(1, sizeof *transfer);
  bool good = true;

  if (!transfer) {
    cf_fail(status, CF_ERROR_NO_MEMORY, "out of host memory");
    return NULL;
  }
  transfer->upload = cf_device_copy_stream(device, CF_COPY_TO_DEVICE);
  transfer->download = cf_device_copy_stream(device, CF_COPY_TO_HOST);
  for (int i = 0; good && i < MAX_SLOTS; i++) {
    Slot *slot = &transfer->slots[i];

    good = create_event(&slot->uploaded, status) && create_event(&slot->source_free, status) &&
           create_event(&slot->filtered, status) && create_event(&slot->downloaded, status);
  }
  for (int i = 0; good && i < CF_HOST_TRANSFER_PICTURES; i++)
    good = create_event(&transfer->done[i], status);
  if (!good) {
    cf_host_transfer_close(transfer);
    return NULL;
  }
  return transfer;
}

/* The driver's own wait keeps a processor busy. This one does for as long as a small picture takes,
 * and leaves it to others then: there may be more streams than processors. */
static bool wait_for(void *event, CfStatus *status)
{
  bool passed = false;

  for (int looks = 0; !passed; looks++) {
    if (!cf_event_passed(event, &passed, status))
      return false;
    if (!passed && looks >= FEW_LOOKS)
      nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
  }
  return true;
}

static bool wait_for_all(CfHostTransfer *transfer, CfStatus *status)
{
  const bool uploaded = cf_stream_synchronize(transfer->upload, status);
  const bool filtered = !transfer->stream || cf_stream_synchronize(transfer->stream, status);

  return cf_stream_synchronize(transfer->download, status) && uploaded && filtered;
}

static void free_in_context(CfHostTransfer *transfer)
{
  wait_for_all(transfer, NULL);
  for (int i = 0; i < MAX_SLOTS; i++) {
    cf_event_destroy(transfer->slots[i].uploaded);
    cf_event_destroy(transfer->slots[i].source_free);
    cf_event_destroy(transfer->slots[i].filtered);
    cf_event_destroy(transfer->slots[i].downloaded);
  }
  for (int i = 0; i < CF_HOST_TRANSFER_PICTURES; i++)
    cf_event_destroy(transfer->done[i]);
  cf_device_free(transfer->memory);
  cf_pinned_free(transfer->staged);
}

void cf_host_transfer_close(CfHostTransfer *transfer)
{
  if (!transfer)
    return;
  if (cf_context_is_current(NULL))
    free_in_context(transfer);
  free(transfer);
}

static bool is_same_cut(const CfStrips *a, const CfStrips *b)
{
  return a->video.format == b->video.format && a->result.format == b->result.format &&
         a->video.width == b->video.width && a->video.height == b->video.height &&
         a->halo == b->halo && a->rows == b->rows && a->slots == b->slots;
}

bool cf_host_transfer_set(CfHostTransfer *transfer, const CfStrips *strips, CfStatus *status)
{
  const size_t bytes = cf_strips_bytes(strips);
  uint8_t *memory;

  if (transfer->memory && is_same_cut(&transfer->strips, strips))
    return true;
  if (strips->slots > MAX_SLOTS)
    return cf_fail(status, CF_ERROR_INVALID, "at most %d strips can be under way", MAX_SLOTS);
  if (!wait_for_all(transfer, status))
    return false;
  cf_pinned_free(transfer->staged);
  transfer->staged = NULL;
  if (bytes != transfer->bytes) {
    cf_device_free(transfer->memory);
    transfer->bytes = 0;
    transfer->memory = cf_device_alloc(bytes, status);
    if (!transfer->memory)
      return false;
    transfer->bytes = bytes;
  }
  memory = transfer->memory;
  for (int i = 0; i < strips->slots; i++) {
    Slot *slot = &transfer->slots[i];

    cf_strips_lay_out(&strips->video, strips->source_rows, memory, &slot->source);
    memory += strips->source_bytes;
    cf_strips_lay_out(&strips->result, strips->rows, memory, &slot->result);
    memory += strips->result_bytes;
  }
  transfer->strips = *strips;
  transfer->next_slot = 0;
  return true;
}

/* The picture whose row `first` starts a slot's planes. Its earlier rows are not in memory, so
 * that the pointers to row 0 are numbers only. */
static CfPicture picture_from(const CfVideo *video, const CfPicture *slot, int first)
{
  CfPicture picture = *slot;

  for (int plane = 0; plane < cf_format_info(video->format)->planes; plane++) {
    const CfRows above = cf_strips_plane_rows(video, plane, (CfRows){0, first});

    picture.data[plane] = (uint8_t *)((uintptr_t)slot->data[plane] -
                                      (uintptr_t)slot->stride[plane] * (uintptr_t)above.rows);
  }
  return picture;
}

/* Without checks: pointers to rows that are not in memory are numbers. */
static uint8_t *row_of(const CfPicture *picture, int plane, int row)
{
  return (uint8_t *)((uintptr_t)picture->data[plane] +
                     (uintptr_t)(picture->stride[plane] * (ptrdiff_t)row));
}

/* Whether in a picture of whole planes the rows of the next plane follow on those of this one. */
static bool continues(const CfVideo *video, const CfPicture *picture, int plane)
{
  return plane + 1 < cf_format_info(video->format)->planes &&
         cf_row_bytes(video, plane + 1) == cf_row_bytes(video, plane) &&
         picture->stride[plane + 1] == picture->stride[plane] &&
         picture->data[plane + 1] == row_of(picture, plane, cf_plane_height(video, plane));
}

static bool copy(CfCopy direction, const CfVideo *video, const CfPicture *to, const CfPicture *from,
                 CfRows rows, void *stream, CfStatus *status)
{
  for (int plane = 0; rows.rows > 0 && plane < cf_format_info(video->format)->planes; plane++) {
    const int first = plane;
    CfRows part = cf_strips_plane_rows(video, plane, rows);

    /* Each copy costs more time than the bytes of a small plane. */
    for (;
         rows.rows == video->height && continues(video, to, plane) && continues(video, from, plane);
         plane++)
      part.rows += cf_plane_height(video, plane + 1);
    if (!cf_copy_rows(direction, row_of(to, first, part.first), to->stride[first],
                      row_of(from, first, part.first), from->stride[first],
                      cf_row_bytes(video, first), (size_t)part.rows, stream, status))
      return false;
  }
  return true;
}

void cf_host_transfer_stage(CfHostTransfer *transfer, CfHostLoop loop, int threads)
{
  transfer->copy_loop = loop;
  transfer->copy_threads = threads;
}

/* Page-locked rows for all slots. */
static bool allocate_staged(CfHostTransfer *transfer, CfStatus *status)
{
  const CfStrips *strips = &transfer->strips;
  uint8_t *memory = cf_pinned_alloc((size_t)strips->slots * strips->source_bytes, status);

  transfer->staged = memory;
  for (int i = 0; memory && i < strips->slots; i++, memory += strips->source_bytes)
    cf_strips_lay_out(&strips->video, strips->source_rows, memory, &transfer->slots[i].staged);
  return transfer->staged;
}

/* Only the device reads what is copied here, so it need not go through the caches. */
static void copy_bytes(uint8_t *to, const uint8_t *from, size_t bytes)
{
#ifdef __SSE2__
  for (; bytes >= 64 && (uintptr_t)to % 16 == 0; to += 64, from += 64, bytes -= 64) {
    for (int i = 0; i < 64; i += 16)
      _mm_stream_si128((__m128i *)(to + i), _mm_loadu_si128((const __m128i *)(from + i)));
  }
#endif
  memcpy(to, from, bytes);
}

typedef struct {
  const CfVideo *video;
  const CfPicture *to, *from;
  int first; /* row */
} HostCopy;

/* Row pairs of all planes. */
static void copy_pairs(void *context, int first, int end)
{
  const HostCopy *work = context;
  const CfVideo *video = work->video;
  const CfRows pairs = {work->first + 2 * first, 2 * (end - first)};

  for (int plane = 0; plane < cf_format_info(video->format)->planes; plane++) {
    const CfRows rows = cf_strips_plane_rows(video, plane, pairs);
    const int height = cf_plane_height(video, plane);

    for (int y = rows.first; y < rows.first + rows.rows && y < height; y++)
      copy_bytes(row_of(work->to, plane, y), row_of(work->from, plane, y),
                 cf_row_bytes(video, plane));
  }
#ifdef __SSE2__
  _mm_sfence();
#endif
}

static bool stage(CfHostTransfer *transfer, const Slot *slot, const CfStrip *strip,
                  const CfPicture *source, CfPicture *staged, CfStatus *status)
{
  const CfVideo *video = &transfer->strips.video;
  const HostCopy work = {video, staged, source, strip->arriving.first};
  const int pairs = (strip->arriving.rows + 1) / 2;
  const size_t bytes = cf_strips_lay_out(video, 2, NULL, NULL); /* of a pair */
  const size_t threads = 1 + bytes * (size_t)pairs / THREAD_BYTES;

  if ((!transfer->staged && !allocate_staged(transfer, status)) ||
      !wait_for(slot->uploaded, status))
    return false;
  *staged = picture_from(video, &slot->staged, strip->held.first);
  transfer->copy_loop(threads < (size_t)transfer->copy_threads ? (int)threads
                                                               : transfer->copy_threads,
                      pairs, 1 + (int)(COPY_BYTES / bytes), copy_pairs, (void *)&work);
  return true;
}

/* What one picture's strips have in common. */
typedef struct {
  const CfPicture *source, *destination;
  CfHostTransferFilter filter;
  void *context;
} Picture;

/* The carried rows go to the next slot right behind the filter, so that this slot can be filled
 * again before the next strip has arrived. */
static bool enqueue_filter(CfHostTransfer *transfer, const Picture *picture, int index, Slot *slot,
                           const Slot *next, CfStatus *status)
{
  const CfStrips *strips = &transfer->strips;
  const CfStrip strip = cf_strips_strip(strips, index);
  const CfJob job = {
      .source = picture_from(&strips->video, &slot->source, strip.held.first),
      .destination = picture_from(&strips->result, &slot->result, strip.made.first),
      .stream = transfer->stream,
      .first_row = strip.made.first,
      .rows = strips->count > 1 ? strip.made.rows : 0,
  };

  if (!cf_stream_wait_event(transfer->stream, slot->uploaded, status) ||
      !cf_stream_wait_event(transfer->stream, slot->downloaded, status) ||
      !picture->filter(picture->context, &job, status) ||
      !cf_event_record(slot->filtered, transfer->stream, status))
    return false;
  if (index + 1 < strips->count) {
    const CfStrip after = cf_strips_strip(strips, index + 1);
    const CfPicture to = picture_from(&strips->video, &next->source, after.held.first);

    if (!copy(CF_COPY_ON_DEVICE, &strips->video, &to, &job.source, after.carried, transfer->stream,
              status))
      return false;
  }
  return cf_event_record(slot->source_free, transfer->stream, status);
}

static bool enqueue_strip(CfHostTransfer *transfer, const Picture *picture, int index,
                          CfStatus *status)
{
  const CfStrips *strips = &transfer->strips;
  const CfStrip strip = cf_strips_strip(strips, index);
  Slot *slot = &transfer->slots[transfer->next_slot];
  CfPicture source = picture_from(&strips->video, &slot->source, strip.held.first);
  CfPicture result = picture_from(&strips->result, &slot->result, strip.made.first);
  CfPicture from = *picture->source;

  transfer->next_slot = (transfer->next_slot + 1) % (unsigned)strips->slots;
  return (!transfer->copy_loop || stage(transfer, slot, &strip, picture->source, &from, status)) &&
         cf_stream_wait_event(transfer->upload, slot->source_free, status) &&
         copy(CF_COPY_TO_DEVICE, &strips->video, &source, &from, strip.arriving, transfer->upload,
              status) &&
         cf_event_record(slot->uploaded, transfer->upload, status) &&
         enqueue_filter(transfer, picture, index, slot, &transfer->slots[transfer->next_slot],
                        status) &&
         cf_stream_wait_event(transfer->download, slot->filtered, status) &&
         copy(CF_COPY_TO_HOST, &strips->result, picture->destination, &result, strip.made,
              transfer->download, status) &&
         cf_event_record(slot->downloaded, transfer->download, status);
}

bool cf_host_transfer_send(CfHostTransfer *transfer, const CfPicture *source,
                           const CfPicture *destination, CfHostTransferFilter filter, void *context,
                           void *stream, unsigned *ticket, CfStatus *status)
{
  const Picture picture = {source, destination, filter, context};
  bool good = true;

  if (transfer->stream && transfer->stream != stream &&
      !cf_stream_synchronize(transfer->stream, status))
    return false;
  transfer->stream = stream;
  *ticket = transfer->sent++;
  for (int i = 0; good && i < transfer->strips.count; i++)
    good = enqueue_strip(transfer, &picture, i, status);
  good = good && cf_event_record(transfer->done[*ticket % CF_HOST_TRANSFER_PICTURES],
                                 transfer->download, status);
  if (!good)
    wait_for_all(transfer, NULL);
  return good;
}

bool cf_host_transfer_wait(CfHostTransfer *transfer, unsigned ticket, CfStatus *status)
{
  return wait_for(transfer->done[ticket % CF_HOST_TRANSFER_PICTURES], status);
}
