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

/* Since GStreamer 1.24. */
ABSENT(cuIpcCloseMemHandle)
ABSENT(cuIpcGetEventHandle)
ABSENT(cuIpcGetMemHandle)
ABSENT(cuIpcOpenEventHandle)
ABSENT(cuIpcOpenMemHandle)

/* Since GStreamer 1.26. */
ABSENT(cuCtxGetLimit)
ABSENT(cuCtxSetLimit)
ABSENT(cuMemcpyDtoDAsync_v2)
ABSENT(cuMemcpyDtoD_v2)
ABSENT(cuMemcpyDtoHAsync_v2)
ABSENT(cuMemcpyDtoH_v2)
ABSENT(cuMemcpyHtoDAsync_v2)
ABSENT(cuMemcpyHtoD_v2)
ABSENT(cuMemsetD2D16Async)
ABSENT(cuMemsetD2D16_v2)
ABSENT(cuMemsetD2D32Async)
ABSENT(cuMemsetD2D32_v2)
ABSENT(cuMemsetD2D8Async)
ABSENT(cuMemsetD2D8_v2)

/* Since GStreamer 1.28. */
ABSENT(cuDeviceGetUuid)
