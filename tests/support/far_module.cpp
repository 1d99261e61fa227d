// SPDX-License-Identifier: Apache-2.0
// A CUDA module without CUDA: the CPU's ops behind the module's table, on memory that the host may not
// touch between two calls. An engine on it takes every path of the CUDA back end (staging, recorded
// passes, refused memory) at the speed of the CPU, and gives the CPU's bits.
// KVLAB_FAR_CLOSES=0 leaves the memory open, which is much faster. While a test runs: KVLAB_FAR_MIB is the
// memory that there is, KVLAB_FAR_FAIL_AFTER the number of op calls after which one fails, KVLAB_FAR_ERROR the CUDA
// error that every op call gets, KVLAB_FAR_REFUSES the function of the table that finds no memory; with
// KVLAB_FAR_IDLES=1 ops start and compute nothing. With KVLAB_FAR_DIES=1 an op call that fails leaves its device dead:
// it answers every later call with "illegal address", for as long as the variable is set. KVLAB_FAR_DEVICES devices are
// there, each with memory of its own, one unless told otherwise; KVLAB_FAR_ORDINAL is the device that the settings
// above are about, all unless told otherwise. A stream, an event or memory of another device than the thread's is
// refused. With KVLAB_FAR_LATE=1 nothing that a stream is given happens before somebody waits for it, or asks often
// enough: once for each piece.
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/runtime/module_api.h"
#include "kernels/thread_pool.h"

namespace kvlab::kernels {
namespace {

constexpr int32_t kInvalidValue = 1, kOutOfMemory = 2, kNoSuchDevice = 101, kNoImage = 209, kOtherDevice = 400,
                  kIllegalAddress = 700, kLaunchFailure = 719;
constexpr int64_t kPage = 4096, kMebibyte = int64_t{1} << 20;
constexpr int64_t kScratch = 5000;  // that attention asks for and does not use

constexpr int32_t kMostDevices = 4;

int64_t setting(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}

int32_t devices() {
  return static_cast<int32_t>(std::clamp<int64_t>(setting("KVLAB_FAR_DEVICES", 1), 0, kMostDevices));
}

/// The device that the calling thread has taken.
thread_local int32_t taken = 0;

using Work = std::function<void()>;
using Recorded = std::vector<Work>;

class Far;

struct Stream {
  explicit Stream(Far& device) : on(device) {}

  Far& on;
  ThreadPool pool{2};
  Context context{&pool, nullptr};
  Recorded* recording = nullptr;
  std::deque<Work> late;
  int64_t given = 0, done = 0;  // pieces of work

  /// Until `until` pieces are done.
  void catchUp(int64_t until);
};

/// The place of a time stamp: its stream, and the pieces before it.
struct Event {
  std::chrono::steady_clock::time_point at{};
  Stream* stream = nullptr;
  int64_t behind = 0;
};

/// A device: one stretch of addresses, closed unless work runs in it.
class Far {
 public:
  /// The device that the thread has taken.
  static Far& one() { return of(taken); }
  static Far& of(int32_t ordinal) {
    static std::array<std::unique_ptr<Far>, kMostDevices> all = [] {
      std::array<std::unique_ptr<Far>, kMostDevices> made;
      for (int32_t i = 0; i < kMostDevices; ++i) made[static_cast<size_t>(i)] = std::make_unique<Far>(i);
      return made;
    }();
    return *all[static_cast<size_t>(ordinal)];
  }
  explicit Far(int32_t ordinal) : m_ordinal(ordinal) {
    void* start = mmap(nullptr, static_cast<size_t>(m_all), m_closes ? PROT_NONE : PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) m_all = 0;
    m_start = static_cast<std::byte*>(start);
    m_free[0] = m_all;
  }

  int32_t allocate(int64_t bytes, void** out) {
    const std::lock_guard lock(m_mutex);
    if (const int32_t error = refusal("allocate")) return error;
    const int64_t size = (bytes + kPage - 1) / kPage * kPage;
    if (size > unused()) return kOutOfMemory;
    const auto room = std::find_if(m_free.begin(), m_free.end(), [&](const auto& one) { return one.second >= size; });
    if (room == m_free.end()) return kOutOfMemory;
    const auto [at, length] = *room;
    m_free.erase(room);
    if (length > size) m_free[at + size] = length - size;
    m_used[at] = size;
    *out = m_start + at;
    return 0;
  }

  int32_t release(void* memory) {
    catchUp();
    const std::lock_guard lock(m_mutex);
    const auto piece = m_used.find(static_cast<std::byte*>(memory) - m_start);
    if (piece == m_used.end()) return kInvalidValue;
    auto [at, size] = *piece;
    m_used.erase(piece);
    madvise(memory, static_cast<size_t>(size), MADV_DONTNEED);
    auto after = m_free.lower_bound(at);
    if (after != m_free.end() && at + size == after->first) size += after->second, after = m_free.erase(after);
    if (after != m_free.begin() && std::prev(after)->first + std::prev(after)->second == at)
      std::prev(after)->second += size;
    else m_free[at] = size;
    return 0;
  }

  void run(const Work& work) {
    const std::lock_guard lock(m_mutex);
    if (m_closes && m_depth++ == 0) mprotect(m_start, static_cast<size_t>(m_all), PROT_READ | PROT_WRITE);
    work();
    if (m_closes && --m_depth == 0) mprotect(m_start, static_cast<size_t>(m_all), PROT_NONE);
  }

  /// The settings are about this device.
  bool meant() const { return setting("KVLAB_FAR_ORDINAL", m_ordinal) == m_ordinal; }
  int64_t own(const char* name, int64_t otherwise) const { return meant() ? setting(name, otherwise) : otherwise; }
  /// The error of a function of the table: it is told to give one, or the device is dead.
  int32_t refusal(const char* function) {
    const std::lock_guard lock(m_mutex);
    m_dead = m_dead && setting("KVLAB_FAR_DIES", 0) != 0;
    const char* refuses = meant() ? std::getenv("KVLAB_FAR_REFUSES") : nullptr;
    return m_dead ? kIllegalAddress : refuses && strcmp(refuses, function) == 0 ? kOutOfMemory : 0;
  }
  int32_t nextCall() {
    const std::lock_guard lock(m_mutex);
    if (const int32_t dead = refusal("")) return dead;
    const auto told = static_cast<int32_t>(own("KVLAB_FAR_ERROR", 0));
    const int64_t left = own("KVLAB_FAR_FAIL_AFTER", -1);
    if (told == 0 && left >= 0) setenv("KVLAB_FAR_FAIL_AFTER", std::to_string(left - 1).c_str(), 1);
    const int32_t error = told ? told : left == 0 ? kLaunchFailure : 0;
    m_dead = error != 0 && setting("KVLAB_FAR_DIES", 0) != 0;
    return error;
  }
  int64_t available() {
    const std::lock_guard lock(m_mutex);
    return unused();
  }
  int64_t all() const { return m_all; }
  std::set<Stream*>& streams() { return m_streams; }
  void catchUp() {
    for (Stream* stream : m_streams) stream->catchUp(stream->given);
  }

 private:
  int64_t unused() const {
    int64_t used = 0;
    for (const auto& [at, size] : m_used) used += size;
    return std::max<int64_t>(0, std::min(m_all, own("KVLAB_FAR_MIB", 8192) * kMebibyte) - used);
  }

  const int32_t m_ordinal;
  std::recursive_mutex m_mutex;  // work may wait for the work of another stream
  bool m_dead = false;
  int m_depth = 0;
  std::set<Stream*> m_streams;  // with KVLAB_FAR_LATE alone: then one thread uses the device
  bool m_closes = setting("KVLAB_FAR_CLOSES", 1) != 0;
  std::byte* m_start = nullptr;
  int64_t m_all = 8192 * kMebibyte;
  std::map<int64_t, int64_t> m_free, m_used;  // offset, bytes
};

void Stream::catchUp(int64_t until) {
  for (; done < until && !late.empty(); ++done) {
    const Work work = std::move(late.front());
    late.pop_front();
    on.run(work);
  }
}

void give(Stream& s, Work work) {
  ++s.given;
  if (s.on.streams().contains(&s)) return s.late.push_back(std::move(work));
  s.on.run(work);
  ++s.done;
}

/// The error of a call on a stream.
int32_t refusal(void* stream, const char* function = "") {
  if (&static_cast<Stream*>(stream)->on != &Far::one()) return kOtherDevice;
  return Far::one().refusal(function);
}

int32_t submit(void* stream, Work work) {
  auto* s = static_cast<Stream*>(stream);
  if (const int32_t error = refusal(stream)) return error;
  if (s->recording) s->recording->push_back(std::move(work));
  else give(*s, std::move(work));
  return 0;
}

template <auto Op, class Args>
int32_t call(void* stream, const Args& args) {
  if (const int32_t failed = Far::one().nextCall()) return failed;
  if (Far::one().own("KVLAB_FAR_IDLES", 0)) return submit(stream, [] {});
  return submit(stream, [stream, args] { (cpuOps().*Op)(static_cast<Stream*>(stream)->context, args); });
}

int32_t use(int32_t ordinal) {
  if (ordinal < 0 || ordinal >= devices()) return kNoSuchDevice;
  return taken = ordinal, 0;
}

CudaDevice probe(int32_t ordinal) {
  CudaDevice device;
  device.devices = devices();
  device.driver = device.runtime = 13000;
  if (ordinal < 0 || ordinal >= device.devices) device.error = kNoSuchDevice;
  if (device.error) return device;
  device.major = 8, device.minor = 6;
  device.memoryBytes = Far::of(ordinal).all();
  device.bytesPerSecond = int64_t{1} << 40;
  strcpy(device.name, "far memory of this processor");
  return device;
}

const char* errorText(int32_t error) {
  switch (error) {
    case kOutOfMemory: return "out of memory";
    case kLaunchFailure: return "launch failure";
    case kNoSuchDevice: return "invalid device ordinal";
    case kOtherDevice: return "invalid resource handle";
    case kNoImage: return "no kernel image";
    case kIllegalAddress: return "illegal address";
    default: return "invalid value";
  }
}

int32_t memory(int64_t* unused, int64_t* all) {
  *unused = Far::one().available();
  *all = Far::one().all();
  return Far::one().refusal("memory");
}

int32_t copy(void* stream, void* to, const void* from, int64_t bytes) {
  if (static_cast<Stream*>(stream)->recording) return kInvalidValue;  // the host's copy would be replayed
  return submit(stream, [=] { memcpy(to, from, static_cast<size_t>(bytes)); });
}

int32_t openStream(void** stream) {
  if (const int32_t error = Far::one().refusal("openStream")) return error;
  auto* opened = new Stream(Far::one());
  if (setting("KVLAB_FAR_LATE", 0)) Far::one().streams().insert(opened);
  return *stream = opened, 0;
}
int32_t closeStream(void* stream) {
  auto* closed = static_cast<Stream*>(stream);
  closed->on.catchUp();  // others may wait for it
  closed->on.streams().erase(closed);
  return delete closed, 0;
}
int32_t synchronise(void* stream) {
  if (const int32_t error = refusal(stream)) return error;
  return static_cast<Stream*>(stream)->catchUp(static_cast<Stream*>(stream)->given), 0;
}
int32_t idle(void* stream, bool* out) {
  if (const int32_t error = refusal(stream)) return error;
  auto* s = static_cast<Stream*>(stream);
  s->catchUp(s->done + 1);
  return *out = s->late.empty(), 0;
}
int32_t allocatePinned(int64_t bytes, void** out) {
  if (const int32_t error = Far::one().refusal("allocatePinned")) return error;
  return *out = std::malloc(static_cast<size_t>(bytes)), 0;
}
int32_t releasePinned(void* memory) { return std::free(memory), 0; }
int32_t clear(void* stream, void* at, int64_t bytes) {
  return submit(stream, [=] { memset(at, 0, static_cast<size_t>(bytes)); });
}

int32_t beginCapture(void* stream) {
  if (const int32_t error = refusal(stream, "beginCapture")) return error;
  return static_cast<Stream*>(stream)->recording = new Recorded, 0;
}
int32_t endCapture(void* stream, void** graph, int64_t* nodes) {
  Recorded* recorded = std::exchange(static_cast<Stream*>(stream)->recording, nullptr);
  if (const int32_t error = refusal(stream, "endCapture")) return delete recorded, error;
  *graph = recorded;
  *nodes = static_cast<int64_t>(recorded->size());
  return 0;
}
int32_t launchGraph(void* stream, void* graph) {
  if (const int32_t error = refusal(stream, "launchGraph")) return error;
  for (const Work& work : *static_cast<Recorded*>(graph)) give(*static_cast<Stream*>(stream), work);
  return 0;
}
int32_t releaseGraph(void* graph) { return delete static_cast<Recorded*>(graph), 0; }

using Clock = std::chrono::steady_clock;
int32_t recordEvent(void* stream, void* event) {
  auto* e = static_cast<Event*>(event);
  if (const int32_t error = submit(stream, [e] { e->at = Clock::now(); })) return error;
  e->stream = static_cast<Stream*>(stream);
  e->behind = e->stream->given;
  return 0;
}
int32_t waitFor(void* stream, void* event) {
  return submit(stream, [on = *static_cast<Event*>(event)] { on.stream->catchUp(on.behind); });
}
int32_t eventTime(void* begin, void* end, float* milliseconds) {
  *milliseconds =
      std::chrono::duration<float, std::milli>(static_cast<Event*>(end)->at - static_cast<Event*>(begin)->at).count();
  return 0;
}

void noFast(CudaFast* out) { strcpy(out->why, "far memory has no cuBLASLt"); }

constexpr CudaApi makeApi() {
  CudaApi api{.version = kCudaApiVersion,
              .probe = &probe,
              .use = &use,
              .errorText = &errorText,
              .memory = &memory,
              .allocate = [](int64_t bytes, void** out) { return Far::one().allocate(bytes, out); },
              .release = [](void* at) { return Far::one().release(at); },
              .upload = &copy,
              .download = &copy,
              .synchronise = &synchronise,
              .openStream = &openStream,
              .closeStream = &closeStream,
              .allocatePinned = &allocatePinned,
              .releasePinned = &releasePinned,
              .clear = &clear,
              .beginCapture = &beginCapture,
              .endCapture = &endCapture,
              .launchGraph = &launchGraph,
              .releaseGraph = &releaseGraph,
              .makeEvent = [](void** event) { return *event = new Event, int32_t{0}; },
              .releaseEvent = [](void* event) { return delete static_cast<Event*>(event), int32_t{0}; },
              .recordEvent = &recordEvent,
              .waitFor = &waitFor,
              .idle = &idle,
              .eventTime = &eventTime,
              .attentionScratchBytes = [](const AttentionArgs&) { return kScratch; },
              .findFast = &noFast,
              .openFast = &noFast,
              .closeFast = [](void*) {},
              .fastScratchBytes = [](const LinearArgs&) { return int64_t{0}; },
              .linearFast = [](void* stream, void*, const LinearArgs& args,
                               void*) { return call<&OpTable::linear>(stream, args); },
              .attentionFast = &call<&OpTable::attention, AttentionArgs>,
              .takeBoundsReport = [](CudaBoundsReport*) { return int32_t{0}; }};
#define KVLAB_OP(name, Args) api.name = &call<&OpTable::name, Args>;
#include "kernels/ops/ops.inc"
#undef KVLAB_OP
  return api;
}

constexpr CudaApi kApi = makeApi();

}  // namespace
}  // namespace kvlab::kernels

extern "C" __attribute__((visibility("default"))) const kvlab::kernels::CudaApi* kvlab_cuda_api() {
  return &kvlab::kernels::kApi;
}
