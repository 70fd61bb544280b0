/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which frames neighbours are offered, and which an element takes from them: pools of CUDA memory,
 * and of page-locked memory where frames are in system memory. On fake-gpu.
 */
#include <string.h>

#include "device-frames.h"
#include "fake-cuda.h"

static GstCudaContext *shared_context;

/* Any of them: what they share allocates. */
static const ElementCase *const element = &element_cases[0];

/* What downstream answers to allocation queries. */
typedef struct {
  GstBufferPool *pool;
  guint size, minimum, maximum; /* of the pool, which is ours to make where it is NULL; a size of 0:
                                   none is offered */
  const gchar *meta;            /* name of an API, or NULL */
  GstStructure *parameters;     /* of that meta */
} Answer;

typedef struct {
  CfVideo video;
  GstCaps *caps;
  GstHarness *harness;
  Answer answer;
} Neighbours;

static GstPadProbeReturn answer_query(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY(info);
  const Answer *answer = data;

  if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION)
    return GST_PAD_PROBE_OK;
  if (answer->size)
    gst_query_add_allocation_pool(query, answer->pool, answer->size, answer->minimum,
                                  answer->maximum);
  if (answer->meta)
    gst_query_add_allocation_meta(query, g_type_from_name(answer->meta), answer->parameters);
  gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, NULL);
  return GST_PAD_PROBE_HANDLED;
}

/* An element whose caps are not yet sent. */
static void open_neighbours(Neighbours *self, gboolean cuda_memory)
{
  GstContext *context = gst_context_new_cuda_context(shared_context);

  *self = (Neighbours){.video = cf_video(CF_FORMAT_NV12, 40, 20)};
  self->caps = device_caps(&self->video);
  if (!cuda_memory)
    gst_caps_set_features_simple(self->caps, NULL);
  self->harness = gst_harness_new(element->name);
  gst_element_set_context(self->harness->element, context);
  gst_context_unref(context);
  set_text(self->harness->element, "backend=cuda");
  set_text(self->harness->element, element->working);
  gst_pad_add_probe(self->harness->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, answer_query,
                    &self->answer, NULL);
}

/* Nothing is left over that holds the pool of downstream. */
static void close_neighbours(Neighbours *self)
{
  gst_harness_teardown(self->harness);
  gst_caps_unref(self->caps);
  fail_unless(!self->answer.pool || GST_OBJECT_REFCOUNT_VALUE(self->answer.pool) == 1,
              "the pool is still held");
  gst_clear_object(&self->answer.pool);
  g_clear_pointer(&self->answer.parameters, gst_structure_free);
}

/* The last line of a test: no pool, no frame and no element is left over that holds the context. */
static void assert_nobody_holds_the_context(void)
{
  fail_unless_equals_int(GST_OBJECT_REFCOUNT_VALUE(shared_context), 1);
  fail_unless_equals_int(fake_cuda_objects(), 0);
}

static void start(Neighbours *self)
{
  gst_harness_set_src_caps(self->harness, gst_caps_ref(self->caps));
}

/* What comes out for a frame; it is held, so that no frame is filtered in place. */
static GstBuffer *filter(Neighbours *self, GstBuffer *input)
{
  GstBuffer *output = filter_buffer(self->harness, gst_buffer_ref(input));

  gst_buffer_unref(input);
  return output;
}

static CfTestPicture *some_picture(const Neighbours *self, guint64 seed)
{
  return new_picture(&self->video, CF_LAYOUT_ALIGNED, CF_PATTERN_NOISE, seed);
}

static GstBuffer *some_frame(const Neighbours *self, guint64 seed)
{
  CfTestPicture *source = some_picture(self, seed);
  GstBuffer *buffer;

  if (gst_caps_features_contains(gst_caps_get_features(self->caps, 0), "memory:CUDAMemory")) {
    GstBufferPool *pool = device_pool(shared_context, &self->video, NULL);

    buffer = device_buffer(pool, source);
    free_device_pool(pool);
  } else {
    buffer = plain_buffer(source, 0);
  }
  cf_picture_free(source);
  return buffer;
}

/* Asks as upstream does; NULL where there is no answer. */
static GstQuery *ask(const Neighbours *self)
{
  GstQuery *query = gst_query_new_allocation(self->caps, TRUE);

  if (!gst_pad_peer_query(self->harness->srcpad, query))
    g_clear_pointer(&query, gst_query_unref);
  return query;
}

static gboolean understands(GstQuery *query, const gchar *meta)
{
  return gst_query_find_allocation_meta(query, g_type_from_name(meta), NULL);
}

/* The only pool that is offered, active; transfer full. `size` becomes that of its frames. */
static GstBufferPool *offered_pool(GstQuery *query, guint *size)
{
  GstBufferPool *pool = NULL;

  fail_unless_equals_int(gst_query_get_n_allocation_pools(query), 1);
  gst_query_parse_nth_allocation_pool(query, 0, &pool, size, NULL, NULL);
  fail_unless(pool && gst_buffer_pool_set_active(pool, TRUE));
  return pool;
}

/* The pool makes so many frames. */
static void assert_limits(GstBufferPool *pool, guint minimum, guint maximum)
{
  GstStructure *config = gst_buffer_pool_get_config(pool);
  guint least, most;

  fail_unless(gst_buffer_pool_config_get_params(config, NULL, NULL, &least, &most));
  fail_unless(least == minimum && most == maximum, "%u to %u frames", least, most);
  gst_structure_free(config);
}

/* ---- CUDA memory ---- */

GST_START_TEST(upstream_is_offered_our_pool)
{
  GstBufferPool *pool;
  GstBuffer *buffer;
  GstQuery *query;
  Neighbours self;
  guint size;

  open_neighbours(&self, TRUE);
  self.answer.meta = "GstVideoCropMetaAPI";
  gst_video_crop_meta_get_info();
  start(&self);
  query = ask(&self);
  fail_unless(query != NULL);
  pool = offered_pool(query, &size);
  fail_unless(gst_buffer_pool_has_option(pool, GST_BUFFER_POOL_OPTION_VIDEO_META));
  buffer = acquire_device_buffer(pool);
  fail_unless(context_of(buffer) == shared_context);
  fail_unless_equals_int(gst_buffer_get_size(buffer), size);
  fail_unless(gst_buffer_get_video_meta(buffer) != NULL);
  gst_buffer_unref(buffer);
  fail_unless(understands(query, "GstVideoMetaAPI"));
  fail_unless(understands(query, "GstCudaFiltersStreamAPI"));
  fail_if(understands(query, "GstVideoCropMetaAPI"), "what downstream understands is handed on");
  free_device_pool(pool);
  gst_query_unref(query);
  close_neighbours(&self);
  assert_nobody_holds_the_context();
}
GST_END_TEST

static const struct {
  const char *pool; /* of downstream */
  gboolean used;
} cuda_pools[] = {{"none", FALSE},
                  {"of the same context", TRUE},
                  {"of another context", FALSE},
                  {"in system memory", FALSE}};

static GstBufferPool *cuda_pool(guint index, GstCudaContext *other)
{
  return index == 1   ? gst_cuda_buffer_pool_new(shared_context)
         : index == 2 ? gst_cuda_buffer_pool_new(other)
         : index == 3 ? gst_video_buffer_pool_new()
                      : NULL;
}

GST_START_TEST(a_pool_of_downstream_is_used_in_our_context)
{
  GstCudaContext *other = gst_cuda_context_new(0);
  GstBuffer *buffer;
  Neighbours self;

  open_neighbours(&self, TRUE);
  self.answer = (Answer){.pool = cuda_pool((guint)__i__, other), .size = 1200, 3, 5};
  start(&self);
  buffer = filter(&self, some_frame(&self, 1));
  fail_unless(context_of(buffer) == shared_context, "the frame is in another context");
  fail_unless_equals_int(buffer->pool == self.answer.pool, cuda_pools[__i__].used);
  assert_limits(buffer->pool, 3, 5);
  gst_buffer_unref(buffer);
  close_neighbours(&self);
  gst_object_unref(other);
  assert_nobody_holds_the_context();
}
GST_END_TEST

/* Whether the frame made of that picture is on the device now, whoever may still have to wait. */
static gboolean is_complete(const Neighbours *self, GstBuffer *output, guint64 seed)
{
  CfTestPicture *source = some_picture(self, seed);
  CfTestPicture *want = engine_output(element, element->working, source);
  gboolean same = TRUE;
  GstVideoFrame frame;

  map_device_buffer(&frame, &self->video, output, (GstMapFlags)(GST_MAP_READ | GST_MAP_CUDA));
  for (int plane = 0; plane < 2; plane++) {
    for (int y = 0; y < cf_plane_height(&self->video, plane); y++)
      same &= memcmp((guint8 *)GST_VIDEO_FRAME_PLANE_DATA(&frame, plane) +
                         y * GST_VIDEO_FRAME_PLANE_STRIDE(&frame, plane),
                     want->planes.data[plane] + y * want->planes.stride[plane],
                     cf_row_bytes(&self->video, plane)) == 0;
  }
  gst_video_frame_unmap(&frame);
  cf_picture_free(source);
  cf_picture_free(want);
  return same;
}

/* That readers wait for. */
static gboolean names_a_stream(GstBuffer *buffer)
{
  return gst_cuda_filters_compat_memory_stream(gst_buffer_peek_memory(buffer, 0)) != NULL;
}

/* With which `next`, another of our elements, says that it is one. */
static GstStructure *parameters_of_ours(const Neighbours *next)
{
  const GstStructure *parameters = NULL;
  GstQuery *query = ask(next);
  GstStructure *copy;
  guint index;

  fail_unless(
      gst_query_find_allocation_meta(query, g_type_from_name("GstCudaFiltersStreamAPI"), &index));
  gst_query_parse_nth_allocation_meta(query, index, &parameters);
  copy = gst_structure_copy(parameters);
  gst_query_unref(query);
  return copy;
}

/* An element of ours follows, and is then replaced by one of others: from then on frames have to be
 * complete. */
GST_START_TEST(only_ours_get_frames_that_are_not_complete)
{
  Neighbours self, next;
  GstBuffer *output;

  open_neighbours(&next, TRUE);
  start(&next);
  open_neighbours(&self, TRUE);
  self.answer.meta = "GstCudaFiltersStreamAPI";
  self.answer.parameters = parameters_of_ours(&next);
  start(&self);
  output = filter(&self, some_frame(&self, 1));
  fail_if(is_complete(&self, output, 1), "it waits for the device");
  gst_buffer_unref(output);

  self.answer.meta = NULL;
  gst_harness_push_upstream_event(self.harness, gst_event_new_reconfigure());
  output = filter(&self, some_frame(&self, 2));
  fail_unless(names_a_stream(output) || is_complete(&self, output, 2),
              "it does not wait for the device");
  gst_buffer_unref(output);
  close_neighbours(&self);
  close_neighbours(&next);
  assert_nobody_holds_the_context();
}
GST_END_TEST

static guint held, let_go_too_early;

static void note_end(gpointer unused)
{
  held--;
  let_go_too_early += !fake_cuda_is_idle();
}

/* Where nobody waits, inputs are kept until the device has read them, but not ever more of them. */
GST_START_TEST(inputs_are_kept_until_they_are_read)
{
  Neighbours self, next;

  open_neighbours(&next, TRUE);
  start(&next);
  open_neighbours(&self, TRUE);
  self.answer.meta = "GstCudaFiltersStreamAPI";
  self.answer.parameters = parameters_of_ours(&next);
  start(&self);
  for (guint i = 1; i <= 30; i++) {
    GstBuffer *input = some_frame(&self, i);

    gst_mini_object_set_qdata(GST_MINI_OBJECT(input), g_quark_from_static_string("held"), &held,
                              note_end);
    held++;
    gst_buffer_unref(filter(&self, input));
    /* With the ninth it waits for all of them. */
    fail_unless_equals_int(held, i % 9);
  }
  close_neighbours(&self);
  close_neighbours(&next);
  fail_unless_equals_int(held, 0);
  fail_unless_equals_int(let_go_too_early, 0);
  assert_nobody_holds_the_context();
}
GST_END_TEST

GST_START_TEST(a_pool_that_cannot_be_made_is_not_offered)
{
  GstQuery *query;
  Neighbours self;

  open_neighbours(&self, TRUE);
  start(&self);
  fake_cuda_fail_function("cuMemAllocPitch_v2", CUDA_ERROR_OUT_OF_MEMORY);
  query = ask(&self);
  fail_unless(!query || gst_query_get_n_allocation_pools(query) == 0);
  g_clear_pointer(&query, gst_query_unref);
  fake_cuda_fail_function(NULL, CUDA_SUCCESS);
  query = ask(&self);
  fail_unless_equals_int(gst_query_get_n_allocation_pools(query), 1);
  gst_query_unref(query);
  close_neighbours(&self);
  assert_nobody_holds_the_context();
}
GST_END_TEST

/* Frames that are not what their caps say, and what the error says of them. */
static const char *const mistakes[] = {"not in CUDA memory although its caps say so",
                                       "not in CUDA memory although its caps say so",
                                       "is NV12 38x20, but its caps say NV12 40x20"};

static GstBuffer *mistaken_frame(const Neighbours *self, guint index)
{
  CfTestPicture *source = some_picture(self, 1);
  GstBuffer *buffer = index == 0   ? plain_buffer(source, 0)
                      : index == 1 ? gst_buffer_new()
                                   : some_frame(self, 1);

  if (index == 2)
    gst_buffer_get_video_meta(buffer)->width = 38;
  cf_picture_free(source);
  return buffer;
}

GST_START_TEST(frames_that_are_not_what_their_caps_say)
{
  GstBus *bus = gst_bus_new();
  Neighbours self;

  open_neighbours(&self, TRUE);
  gst_element_set_bus(self.harness->element, bus);
  start(&self);
  fail_unless_equals_int(gst_harness_push(self.harness, mistaken_frame(&self, (guint)__i__)),
                         GST_FLOW_ERROR);
  assert_posted(bus, GST_MESSAGE_ERROR, 1, mistakes[__i__]);
  fail_unless_equals_int(gst_harness_buffers_received(self.harness), 0);
  gst_element_set_bus(self.harness->element, NULL);
  gst_object_unref(bus);
  close_neighbours(&self);
  assert_nobody_holds_the_context();
}
GST_END_TEST

/* Planes of odd heights, of which GStreamer before 1.24.4 places some on top of each other. */
static const struct {
  CfFormat format;
  int height;
  gboolean overlap;
} odd_planes[] = {{CF_FORMAT_I420, 21, TRUE},  {CF_FORMAT_I420_10LE, 1, TRUE},
                  {CF_FORMAT_I420, 20, FALSE}, {CF_FORMAT_NV12, 21, FALSE},
                  {CF_FORMAT_Y42B, 21, FALSE}, {CF_FORMAT_Y444, 21, FALSE}};

GST_START_TEST(planes_that_overlap_are_refused)
{
  guint major, minor, micro, nano;
  GstBus *bus = gst_bus_new();
  Neighbours self;
  gboolean refused;

  gst_version(&major, &minor, &micro, &nano);
  refused = odd_planes[__i__].overlap && (minor < 24 || (minor == 24 && micro < 4));
  open_neighbours(&self, TRUE);
  gst_element_set_bus(self.harness->element, bus);
  self.video = cf_video(odd_planes[__i__].format, 40, odd_planes[__i__].height);
  gst_caps_unref(self.caps);
  self.caps = device_caps(&self.video);
  start(&self);
  assert_posted(bus, GST_MESSAGE_ERROR, refused ? 1 : 0, refused ? "of odd height" : NULL);
  gst_element_set_bus(self.harness->element, NULL);
  gst_object_unref(bus);
  close_neighbours(&self);
  assert_nobody_holds_the_context();
}
GST_END_TEST

/* ---- system memory ---- */

static gboolean is_page_locked(GstBuffer *buffer)
{
  return gst_memory_is_type(gst_buffer_peek_memory(buffer, 0), "CudaFiltersPinned");
}

GST_START_TEST(upstream_is_offered_page_locked_memory)
{
  GstBufferPool *pool;
  GstBuffer *buffer;
  GstQuery *query;
  Neighbours self;
  guint size;

  open_neighbours(&self, FALSE);
  start(&self);
  query = ask(&self);
  fail_unless(query && understands(query, "GstVideoMetaAPI"));
  pool = offered_pool(query, &size);
  fail_unless(gst_buffer_pool_has_option(pool, GST_BUFFER_POOL_OPTION_VIDEO_META));
  buffer = acquire_device_buffer(pool);
  fail_unless(is_page_locked(buffer) && gst_buffer_get_size(buffer) == size);
  gst_buffer_unref(buffer);
  free_device_pool(pool);
  gst_query_unref(query);
  close_neighbours(&self);
  assert_nobody_holds_the_context();
}
GST_END_TEST

/* `size` beyond that of a frame is for what downstream adds to it. */
static const struct {
  const char *pool; /* of downstream */
  guint more;
  gboolean page_locked;
} system_pools[] = {{"none", 0, TRUE},
                    {"of video", 0, TRUE},
                    {"of video", 64, FALSE},
                    {"of memory that downstream needs", 0, FALSE}};

GST_START_TEST(pools_of_plain_memory_become_page_locked)
{
  const guint frame = 1200;
  GstBuffer *buffer;
  Neighbours self;

  open_neighbours(&self, FALSE);
  self.answer = (Answer){.size = frame + system_pools[__i__].more, .minimum = 4, .maximum = 6};
  if (__i__ == 1 || __i__ == 2)
    self.answer.pool = gst_video_buffer_pool_new();
  else if (__i__ == 3)
    self.answer.pool = gst_buffer_pool_new();
  start(&self);
  buffer = filter(&self, some_frame(&self, 1));
  fail_unless_equals_int(is_page_locked(buffer), system_pools[__i__].page_locked);
  fail_unless(__i__ < 2 || buffer->pool == self.answer.pool, "the pool is not downstream's");
  assert_limits(buffer->pool, 4, 6);
  gst_buffer_unref(buffer);
  close_neighbours(&self);
  assert_nobody_holds_the_context();
}
GST_END_TEST

/* The allocator that upstream is offered; transfer full. */
static GstAllocator *offered_allocator(const Neighbours *self)
{
  GstQuery *query = ask(self);
  GstAllocator *allocator = NULL;

  fail_unless(query && gst_query_get_n_allocation_params(query) > 0);
  gst_query_parse_nth_allocation_param(query, 0, &allocator, NULL);
  gst_query_unref(query);
  fail_unless(allocator != NULL);
  return allocator;
}

/* Where no more memory can be locked, plain memory takes its place, with the same promises. */
GST_START_TEST(plain_memory_replaces_page_locked_memory)
{
  const guint sizes[] = {1, 100, 5000};
  GstAllocationParams params = {.align = 255, .prefix = 256, .padding = 9};
  GstAllocator *allocator;
  Neighbours self;
  int objects;

  open_neighbours(&self, FALSE);
  start(&self);
  allocator = offered_allocator(&self);
  objects = fake_cuda_objects();
  if (__i__)
    fake_cuda_fail_function("cuMemAllocHost_v2", CUDA_ERROR_OUT_OF_MEMORY);
  for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
    GstMemory *memory = gst_allocator_alloc(allocator, sizes[i], &params);
    gsize offset, maxsize;
    GstMapInfo map;

    fail_unless(memory && gst_memory_get_sizes(memory, &offset, &maxsize) == sizes[i]);
    fail_unless(offset == 256 && maxsize == 256 + sizes[i] + 9);
    fail_unless_equals_int(fake_cuda_objects(), objects + (__i__ == 0));
    fail_unless(gst_memory_map(memory, &map, GST_MAP_READWRITE));
    fail_unless((guintptr)map.data % 256 == 0, "not aligned");
    memset(map.data - offset, 1, maxsize);
    gst_memory_unmap(memory, &map);
    gst_memory_unref(memory);
    fail_unless_equals_int(fake_cuda_objects(), objects);
  }
  fake_cuda_fail_function(NULL, CUDA_SUCCESS);
  gst_object_unref(allocator);
  close_neighbours(&self);
  assert_nobody_holds_the_context();
}
GST_END_TEST

static void add_tests(TCase *tests)
{
  tcase_add_test(tests, upstream_is_offered_our_pool);
  tcase_add_loop_test(tests, a_pool_of_downstream_is_used_in_our_context, 0,
                      G_N_ELEMENTS(cuda_pools));
  tcase_add_test(tests, only_ours_get_frames_that_are_not_complete);
  tcase_add_test(tests, inputs_are_kept_until_they_are_read);
  tcase_add_test(tests, a_pool_that_cannot_be_made_is_not_offered);
  tcase_add_loop_test(tests, frames_that_are_not_what_their_caps_say, 0, G_N_ELEMENTS(mistakes));
  tcase_add_loop_test(tests, planes_that_overlap_are_refused, 0, G_N_ELEMENTS(odd_planes));
  tcase_add_test(tests, upstream_is_offered_page_locked_memory);
  tcase_add_loop_test(tests, pools_of_plain_memory_become_page_locked, 0,
                      G_N_ELEMENTS(system_pools));
  tcase_add_loop_test(tests, plain_memory_replaces_page_locked_memory, 0, 2);
}

int main(int argc, char **argv)
{
  return run_device_tests(argc, argv, "device-allocation", add_tests, &shared_context);
}
