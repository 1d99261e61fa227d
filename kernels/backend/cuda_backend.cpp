// SPDX-License-Identifier: Apache-2.0
// The back end that works on a CUDA device, through the module (find_module.h). Host code: the program links nothing of
// CUDA.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <list>
#include <utility>

#include "kernels/backend/cuda_line.h"
#include "kernels/backend/cuda_ops.h"

namespace kvlab::kernels {
namespace {

constexpr int64_t kRing = int64_t{32} << 20, kPiece = int64_t{4} << 20, kGap = int64_t{64} << 10;  // bytes
constexpr size_t kRecordings = 16;

class CudaBackend : public Backend {
 public:
  /// Takes `fast` over; null for the exact mode.
  CudaBackend(const CudaCalls& device, const CudaDevice& info, void* fast)
      : m_line{.device = device, .arena = arena(), .fast = fast},
        m_context{nullptr, &m_line, nullptr},
        m_info(info),
        m_id("cuda:" + std::to_string(device.ordinal())) {
    CudaBoundsReport bounds;
    m_checksBounds = m_line.device(&CudaApi::takeBoundsReport, &bounds) == 0 && bounds.violations >= 0;
    void* ring = nullptr;
    if (m_line.check(m_line.device(&CudaApi::openStream, &m_line.stream), "no stream was opened") &&
        m_line.check(m_line.device(&CudaApi::allocatePinned, kRing, &ring), "no host memory was pinned"))
      m_ring = {static_cast<std::byte*>(ring), kRing};
  }
  ~CudaBackend() override {
    m_beside.reset();
    if (m_line.mark) m_line.device(&CudaApi::releaseEvent, m_line.mark);
    for (const Recording& recording : m_recordings) forget(recording);
    arena().clear();
    m_line.device(&CudaApi::releasePinned, m_ring.memory());
    if (m_line.stream) m_line.device(&CudaApi::closeStream, m_line.stream);
    if (m_line.fast) m_line.device(&CudaApi::closeFast, m_line.fast);
  }

  const char* id() const override { return m_id.c_str(); }
  std::string device() const override { return cudaDeviceText(m_info); }
  const OpTable& ops() const override {
    if (m_line.fast) return m_context.log ? LoggedOps<&cudaFastOps>::table() : cudaFastOps();
    return m_context.log ? LoggedOps<&cudaOps>::table() : cudaOps();
  }
  const Context& context() const override { return m_context; }
  bool onHost() const override { return false; }

  void* allocate(int64_t bytes) override {
    ++m_counters.allocations;
    void* memory = nullptr;
    const int32_t error =
        m_line.failure ? kCudaOutOfMemory : m_line.device(&CudaApi::allocate, std::max<int64_t>(bytes, 1), &memory);
    if (error == kCudaOutOfMemory && !m_line.failure)
      m_line.failure = BackendFailure{true, std::to_string(bytes) + " bytes were refused by the device"};
    return m_line.check(error, "memory was not given") ? memory : nullptr;
  }

  void release(void* memory) override {
    if (!memory) return;
    if (m_beside) m_line.device(&CudaApi::synchronise, m_beside->m_line.stream);  // its stream may still read it
    m_line.device(&CudaApi::release, memory);
  }

  int64_t available() const override {
    int64_t unused = 0, all = 0;
    return m_line.device(&CudaApi::memory, &unused, &all) == 0 ? unused : 0;
  }

  std::optional<DeviceMemory> deviceMemory() const override {
    DeviceMemory now{.bytesPerSecond = m_info.bytesPerSecond};
    m_line.device(&CudaApi::memory, &now.unused, &now.all);
    return now;
  }

  void upload(void* to, const void* from, int64_t bytes) override {
    for (int64_t at = 0; at < bytes && !m_line.failure; at += kPiece) {
      const int64_t piece = std::min(kPiece, bytes - at);
      m_counters.bytesUp += piece;
      std::byte* pinned = pin(piece);
      memcpy(pinned, static_cast<const std::byte*>(from) + at, static_cast<size_t>(piece));
      m_line.check(m_line.device(&CudaApi::upload, m_line.stream, static_cast<std::byte*>(to) + at, pinned, piece),
                   "a copy to the device was not started");
    }
  }

  void startDownload(std::span<const Copy> copies) override {
    for (size_t i = 0; i < copies.size();) {
      const size_t end = neighboursFrom(copies, i);
      const int64_t span = bytesBetween(copies[i].from, copies[end - 1].from) + copies[end - 1].bytes;
      if (end - i > 1) bringTogether(copies.subspan(i, end - i), span);
      else bringInPieces(copies[i]);
      i = end;
    }
  }

  void finishDownloads() override {
    if (m_waiting.empty()) return;
    wait();
    for (const Copy& copy : m_waiting)
      if (!m_line.failure) memcpy(copy.to, copy.from, static_cast<size_t>(copy.bytes));
    m_waiting.clear();
  }

  bool busy() const override {
    bool idle = true;
    return !m_waiting.empty() && !m_line.failure && m_line.device(&CudaApi::idle, m_line.stream, &idle) == 0 && !idle;
  }

  void clear(void* at, int64_t bytes) override {
    if (bytes > 0 && !m_line.failure)
      m_line.check(m_line.device(&CudaApi::clear, m_line.stream, at, bytes), "memory was not cleared");
  }

  bool records() const override { return !m_context.log; }

  /// The first run is not recorded, because it allocates and loads; the next run is recorded. A run that failed counts
  /// for neither.
  void replay(const std::string& key, const std::function<void()>& enqueueAll) override {
    if (m_line.failure) return;
    Recording& recording = recordingOf(key);
    if (!recording.graph && !recording.warm) {
      enqueueAll();
      recording.warm = !m_line.failure;
      return;
    }
    if (!recording.graph && !record(recording, enqueueAll)) return;
    ++m_counters.replays;
    m_line.check(m_line.device(&CudaApi::launchGraph, m_line.stream, recording.graph),
                 "a recorded pass was not started");
  }
  BackendCounters counters() const override { return m_counters; }

  Backend& beside() override {
    if (!m_beside) m_beside = std::make_unique<CudaBackend>(m_line.device, m_info, nullptr);
    if (m_beside->m_ring.memory() == nullptr) return *this;  // there is no room for another line
    m_line.beside = m_beside->m_line.stream;
    m_line.order(m_line.stream, m_line.beside);
    return *m_beside;
  }
  void settle() override { m_line.settle(); }

  void setLogging(bool on) override { m_context.log = on ? &m_log : nullptr; }
  OpLog* log() const override { return m_context.log; }
  std::optional<BackendFailure> takeFailure() override { return std::exchange(m_line.failure, std::nullopt); }

 private:
  struct Recording {
    std::string key;
    void* graph = nullptr;  ///< CUDA graph of all its calls, or null
    bool warm = false;      ///< has run once
  };

  /// The newest recording stands in front; the least recently used ones are forgotten.
  Recording& recordingOf(const std::string& key) {
    const auto found =
        std::find_if(m_recordings.begin(), m_recordings.end(), [&](const Recording& r) { return r.key == key; });
    if (found == m_recordings.end()) m_recordings.push_front({key});
    else m_recordings.splice(m_recordings.begin(), m_recordings, found);
    if (m_recordings.size() > kRecordings) {
      forget(m_recordings.back());
      m_recordings.pop_back();
    }
    return m_recordings.front();
  }

  /// Behind a failure a recording lacks calls, or is none; it is not kept.
  bool record(Recording& recording, const std::function<void()>& enqueueAll) {
    settle();  // waiting work is no part of the recording
    if (!m_line.check(m_line.device(&CudaApi::beginCapture, m_line.stream), "recording was refused")) return false;
    enqueueAll();
    void* graph = nullptr;
    int64_t nodes = 0;
    const int32_t error = m_line.device(&CudaApi::endCapture, m_line.stream, &graph, &nodes);
    if (!m_line.check(error, "a pass was not recorded")) {
      if (graph) m_line.device(&CudaApi::releaseGraph, graph);
      return false;
    }
    recording.graph = graph;
    m_counters.nodes = nodes;
    ++m_counters.captures;
    return true;
  }

  static int64_t bytesBetween(const void* from, const void* to) {
    return static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) - reinterpret_cast<uintptr_t>(from));
  }

  /// The end of the run of copies from `first` on that lie so near one another in the arena, in this order, that
  /// one call copies them and the gaps between them.
  size_t neighboursFrom(std::span<const Copy> copies, size_t first) {
    size_t end = first + 1;
    for (; end < copies.size(); ++end) {
      const Copy& last = copies[end - 1];
      const int64_t gap = bytesBetween(last.from, copies[end].from) - last.bytes,
                    span = bytesBetween(copies[first].from, copies[end].from) + copies[end].bytes;
      if (gap < 0 || gap > kGap || span > kPiece || !arena().holds(copies[first].from, span)) break;
    }
    return end;
  }

  void bringTogether(std::span<const Copy> copies, int64_t span) {
    const std::byte* pinned = bring(copies[0].from, span);
    for (const Copy& copy : copies)
      m_waiting.push_back({copy.to, pinned + bytesBetween(copies[0].from, copy.from), copy.bytes});
  }

  void bringInPieces(const Copy& copy) {
    for (int64_t at = 0; at < copy.bytes && !m_line.failure; at += kPiece) {
      const int64_t piece = std::min(kPiece, copy.bytes - at);
      const std::byte* pinned = bring(static_cast<const std::byte*>(copy.from) + at, piece);
      m_waiting.push_back({static_cast<std::byte*>(copy.to) + at, pinned, piece});
    }
  }

  /// Starts a copy to pinned memory. If that is full, the copies that wait there are finished first.
  const std::byte* bring(const void* from, int64_t bytes) {
    std::byte* pinned = pin(bytes);
    ++m_counters.downloads;
    m_counters.bytesDown += bytes;
    if (!m_line.failure)
      m_line.check(m_line.device(&CudaApi::download, m_line.stream, pinned, from, bytes),
                   "a copy from the device was not started");
    return pinned;
  }

  void forget(const Recording& recording) {
    if (recording.graph) m_line.device(&CudaApi::releaseGraph, recording.graph);
  }

  void wait() {
    ++m_counters.waits;
    m_line.check(m_line.device(&CudaApi::synchronise, m_line.stream), "the device stopped");
    m_ring.reset();
    CudaBoundsReport bounds;
    if (!m_checksBounds || m_line.failure || m_line.device(&CudaApi::takeBoundsReport, &bounds) != 0 ||
        bounds.violations <= 0)
      return;
    m_line.failure = BackendFailure{false, bounds.text};
  }

  std::byte* pin(int64_t bytes) {
    if (!m_ring.fits(bytes)) m_waiting.empty() ? wait() : finishDownloads();  // they lie in the ring
    return m_ring.take(bytes);
  }

  CudaLine m_line;
  CudaEventLog m_log{m_line};
  Context m_context;
  CudaDevice m_info;
  const std::string m_id;
  PinnedRing m_ring;
  std::vector<Copy> m_waiting;  // from pinned memory to where it is wanted
  std::unique_ptr<CudaBackend> m_beside;
  bool m_checksBounds = false;  // the module was built with KV_DEBUG_BOUNDS
  std::list<Recording> m_recordings;
  BackendCounters m_counters;
};

}  // namespace

std::vector<NumericsAnswer> cudaNumerics() {
  const CudaModule module = openCudaModule(cudaModulePaths());
  CudaFast fast;
  if (module.api) module.api->findFast(&fast);
  return {{kCudaExactId, module.why}, {kCudaFastId, module.api ? fast.why : module.why}};
}

BackendAnswer makeCudaBackend(const std::string& id, const std::string& numerics) {
  const size_t number = id.find(':');
  const CudaAnswer cuda =
      number == std::string::npos ? askForCuda() : askForDevice(std::atoi(id.c_str() + number + 1), true);
  if (!cuda.why.empty()) return {nullptr, cuda.why};
  const CudaCalls device(*cuda.api, cuda.ordinal);
  CudaFast fast;
  if (numerics == kCudaFastId) {
    device(&CudaApi::openFast, &fast);
    if (!fast.fast)
      return {nullptr, std::string(kCudaFastId) + " is not available, " + kCudaExactId + " is: " + fast.why, true};
  }
  auto backend = std::make_unique<CudaBackend>(device, cuda.device, fast.fast);
  if (const std::optional<BackendFailure> failure = backend->takeFailure()) return {nullptr, failure->why};
  return {std::move(backend), {}};
}

}  // namespace kvlab::kernels
