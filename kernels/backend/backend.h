// SPDX-License-Identifier: Apache-2.0
// A back end is where an engine computes: ops, and the memory that ops read and write. Every pointer in op arguments
// is an address of this memory. Ops run in the order of the calls; upload, download and clear stand in the same line.
// One owner, one thread at a time. Two back ends share nothing.
//
// Failure is sticky: after the first failure ops and copies do nothing until takeFailure(), so that a sequence of
// calls is checked once, at its end.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/backend/arena.h"
#include "kernels/backend/host_pages.h"
#include "kernels/backend/op_log.h"
#include "kernels/context.h"
#include "kernels/ops/op_table.h"

namespace kvlab::kernels {

struct BackendFailure {
  bool outOfMemory = false;
  std::string why;       ///< one sentence without a full stop
  bool forGood = false;  ///< the device is lost until the program ends
};

struct Copy {
  void* to;
  const void* from;
  int64_t bytes;
};

/// Memory of a device with memory of its own, as it is now.
struct DeviceMemory {
  int64_t unused = 0, all = 0;  ///< bytes, of all programs together
  int64_t bytesPerSecond = 0;   ///< its peak; 0 = unknown
};

/// Counts since the back end was made. A steady state adds to `replays`, `waits`, `downloads` and bytes alone.
struct BackendCounters {
  int64_t allocations = 0;
  int64_t captures = 0;  ///< recordings made
  int64_t replays = 0;
  int64_t waits = 0;                   ///< times that the host waited for the device
  int64_t downloads = 0;               ///< copies to the host, neighbours together
  int64_t bytesDown = 0, bytesUp = 0;  ///< copied to the host, copied from it
  int64_t nodes = 0;                   ///< kernels and copies in the newest recording
};

class Backend {
 public:
  virtual ~Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  virtual const char* id() const = 0;      ///< "cpu", "cuda:0"
  virtual std::string device() const = 0;  ///< name of the computing device, for people
  virtual const OpTable& ops() const = 0;
  virtual const Context& context() const = 0;
  /// True where the host may touch the memory, so that host arrays can be op arguments as they are.
  virtual bool onHost() const = 0;

  /// Undefined bytes from a border of 256; null (and a failure) where memory is refused.
  virtual void* allocate(int64_t bytes) = 0;
  virtual void release(void* memory) = 0;  ///< null is allowed
  /// Memory with the bytes of `memory`, which `from` has allocated. Both read the same pages until one of the two back
  /// ends writes a page. Null, and no failure, where these back ends or the system cannot share.
  virtual void* share(Backend& /*from*/, void* /*memory*/) { return nullptr; }
  /// So many bytes in the same place, the first `kept` of them as they were, in the pages that they share. False, and
  /// nothing has changed, where that cannot be; then other memory serves.
  virtual bool resize(void* /*memory*/, int64_t /*bytes*/, int64_t /*kept*/) { return false; }
  /// The bytes of the memory's pages that are in use; none if it has no pages of its own, or if that is unknown.
  virtual std::optional<PageUse> pages(void* /*memory*/) const { return std::nullopt; }
  /// Another back end that computes on the same threads of the processor, with memory and an arena of its own; the two
  /// are called one at a time. Null if a new back end serves as well.
  virtual std::shared_ptr<Backend> sibling() const { return nullptr; }
  /// Bytes that allocate() may still give; the largest number if that is unknown.
  virtual int64_t available() const = 0;
  virtual std::optional<DeviceMemory> deviceMemory() const { return std::nullopt; }  ///< none on the host
  virtual void upload(void* to, const void* from, int64_t bytes) = 0;                ///< `from` is free on return
  /// Copies to the host; the copy is complete on return.
  void download(std::span<const Copy> copies) {
    startDownload(copies);
    finishDownloads();
  }
  /// Begins a copy to the host. The source must not change before finishDownloads(), which waits and delivers.
  virtual void startDownload(std::span<const Copy> copies) = 0;
  virtual void finishDownloads() = 0;
  virtual bool busy() const = 0;  ///< true if finishDownloads() would wait; the question does not wait
  virtual void clear(void* at, int64_t bytes) = 0;
  virtual std::optional<BackendFailure> takeFailure() = 0;

  /// Runs the ops that `enqueue` calls, and nothing else. Equal keys promise equal calls on equal addresses:
  /// a back end that can record them does so and plays the recording from then on.
  virtual bool records() const = 0;  ///< false: replay() just calls
  virtual void replay(const std::string& key, const std::function<void()>& enqueue) = 0;
  virtual BackendCounters counters() const = 0;

  /// Another line of calls on the same memory, with an arena of its own, for reads beside the calls made here. Later
  /// calls on that line come after all earlier calls here; calls here do not wait for that line. One use at a time. A
  /// back end whose calls are done when they return gives itself.
  virtual Backend& beside() = 0;
  /// Makes later calls here come after all calls beside. writeRows, moveRows and zeroRows settle by themselves. A
  /// recording does not: settle before a recording that overwrites rows which were there when beside() was
  /// called.
  virtual void settle() = 0;

  /// Turns the list of op calls on and off; null while it is off.
  virtual void setLogging(bool on) = 0;
  virtual OpLog* log() const = 0;

  /// Temporary memory, handed out in the order of a stack (staging.h).
  Arena& arena() { return m_arena; }

 protected:
  Backend() : m_arena(*this) {}

 private:
  Arena m_arena;
};

struct BackendAnswer {
  std::unique_ptr<Backend> backend;
  std::string why;             ///< reason why it is null, or why "auto" took the CPU: one sentence without a full stop
  bool otherNumerics = false;  ///< the back end is there, the numerics are not
};

/// True of "cuda", the first device that computes, and of "cuda:N", the device of this number alone.
bool namesCuda(const std::string& id);
/// True if a back end with this id is one that `wanted` names: "cuda:1" is what "cuda" asks for.
bool isNamedBy(const std::string& id, const std::string& wanted);

/// id: "cpu", "cuda", "cuda:N", or "auto" (the first CUDA device that computes rightly, else the CPU). threads: number
/// of CPU threads.
/// numerics: an id of numericsOf(), which then also decides for "auto", or empty for the back end's first.
BackendAnswer openBackend(const std::string& id, int threads, const std::string& numerics = {});

struct NumericsAnswer {
  std::string id, why;  ///< why: the reason if the numerics are not available here; else empty
};
/// The numerics of a back end, the exact one first. See kernels/numerics.h, kernels/cuda/linear/fast.h.
std::vector<NumericsAnswer> numericsOf(const std::string& id);

/// Computes on `threads` threads of this processor, the caller's included. `numerics`: an available id of
/// cpuNumerics(), or empty for the first one.
std::unique_ptr<Backend> makeCpuBackend(int threads, const std::string& numerics = {});
std::vector<NumericsAnswer> cpuNumerics();

/// Computes on a CUDA device, with a stream of its own. id: a name of namesCuda(). `numerics`: "cuda-det", the default,
/// or "cuda-fast".
BackendAnswer makeCudaBackend(const std::string& id, const std::string& numerics);
/// The two ids with the reason why one cannot be had here. Needs no device; some ten milliseconds.
std::vector<NumericsAnswer> cudaNumerics();

}  // namespace kvlab::kernels
