// SPDX-License-Identifier: Apache-2.0
// Recorded passes, by the rules of "Stream Capture" in the CUDA C++ Programming Guide and of
// cudaThreadExchangeStreamCaptureMode: a call that may not be made while a stream captures fails and costs the capture
// its graph, and cudaStreamEndCapture fails then.
#include <algorithm>

#include "runtime.h"

namespace kvlab::simt {
namespace {

cudaError_t invalidate(Capture& capture, cudaError_t e) {
  capture.invalid = true;
  return runtime().remember(e);
}

/// Whether calls that no stream orders are forbidden to this thread.
bool forbidsUnsafe(const Capture& c) {
  return c.mode == cudaStreamCaptureModeGlobal ||
      (c.mode == cudaStreamCaptureModeThreadLocal && c.thread == std::this_thread::get_id());
}

/// Invalidates the captures of all streams that match.
template <class Match>
cudaError_t invalidateAll(cudaError_t e, const Match& match) {
  cudaError_t result = cudaSuccess;
  for (const auto& s : runtime().streams)
    if (s->capture && match(*s)) result = invalidate(*s->capture, e);
  return result;
}

void merge(Before& to, const Before& from) {
  for (const auto& [stream, count] : from) to[stream] = std::max(to[stream], count);
}

/// A stream that waited for an event of the capture, and whose work nobody of the capture waited for.
bool hasUnjoined(const Capture& c) {
  return std::any_of(runtime().streams.begin(), runtime().streams.end(), [&](const auto& s) {
    return s->capture.get() == &c && s->before[s.get()] > c.origin->before[s.get()];
  });
}

}  // namespace

/// The default stream waits for all blocking ones: work there would depend on work that does not run.
cudaError_t Runtime::use(cudaStream_t stream) {
  if (!stream) return invalidateAll(cudaErrorStreamCaptureImplicit, [](const CUstream_st& s) { return s.blocking; });
  return stream->capture && stream->capture->invalid ? remember(cudaErrorStreamCaptureInvalidated) : cudaSuccess;
}

cudaError_t Runtime::await(cudaStream_t stream) {
  if (!stream) return use(stream);
  return stream->capture ? invalidate(*stream->capture, cudaErrorStreamCaptureUnsupported) : cudaSuccess;
}

cudaError_t Runtime::awaitAll() {
  return invalidateAll(cudaErrorStreamCaptureUnsupported, [](const CUstream_st&) { return true; });
}

cudaError_t Runtime::askAbout(const CUevent_st& event) {
  const auto capture = event.capture.lock();
  return capture ? invalidate(*capture, cudaErrorCapturedEvent) : cudaSuccess;
}

cudaError_t Runtime::callUnsafe() {
  return invalidateAll(cudaErrorStreamCaptureUnsupported,
                       [](const CUstream_st& s) { return forbidsUnsafe(*s.capture); });
}

}  // namespace kvlab::simt

using kvlab::simt::Capture;
using kvlab::simt::OnDevice;
using kvlab::simt::runtime;

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  const OnDevice on;
  if (!stream) return runtime().remember(cudaErrorStreamCaptureUnsupported);
  if (stream->capture) return kvlab::simt::invalidate(*stream->capture, cudaErrorStreamCaptureUnsupported);
  stream->capture =
      std::make_shared<Capture>(Capture{.origin = stream, .mode = mode, .thread = std::this_thread::get_id()});
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* out) {
  const OnDevice on;
  *out = nullptr;
  if (!stream || !stream->capture) return runtime().remember(cudaErrorInvalidValue);
  const std::shared_ptr<Capture> c = stream->capture;
  if (c->origin != stream) return kvlab::simt::invalidate(*c, cudaErrorStreamCaptureUnmatched);
  if (c->mode != cudaStreamCaptureModeRelaxed && c->thread != std::this_thread::get_id())
    return kvlab::simt::invalidate(*c, cudaErrorStreamCaptureWrongThread);
  const cudaError_t error = c->invalid ? cudaErrorStreamCaptureInvalidated
      : kvlab::simt::hasUnjoined(*c)   ? cudaErrorStreamCaptureUnjoined
                                       : cudaSuccess;
  for (const auto& s : runtime().streams) {
    if (s->capture != c) continue;
    s->capture = nullptr;
    s->before.clear();
  }
  if (error == cudaSuccess) *out = new CUgraph_st{std::move(c->graph)};
  return runtime().remember(error);
}

/// A stream that waits for an event of a capture takes part in that capture. A capture waits for nothing outside.
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const OnDevice on;
  if (const cudaError_t e = runtime().use(stream); e != cudaSuccess) return e;
  const std::shared_ptr<Capture> theirs = event->capture.lock();
  if (!stream) return theirs ? kvlab::simt::invalidate(*theirs, cudaErrorStreamCaptureImplicit) : cudaSuccess;
  if (theirs && theirs->invalid) return runtime().remember(cudaErrorStreamCaptureInvalidated);
  if (stream->capture && !theirs)
    return event->recorded ? kvlab::simt::invalidate(*stream->capture, cudaErrorStreamCaptureIsolation) : cudaSuccess;
  if (stream->capture && stream->capture != theirs) {
    kvlab::simt::invalidate(*theirs, cudaErrorStreamCaptureMerge);
    return kvlab::simt::invalidate(*stream->capture, cudaErrorStreamCaptureMerge);
  }
  if (!theirs) return cudaSuccess;
  stream->capture = theirs;
  kvlab::simt::merge(stream->before, event->before);
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* out) {
  const OnDevice on;
  *out = !stream || !stream->capture ? cudaStreamCaptureStatusNone
      : stream->capture->invalid     ? cudaStreamCaptureStatusInvalidated
                                     : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}
