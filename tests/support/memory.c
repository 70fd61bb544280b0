/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "memory.h"

const CfMemory *cf_device_memory(CfStatus *status)
{
  if (!&cf_cuda_memory) {
    cf_fail(status, CF_ERROR_NO_DEVICE, "this build has no CUDA");
    return NULL;
  }
  return cf_cuda_memory.open(status) ? &cf_cuda_memory : NULL;
}

bool cf_mirror_init(CfMirror *mirror, const CfMemory *memory, const CfTestPicture *model)
{
  *mirror = (CfMirror){.memory = memory, .model = model};
  for (int plane = 0; plane < cf_format_info(model->video.format)->planes; plane++) {
    mirror->allocation[plane] = memory->alloc(model->bytes[plane]);
    if (!mirror->allocation[plane])
      return false;
    mirror->planes.data[plane] =
        mirror->allocation[plane] + (model->planes.data[plane] - model->allocation[plane]);
    mirror->planes.stride[plane] = model->planes.stride[plane];
  }
  return true;
}

void cf_mirror_free(CfMirror *mirror)
{
  for (int plane = 0; plane < CF_MAX_PLANES; plane++) {
    if (mirror->allocation[plane])
      mirror->memory->free(mirror->allocation[plane]);
    mirror->allocation[plane] = NULL;
  }
}

bool cf_mirror_upload(const CfMirror *mirror, const CfTestPicture *from)
{
  for (int plane = 0; plane < cf_format_info(from->video.format)->planes; plane++) {
    if (!mirror->memory->upload(mirror->allocation[plane], from->allocation[plane],
                                from->bytes[plane]))
      return false;
  }
  return true;
}

bool cf_mirror_download(const CfMirror *mirror, CfTestPicture *to)
{
  for (int plane = 0; plane < cf_format_info(to->video.format)->planes; plane++) {
    if (!mirror->memory->download(to->allocation[plane], mirror->allocation[plane],
                                  to->bytes[plane]))
      return false;
  }
  return true;
}
