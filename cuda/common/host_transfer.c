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
 * copied into page-locked rows, those of several strips in one loop: its threads wait neither for
 * each other nor for what is enqueued, and copy while the rows of the loop before are uploaded.
 */
#include "cuda/common/host_transfer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plan/int_math.h"

#define MAX_SLOTS 4

/* Strips that one loop copies from ordinary memory, and the page-locked places for them, which are
 * used in turn: one is filled while the other is uploaded. */
#define BATCH_STRIPS 4
#define BATCHES      2

/* What a thread copies at a time, and how much of that another thread is worth waking for. */
#define CHUNK_BYTES   ((size_t)64 << 10)
#define THREAD_CHUNKS 8

/* Looks for an event, of half a microsecond each, before a wait sleeps between them. */
#define FEW_LOOKS 64
#define NAP_NS    20000

/* The planes of one strip in device memory, and its events. */
typedef struct {
  CfPicture source, result;
  void *uploaded, *filtered, *downloaded;
  void *source_free; /* filtered, and the next strip has its rows */
} Slot;

struct CfHostTransfer {
  void *upload, *download; /* streams, the device's */
  void *stream;            /* of the last picture's filter, borrowed */
  CfStrips strips;
  void *memory; /* the slots' device memory, `bytes` of it */
  size_t bytes;
  CfHostLoop copy_loop; /* copies into `staged`; NULL where sources are page-locked */
  int copy_threads;
  uint8_t *staged;      /* page-locked memory of all batches; NULL until it is needed */
  void *taken[BATCHES]; /* events: what was last copied there has been uploaded */
  unsigned next_batch;
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
  for (int i = 0; good && i < BATCHES; i++)
    good = create_event(&transfer->taken[i], status);
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
  for (int i = 0; i < BATCHES; i++)
    cf_event_destroy(transfer->taken[i]);
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

/* `from` has the strip's new rows, in page-locked memory. */
static bool enqueue_strip(CfHostTransfer *transfer, const Picture *picture, const CfPicture *from,
                          int index, CfStatus *status)
{
  const CfStrips *strips = &transfer->strips;
  const CfStrip strip = cf_strips_strip(strips, index);
  Slot *slot = &transfer->slots[transfer->next_slot];
  const CfPicture source = picture_from(&strips->video, &slot->source, strip.held.first);
  const CfPicture result = picture_from(&strips->result, &slot->result, strip.made.first);

  transfer->next_slot = (transfer->next_slot + 1) % (unsigned)strips->slots;
  return cf_stream_wait_event(transfer->upload, slot->source_free, status) &&
         copy(CF_COPY_TO_DEVICE, &strips->video, &source, from, strip.arriving, transfer->upload,
              status) &&
         cf_event_record(slot->uploaded, transfer->upload, status) &&
         enqueue_filter(transfer, picture, index, slot, &transfer->slots[transfer->next_slot],
                        status) &&
         cf_stream_wait_event(transfer->download, slot->filtered, status) &&
         copy(CF_COPY_TO_HOST, &strips->result, picture->destination, &result, strip.made,
              transfer->download, status) &&
         cf_event_record(slot->downloaded, transfer->download, status);
}

/* Rows with the same distance go as one piece. */
static void copy_to_staged(const CfVideo *video, const CfPicture *to, const CfPicture *from,
                           CfRows rows)
{
  for (int plane = 0; plane < cf_format_info(video->format)->planes; plane++) {
    const CfRows part = cf_strips_plane_rows(video, plane, rows);
    const size_t stride = (size_t)to->stride[plane], bytes = cf_row_bytes(video, plane);
    const int at_once = from->stride[plane] == to->stride[plane] ? part.rows : 1;

    for (int y = part.first; y < part.first + part.rows; y += at_once)
      memcpy(row_of(to, plane, y), row_of(from, plane, y), stride * (size_t)(at_once - 1) + bytes);
  }
}

/* The new rows of strips next to each other, which one loop copies in chunks. The thread that sends
 * them takes part, and enqueues those strips that are complete in between. */
typedef struct {
  CfHostTransfer *transfer;
  const Picture *picture;
  CfPicture staged;
  int first, count;                /* strips */
  int next;                        /* of them, to be enqueued */
  int chunks, chunk_rows;          /* of each */
  atomic_int copied[BATCH_STRIPS]; /* chunks of each */
  pthread_t sender;
  CfStatus *status;
  bool good;
} Batch;

static void enqueue_complete(Batch *batch)
{
  for (; batch->good && batch->next < batch->count &&
         atomic_load(&batch->copied[batch->next]) == batch->chunks;
       batch->next++)
    batch->good = enqueue_strip(batch->transfer, batch->picture, &batch->staged,
                                batch->first + batch->next, batch->status);
}

static void copy_chunks(void *context, int first, int end)
{
  Batch *batch = context;
  const CfStrips *strips = &batch->transfer->strips;

  for (int i = first; i < end; i++) {
    const int strip = i / batch->chunks, above = i % batch->chunks * batch->chunk_rows;
    const CfRows arriving = cf_strips_strip(strips, batch->first + strip).arriving;
    const CfRows rows = {arriving.first + above, cf_min(arriving.rows - above, batch->chunk_rows)};

    if (rows.rows > 0)
      copy_to_staged(&strips->video, &batch->staged, batch->picture->source, rows);
    atomic_fetch_add(&batch->copied[strip], 1);
    if (pthread_equal(pthread_self(), batch->sender))
      enqueue_complete(batch);
  }
}

static bool send_batch(CfHostTransfer *transfer, const Picture *picture, int first,
                       CfStatus *status)
{
  const CfStrips *strips = &transfer->strips;
  const CfVideo *video = &strips->video;
  const int rows = cf_min(BATCH_STRIPS * strips->rows + strips->halo, video->height);
  const size_t bytes = cf_strips_lay_out(video, rows, NULL, NULL);
  const int chunk_rows = 2 * (1 + (int)(CHUNK_BYTES / cf_strips_lay_out(video, 2, NULL, NULL)));
  const unsigned place = transfer->next_batch++ % BATCHES;
  Batch batch = {.transfer = transfer,
                 .picture = picture,
                 .first = first,
                 .count = cf_min(strips->count - first, BATCH_STRIPS),
                 .chunks = 1 + (strips->rows + strips->halo) / chunk_rows,
                 .chunk_rows = chunk_rows,
                 .sender = pthread_self(),
                 .status = status,
                 .good = true};
  const int chunks = batch.count * batch.chunks;
  CfPicture memory;

  if (!transfer->staged)
    transfer->staged = cf_pinned_alloc(BATCHES * bytes, status);
  if (!transfer->staged || !wait_for(transfer->taken[place], status))
    return false;
  cf_strips_lay_out(video, rows, transfer->staged + place * bytes, &memory);
  batch.staged = picture_from(video, &memory, cf_strips_strip(strips, first).arriving.first);
  transfer->copy_loop(cf_min(1 + chunks / THREAD_CHUNKS, transfer->copy_threads), chunks, 1,
                      copy_chunks, &batch);
  enqueue_complete(&batch);
  return batch.good && cf_event_record(transfer->taken[place], transfer->upload, status);
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
  for (int i = 0; good && i < transfer->strips.count; i += transfer->copy_loop ? BATCH_STRIPS : 1)
    good = transfer->copy_loop ? send_batch(transfer, &picture, i, status)
                               : enqueue_strip(transfer, &picture, source, i, status);
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
