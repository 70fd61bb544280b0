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
 * The events of a slot that was never used count as passed.
 */
#include "cuda/common/host_transfer.h"

#include <stdlib.h>
#include <string.h>

#define MAX_SLOTS 4

/* The planes of one strip in device memory, and its events. */
typedef struct {
  CfPicture source, result;
  void *uploaded, *filtered, *downloaded;
  void *source_free; /* filtered, and the next strip has its rows */
} Slot;

struct CfHostTransfer {
  void *upload, *download; /* streams, owned */
  void *stream;            /* of the last picture's filter, borrowed */
  CfStrips strips;
  void *memory; /* the slots' device memory, `bytes` of it */
  size_t bytes;
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

CfHostTransfer *cf_host_transfer_open(CfStatus *status)
{
  CfHostTransfer *transfer = calloc(1, sizeof *transfer);
  bool good;

  if (!transfer) {
    cf_fail(status, CF_ERROR_NO_MEMORY, "out of host memory");
    return NULL;
  }
  transfer->upload = cf_stream_create(status);
  transfer->download = transfer->upload ? cf_stream_create(status) : NULL;
  good = transfer->download;
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

static bool wait_for_all(CfHostTransfer *transfer, CfStatus *status)
{
  const bool uploaded = cf_stream_synchronize(transfer->upload, status);
  const bool filtered = !transfer->stream || cf_stream_synchronize(transfer->stream, status);

  return cf_stream_synchronize(transfer->download, status) && uploaded && filtered;
}

static void free_in_context(CfHostTransfer *transfer)
{
  if (transfer->upload && transfer->download)
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
  cf_stream_destroy(transfer->upload);
  cf_stream_destroy(transfer->download);
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

static bool copy(CfCopy direction, const CfVideo *video, const CfPicture *to, const CfPicture *from,
                 CfRows rows, void *stream, CfStatus *status)
{
  for (int plane = 0; rows.rows > 0 && plane < cf_format_info(video->format)->planes; plane++) {
    const CfRows part = cf_strips_plane_rows(video, plane, rows);
    const ptrdiff_t to_offset = to->stride[plane] * part.first;
    const ptrdiff_t from_offset = from->stride[plane] * part.first;

    if (!cf_copy_rows(
            direction, (uint8_t *)((uintptr_t)to->data[plane] + (uintptr_t)to_offset),
            to->stride[plane], (uint8_t *)((uintptr_t)from->data[plane] + (uintptr_t)from_offset),
            from->stride[plane], cf_row_bytes(video, plane), (size_t)part.rows, stream, status))
      return false;
  }
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

  transfer->next_slot = (transfer->next_slot + 1) % (unsigned)strips->slots;
  return cf_stream_wait_event(transfer->upload, slot->source_free, status) &&
         copy(CF_COPY_TO_DEVICE, &strips->video, &source, picture->source, strip.arriving,
              transfer->upload, status) &&
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
  return cf_event_synchronize(transfer->done[ticket % CF_HOST_TRANSFER_PICTURES], status);
}
