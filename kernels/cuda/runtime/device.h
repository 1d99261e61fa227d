// SPDX-License-Identifier: Apache-2.0
// Implements the streams, page-locked memory, recorded passes and time stamps of module_api.h.
#pragma once

#include <cstdint>

namespace kvlab::kernels::cuda {

int32_t openStream(void** stream);
int32_t closeStream(void* stream);
int32_t allocatePinned(int64_t bytes, void** out);
int32_t releasePinned(void* memory);
int32_t clear(void* stream, void* at, int64_t bytes);
int32_t beginCapture(void* stream);
int32_t endCapture(void* stream, void** graph, int64_t* nodes);
int32_t launchGraph(void* stream, void* graph);
int32_t releaseGraph(void* graph);
int32_t makeEvent(void** event);
int32_t releaseEvent(void* event);
int32_t recordEvent(void* stream, void* event);
int32_t waitFor(void* stream, void* event);
int32_t idle(void* stream, bool* out);
int32_t eventTime(void* begin, void* end, float* milliseconds);

}  // namespace kvlab::kernels::cuda
