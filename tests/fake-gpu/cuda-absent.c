/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * GStreamer's CUDA library wants these to exist; nothing in the tests calls them. Apart from
 * cuda.h, whose types they would have to repeat.
 */
#define ABSENT(name)                                                                               \
  int name(void);                                                                                  \
  int name(void)                                                                                   \
  {                                                                                                \
    return 801; /* CUDA_ERROR_NOT_SUPPORTED */                                                     \
  }

ABSENT(cuGLGetDevices_v2)
ABSENT(cuGraphicsGLRegisterBuffer)
ABSENT(cuGraphicsGLRegisterImage)
ABSENT(cuGraphicsMapResources)
ABSENT(cuGraphicsResourceGetMappedPointer_v2)
ABSENT(cuGraphicsResourceSetMapFlags_v2)
ABSENT(cuGraphicsSubResourceGetMappedArray)
ABSENT(cuGraphicsUnmapResources)
ABSENT(cuGraphicsUnregisterResource)
ABSENT(cuTexObjectCreate)
ABSENT(cuTexObjectDestroy)
