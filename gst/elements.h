/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The elements of the plugin.
 */
#pragma once

#include <gst/gst.h>

GST_ELEMENT_REGISTER_DECLARE(cudablockavg);
GST_ELEMENT_REGISTER_DECLARE(cudagaussblur);
GST_ELEMENT_REGISTER_DECLARE(cudallf);
GST_ELEMENT_REGISTER_DECLARE(cudasepconv);
GST_ELEMENT_REGISTER_DECLARE(cudatonemap);
