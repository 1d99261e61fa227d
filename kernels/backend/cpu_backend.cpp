// SPDX-License-Identifier: Apache-2.0
// The back end that works in host memory. Large pieces are reserved address space: memory is taken by
// the first write of a page, so rows kept for history cost nothing until used.
#include <sys/mman.h>

#include <cstring>
#include <limits>
#include <map>
#include <new>
#include <utility>

#include "kernels/backend/backend.h"
#include "kernels/numerics.h"
#include "kernels/thread_pool.h"

namespace kvlab::kernels {
namespace {

constexpr std::align_val_t kBorder{256};
// A check reads one cache line of every row: with small pages most of the time goes into address translation.
constexpr size_t kHugePage = size_t{2} << 20;

class CpuBackend : public Backend {
 public:
  CpuBackend(int threads, bool bf16) : m_bf16(bf16), m_pool(threads), m_context{&m_pool, nullptr, nullptr} {}
  ~CpuBackend() override { arena().clear(); }

  const char* id() const override { return "cpu"; }
  std::string device() const override { return cpuOps().targetName(); }
  const OpTable& ops() const override { return m_bf16 ? tableOf<&cpuBf16Ops>() : tableOf<&cpuOps>(); }
  const Context& context() const override { return m_context; }
  bool onHost() const override { return true; }
  int64_t available() const override { return std::numeric_limits<int64_t>::max(); }

  void* allocate(int64_t bytes) override {
    const auto size = static_cast<size_t>(bytes);
    ++m_allocations;
    void* memory = size < kHugePage ? ::operator new(size, kBorder, std::nothrow) : map(size);
    if (!memory) m_failure = BackendFailure{true, std::to_string(bytes) + " bytes were refused"};
    return memory;
  }

  void release(void* memory) override {
    const auto mapped = m_mapped.find(memory);
    if (mapped == m_mapped.end()) return ::operator delete(memory, kBorder);
    munmap(mapped->second.first, mapped->second.second);
    m_mapped.erase(mapped);
  }

  void upload(void* to, const void* from, int64_t bytes) override { copy(to, from, bytes); }
  void startDownload(std::span<const Copy> copies) override {
    for (const Copy& one : copies) copy(one.to, one.from, one.bytes);
  }
  void finishDownloads() override {}
  bool busy() const override { return false; }
  Backend& beside() override { return *this; }
  void settle() override {}
  void clear(void* at, int64_t bytes) override {
    if (bytes > 0) memset(at, 0, static_cast<size_t>(bytes));
  }
  bool records() const override { return false; }
  void replay(const std::string&, const std::function<void()>& enqueue) override { enqueue(); }
  void setLogging(bool on) override { m_context.log = on ? &m_log : nullptr; }
  OpLog* log() const override { return m_context.log; }
  BackendCounters counters() const override { return {.allocations = m_allocations}; }
  std::optional<BackendFailure> takeFailure() override { return std::exchange(m_failure, std::nullopt); }

 private:
  template <auto kOps>
  const OpTable& tableOf() const {
    return m_context.log ? LoggedOps<kOps>::table() : kOps();
  }

  static void copy(void* to, const void* from, int64_t bytes) {
    if (bytes > 0 && to != from) memcpy(to, from, static_cast<size_t>(bytes));
  }

  /// Begins at a huge page.
  void* map(size_t size) {
    void* start =
        mmap(nullptr, size + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) return nullptr;
    void* memory =
        static_cast<std::byte*>(start) + (kHugePage - reinterpret_cast<uintptr_t>(start) % kHugePage) % kHugePage;
    madvise(memory, size, MADV_HUGEPAGE);  // advice: refusal changes nothing
    m_mapped[memory] = {start, size + kHugePage};
    return memory;
  }

  const bool m_bf16;
  ThreadPool m_pool;
  Context m_context;
  ClockLog m_log;
  std::map<void*, std::pair<void*, size_t>> m_mapped;  // memory -> whole mapping
  std::optional<BackendFailure> m_failure;
  int64_t m_allocations = 0;
};

}  // namespace

std::vector<NumericsAnswer> cpuNumerics() {
  const bool fused = std::string(numericsId()) == "portable-fma";
  return {{numericsId(), {}}, {kBf16NumericsId, fused ? "" : "the processor does not fuse multiply and add"}};
}

std::unique_ptr<Backend> makeCpuBackend(int threads, const std::string& numerics) {
  return std::make_unique<CpuBackend>(threads, numerics == kBf16NumericsId);
}

}  // namespace kvlab::kernels
