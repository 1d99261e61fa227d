// SPDX-License-Identifier: Apache-2.0
#include "kernels/backend/cuda_backend.h"

#include <algorithm>
#include <cstring>
#include <list>
#include <utility>

#include "kernels/backend/pinned_ring.h"
#include "kernels/cuda/find_module.h"

namespace kvlab::kernels {
namespace {

constexpr int32_t kOutOfMemory = 2;  // cudaErrorMemoryAllocation
constexpr int64_t kRing = int64_t{32} << 20, kPiece = int64_t{4} << 20;  // bytes
constexpr size_t kRecordings = 16;

/// What the ops of one back end share: Context::device.
struct Device {
  const CudaApi& api;
  Arena& arena;
  void* stream = nullptr;
  std::optional<BackendFailure> failure;

  /// Notes an error; true if there was none, now or before.
  bool check(int32_t error, const char* doing) {
    if (failure) return false;
    if (error == 0) return true;
    failure = BackendFailure{error == kOutOfMemory, std::string(doing) + ": " + api.errorText(error) + " (CUDA error " + std::to_string(error) + ")"};
    return false;
  }
};

Device& deviceOf(const Context& context) { return *static_cast<Device*>(context.device); }

template <auto Op, class Args>
void enqueue(const Context& context, const Args& args) {
  Device& d = deviceOf(context);
  if (!d.failure) d.check((d.api.*Op)(d.stream, args), "a kernel was not started");
}

/// Scratch is free for the next op at once: ops run one after another.
void enqueueAttention(const Context& context, const AttentionArgs& args) {
  Device& d = deviceOf(context);
  if (d.failure) return;
  AttentionArgs withScratch = args;
  const Arena::Mark mark = d.arena.mark();
  withScratch.scratch = d.arena.take(d.api.attentionScratchBytes(args));
  if (withScratch.scratch) d.check(d.api.attention(d.stream, withScratch), "attention was not started");
  d.arena.rewind(mark);
}

constexpr OpTable kCudaOps{.numericsId = [] { return "cuda-det"; },
                           .targetName = [] { return "CUDA"; },
                           .convert = &enqueue<&CudaApi::convert, ConvertArgs>,
                           .embedding = &enqueue<&CudaApi::embedding, EmbeddingArgs>,
                           .matmul = &enqueue<&CudaApi::matmul, MatmulArgs>,
                           .rmsnorm = &enqueue<&CudaApi::rmsnorm, RmsnormArgs>,
                           .add = &enqueue<&CudaApi::add, AddArgs>,
                           .swiglu = &enqueue<&CudaApi::swiglu, SwigluArgs>,
                           .rope = &enqueue<&CudaApi::rope, RopeArgs>,
                           .attention = &enqueueAttention,
                           .writeRows = &enqueue<&CudaApi::writeRows, WriteRowsArgs>,
                           .moveRows = &enqueue<&CudaApi::moveRows, MoveRowsArgs>,
                           .zeroRows = &enqueue<&CudaApi::zeroRows, ZeroRowsArgs>,
                           .gatherRows = &enqueue<&CudaApi::gatherRows, GatherRowsArgs>,
                           .verifyRows = &enqueue<&CudaApi::verifyRows, VerifyRowsArgs>,
                           .readTags = &enqueue<&CudaApi::readTags, ReadTagsArgs>,
                           .matchTags = &enqueue<&CudaApi::matchTags, MatchTagsArgs>,
                           .diffRows = &enqueue<&CudaApi::diffRows, DiffRowsArgs>,
                           .argmax = &enqueue<&CudaApi::argmax, ArgmaxArgs>,
                           .softmax = &enqueue<&CudaApi::softmax, SoftmaxArgs>,
                           .topk = &enqueue<&CudaApi::topk, TopkArgs>};

class CudaBackend : public Backend {
 public:
  CudaBackend(const CudaApi& api, const CudaDevice& device)
      : m_device{api, arena(), nullptr, std::nullopt}, m_context{nullptr, &m_device}, m_name(cudaDeviceText(device)) {
    m_device.check(api.openStream(&m_device.stream), "no stream was opened");
    void* ring = nullptr;
    if (m_device.check(api.allocatePinned(kRing, &ring), "no host memory was pinned")) m_ring = {static_cast<std::byte*>(ring), kRing};
  }
  ~CudaBackend() override {
    for (const Recording& recording : m_recordings) forget(recording);
    arena().clear();
    api().releasePinned(m_ring.memory());
    if (m_device.stream) api().closeStream(m_device.stream);
  }

  const char* id() const override { return "cuda"; }
  std::string device() const override { return m_name; }
  const OpTable& ops() const override { return kCudaOps; }
  const Context& context() const override { return m_context; }
  bool onHost() const override { return false; }

  void* allocate(int64_t bytes) override {
    ++m_counters.allocations;
    void* memory = nullptr;
    const int32_t error = m_device.failure ? kOutOfMemory : api().allocate(std::max<int64_t>(bytes, 1), &memory);
    if (error == kOutOfMemory && !m_device.failure) m_device.failure = BackendFailure{true, std::to_string(bytes) + " bytes were refused by the device"};
    return m_device.check(error, "memory was not given") ? memory : nullptr;
  }

  void release(void* memory) override {
    if (memory) api().release(memory);
  }

  int64_t available() const override {
    int64_t unused = 0, all = 0;
    return api().memory(&unused, &all) == 0 ? unused : 0;
  }

  void upload(void* to, const void* from, int64_t bytes) override {
    for (int64_t at = 0; at < bytes && !m_device.failure; at += kPiece) {
      const int64_t piece = std::min(kPiece, bytes - at);
      std::byte* pinned = pin(piece);
      memcpy(pinned, static_cast<const std::byte*>(from) + at, static_cast<size_t>(piece));
      m_device.check(api().upload(m_device.stream, static_cast<std::byte*>(to) + at, pinned, piece), "a copy to the device was not started");
    }
  }

  void download(std::span<const Copy> copies) override {
    std::vector<Copy> waiting;  // from pinned memory to where it is wanted
    for (const Copy& copy : copies)
      for (int64_t at = 0; at < copy.bytes && !m_device.failure; at += kPiece) {
        const int64_t piece = std::min(kPiece, copy.bytes - at);
        if (!m_ring.fits(piece)) land(waiting);
        std::byte* pinned = pin(piece);
        m_device.check(api().download(m_device.stream, pinned, static_cast<const std::byte*>(copy.from) + at, piece), "a copy from the device was not started");
        waiting.push_back({static_cast<std::byte*>(copy.to) + at, pinned, piece});
      }
    land(waiting);
  }

  void clear(void* at, int64_t bytes) override {
    if (bytes > 0 && !m_device.failure) m_device.check(api().clear(m_device.stream, at, bytes), "memory was not cleared");
  }

  bool records() const override { return true; }

  /// The first time as it is, so that everything is allocated and loaded; the second time it is recorded.
  void replay(const std::string& key, const std::function<void()>& enqueueAll) override {
    if (m_device.failure) return;
    Recording& recording = recordingOf(key);
    if (!recording.graph && recording.runs++ > 0) record(recording, enqueueAll);
    if (!recording.graph) return enqueueAll();
    ++m_counters.replays;
    m_device.check(api().launchGraph(m_device.stream, recording.graph), "a recorded pass was not started");
  }
  BackendCounters counters() const override { return m_counters; }
  std::optional<BackendFailure> takeFailure() override { return std::exchange(m_device.failure, std::nullopt); }

 private:
  struct Recording {
    std::string key;
    void* graph = nullptr;
    int64_t runs = 0;
  };

  const CudaApi& api() const { return m_device.api; }

  /// The newest stand in front; what has not been used for long is forgotten.
  Recording& recordingOf(const std::string& key) {
    const auto found = std::find_if(m_recordings.begin(), m_recordings.end(), [&](const Recording& r) { return r.key == key; });
    if (found == m_recordings.end()) m_recordings.push_front({key});
    else m_recordings.splice(m_recordings.begin(), m_recordings, found);
    if (m_recordings.size() > kRecordings) {
      forget(m_recordings.back());
      m_recordings.pop_back();
    }
    return m_recordings.front();
  }

  void record(Recording& recording, const std::function<void()>& enqueueAll) {
    if (!m_device.check(api().beginCapture(m_device.stream), "recording was refused")) return;
    enqueueAll();
    m_device.check(api().endCapture(m_device.stream, &recording.graph), "a pass was not recorded");
    ++m_counters.captures;
  }

  void forget(const Recording& recording) {
    if (recording.graph) api().releaseGraph(recording.graph);
  }

  void wait() {
    m_device.check(api().synchronise(m_device.stream), "the device stopped");
    m_ring.reset();
  }

  std::byte* pin(int64_t bytes) {
    if (!m_ring.fits(bytes)) wait();
    return m_ring.take(bytes);
  }

  void land(std::vector<Copy>& waiting) {
    wait();
    for (const Copy& copy : waiting)
      if (!m_device.failure) memcpy(copy.to, copy.from, static_cast<size_t>(copy.bytes));
    waiting.clear();
  }

  Device m_device;
  Context m_context;
  std::string m_name;
  PinnedRing m_ring;
  std::list<Recording> m_recordings;
  BackendCounters m_counters;
};

}  // namespace

BackendAnswer makeCudaBackend() {
  const CudaAnswer cuda = askForCuda();
  if (!cuda.why.empty()) return {nullptr, cuda.why};
  auto backend = std::make_unique<CudaBackend>(*cuda.api, cuda.device);
  if (const std::optional<BackendFailure> failure = backend->takeFailure()) return {nullptr, failure->why};
  return {std::move(backend), {}};
}

}  // namespace kvlab::kernels
