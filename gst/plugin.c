/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <gst/gst.h>

#include "elements.h"
#include "gpu.h"

static gboolean plugin_init(GstPlugin *plugin)
{
  gst_cuda_filters_gpu_init(plugin);
  return GST_ELEMENT_REGISTER(cudablockavg, plugin) &&
         GST_ELEMENT_REGISTER(cudagaussblur, plugin) && GST_ELEMENT_REGISTER(cudallf, plugin) &&
         GST_ELEMENT_REGISTER(cudasepconv, plugin) && GST_ELEMENT_REGISTER(cudatonemap, plugin);
}

GST_PLUGIN_DEFINE(OLDEST_GST_MAJOR, OLDEST_GST_MINOR, cudafilters,
                  "Local Laplacian, Gaussian blur, mosaic, separable convolution and tone mapping "
                  "on CUDA or the CPU",
                  plugin_init, PACKAGE_VERSION, "LGPL", PACKAGE, PACKAGE_ORIGIN)
