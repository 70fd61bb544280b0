/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A strip passes through a slot of device memory, on three streams that wait for each other by the
 * slot's events:
 *
 *   upload    waits for source_free; the strip's new rows -> slot.source; records uploaded
 *   filter    waits for uploaded and downloaded; slot.source -> slot.result; records filtered;
 *             copies the rows that the next strip reads too to its slot; records source_free
 *   download  waits for filtered; slot.result -> host; records downloaded
 *
 * An event that was never recorded counts as passed. Rows in pageable memory are first copied to
 * page-locked memory: several strips (a batch) by one loop of several threads, which do not wait
 * for each other nor for the GPU, while the batch before is being uploaded.
 */
#include "cuda/common/host_transfer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plan/int_math.h"

#define MAX_SLOTS 4

/* Strips of a batch, and page-locked buffers for batches: one is filled while the other is
 * uploaded. */
#define BATCH_STRIPS 4
#define BATCHES      2

/* What a thread copies at a time, and the chunks per thread for which waking it pays. */
#define CHUNK_BYTES   ((size_t)64 << 10)
#define THREAD_CHUNKS 8

/* A wait polls an event this often without a pause, then with pauses of this length. */
#define BUSY_POLLS    64
#define POLL_PAUSE_NS 20000

/* The planes of one strip in device memory, and its events. */
typedef struct {
  CfPicture source, result;
  void *uploaded, *filtered, *downloaded;
  void *source_free; /* `source` was filtered, and its rows that the next slot has too are copied */
} Slot;

struct CfHostTransfer {
  void *upload, *download; /* the device's copy streams */
  void *stream;            /* of the last picture's filter, borrowed */
  CfStrips strips;
  void *memory; /* device memory of all slots, `bytes` long */
  size_t bytes;
  CfHostLoop copy_loop; /* fills `staged`; NULL where sources are page-locked */
  int copy_threads;
  uint8_t *staged;               /* page-locked memory of all batches; NULL until it is needed */
  void *batch_uploaded[BATCHES]; /* events: that batch's part of `staged` may be overwritten */
  unsigned next_batch;
  Slot slots[MAX_SLOTS]; /* used in turn */
  unsigned next_slot;
  void *downloaded[CF_HOST_TRANSFER_PICTURES]; /* events, of picture n at n modulo the length */
  unsigned sent;                               /* pictures */
};

static bool create_event(void **event, CfStatus *status)
{
  *event = cf_event_create(false, status);
  return *event != NULL;
}

CfHostTransfer *cf_host_transfer_open(const CfDevice *device, CfStatus *status)
{
  CfHostTransfer *transfer = cf_zeroed(sizeof *transfer, status);
  bool good = true;

  if (!transfer)
    return NULL;
  transfer->upload = cf_device_copy_stream(device, CF_COPY_TO_DEVICE);
  transfer->download = cf_device_copy_stream(device, CF_COPY_TO_HOST);
  for (int i = 0; good && i < MAX_SLOTS; i++) {
    Slot *slot = &transfer->slots[i];

    good = create_event(&slot->uploaded, status) && create_event(&slot->source_free, status) &&
           create_event(&slot->filtered, status) && create_event(&slot->downloaded, status);
  }
  for (int i = 0; good && i < BATCHES; i++)
    good = create_event(&transfer->batch_uploaded[i], status);
  for (int i = 0; good && i < CF_HOST_TRANSFER_PICTURES; i++)
    good = create_event(&transfer->downloaded[i], status);
  if (!good) {
    cf_host_transfer_close(transfer);
    return NULL;
  }
  return transfer;
}

/* The driver's own wait keeps a processor busy. This one polls without a pause for about as long as
 * a small picture takes, then with pauses: there may be more pipelines than processors. */
static bool wait_for(void *event, CfStatus *status)
{
  bool passed = false;

  for (int polls = 0; !passed; polls++) {
    if (!cf_event_passed(event, &passed, status))
      return false;
    if (!passed && polls >= BUSY_POLLS)
      nanosleep(&(struct timespec){.tv_nsec = POLL_PAUSE_NS}, NULL);
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
    cf_event_destroy(transfer->batch_uploaded[i]);
  for (int i = 0; i < CF_HOST_TRANSFER_PICTURES; i++)
    cf_event_destroy(transfer->downloaded[i]);
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

static bool are_same_strips(const CfStrips *a, const CfStrips *b)
{
  return a->video.format == b->video.format && a->result.format == b->result.format &&
         a->video.width == b->video.width && a->video.height == b->video.height &&
         a->halo == b->halo && a->rows == b->rows && a->slots == b->slots;
}

bool cf_host_transfer_set(CfHostTransfer *transfer, const CfStrips *strips, CfStatus *status)
{
  const size_t bytes = cf_strips_bytes(strips);
  uint8_t *memory;

  if (transfer->memory && are_same_strips(&transfer->strips, strips))
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

/* A picture whose rows from `first` on are those of the slot's planes. Its pointers are to row 0,
 * which is not in memory where first > 0: they are for address arithmetic only. */
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

/* In integers: pointer arithmetic outside an array, as picture_from() needs it, is undefined. */
static uint8_t *row_of(const CfPicture *picture, int plane, int row)
{
  return (uint8_t *)((uintptr_t)picture->data[plane] +
                     (uintptr_t)(picture->stride[plane] * (ptrdiff_t)row));
}

/* Whether the next plane's rows follow this plane's in memory, at the same stride and length. */
static bool next_plane_follows(const CfVideo *video, const CfPicture *picture, int plane)
{
  return plane + 1 < cf_format_info(video->format)->planes &&
         cf_row_bytes(video, plane + 1) == cf_row_bytes(video, plane) &&
         picture->stride[plane + 1] == picture->stride[plane] &&
         picture->data[plane + 1] == row_of(picture, plane, cf_plane_height(video, plane));
}

static bool copy_rows(CfCopy direction, const CfVideo *video, const CfPicture *to,
                      const CfPicture *from, CfRows rows, void *stream, CfStatus *status)
{
  for (int plane = 0; rows.rows > 0 && plane < cf_format_info(video->format)->planes; plane++) {
    const int first = plane;
    CfRows part = cf_strips_plane_rows(video, plane, rows);

    /* Planes that follow each other are one copy: a call costs more than a small plane's bytes. */
    for (; rows.rows == video->height && next_plane_follows(video, to, plane) &&
           next_plane_follows(video, from, plane);
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

/* A picture to send: the arguments of cf_host_transfer_send(). */
typedef struct {
  const CfPicture *source, *destination;
  CfHostTransferFilter filter;
  void *context;
} Picture;

/* The rows that the next strip reads too are copied to its slot right after the filter, so that
 * this slot can be filled again before the next strip has been uploaded. */
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

    if (!copy_rows(CF_COPY_ON_DEVICE, &strips->video, &to, &job.source, after.carried,
                   transfer->stream, status))
      return false;
  }
  return cf_event_record(slot->source_free, transfer->stream, status);
}

/* `from`: page-locked memory with at least those rows of the strip that the one before has not. */
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
         copy_rows(CF_COPY_TO_DEVICE, &strips->video, &source, from, strip.arriving,
                   transfer->upload, status) &&
         cf_event_record(slot->uploaded, transfer->upload, status) &&
         enqueue_filter(transfer, picture, index, slot, &transfer->slots[transfer->next_slot],
                        status) &&
         cf_stream_wait_event(transfer->download, slot->filtered, status) &&
         copy_rows(CF_COPY_TO_HOST, &strips->result, picture->destination, &result, strip.made,
                   transfer->download, status) &&
         cf_event_record(slot->downloaded, transfer->download, status);
}

/* Where both strides are the same, all rows of a plane are one memcpy(). */
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

/* Consecutive strips whose new rows one loop copies to page-locked memory, in chunks of rows. The
 * sending thread is one of the loop's, and in between enqueues the strips that are complete. */
typedef struct {
  CfHostTransfer *transfer;
  const Picture *picture;
  CfPicture staged;
  int first, count;                /* of the picture's strips */
  int next;                        /* strip of the batch to enqueue next */
  int chunks, chunk_rows;          /* chunks of a strip, and their rows */
  atomic_int copied[BATCH_STRIPS]; /* chunks of each strip that are complete */
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
  const unsigned buffer = transfer->next_batch++ % BATCHES;
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
  if (!transfer->staged || !wait_for(transfer->batch_uploaded[buffer], status))
    return false;
  cf_strips_lay_out(video, rows, transfer->staged + buffer * bytes, &memory);
  batch.staged = picture_from(video, &memory, cf_strips_strip(strips, first).arriving.first);
  transfer->copy_loop(cf_min(1 + chunks / THREAD_CHUNKS, transfer->copy_threads), chunks, 1,
                      copy_chunks, &batch);
  enqueue_complete(&batch);
  return batch.good && cf_event_record(transfer->batch_uploaded[buffer], transfer->upload, status);
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
  good = good && cf_event_record(transfer->downloaded[*ticket % CF_HOST_TRANSFER_PICTURES],
                                 transfer->download, status);
  if (!good)
    wait_for_all(transfer, NULL);
  return good;
}

bool cf_host_transfer_wait(CfHostTransfer *transfer, unsigned ticket, CfStatus *status)
{
  return wait_for(transfer->downloaded[ticket % CF_HOST_TRANSFER_PICTURES], status);
}
