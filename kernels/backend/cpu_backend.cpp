// SPDX-License-Identifier: Apache-2.0
// The back end that works in host memory. Larger pieces are whole pages (host_pages.h): memory is taken by the first
// write of a page, so rows kept for history cost nothing until used.
#include <cstring>
#include <limits>
#include <map>
#include <new>
#include <utility>

#include "kernels/backend/backend.h"
#include "kernels/backend/host_pages.h"
#include "kernels/numerics.h"
#include "kernels/thread_pool.h"

namespace kvlab::kernels {
namespace {

constexpr std::align_val_t kBorder{256};
constexpr size_t kPaged = size_t{1} << 14;  // from this size on memory is whole pages

template <auto kOps>
const OpTable& tableOf(bool logged) {
  return logged ? LoggedOps<kOps>::table() : kOps();
}

class CpuBackend : public Backend {
 public:
  using Tables = const OpTable& (*)(bool logged);

  CpuBackend(std::shared_ptr<ThreadPool> pool, Tables tables)
      : m_tables(tables), m_pool(std::move(pool)), m_context{m_pool.get(), nullptr, nullptr} {}
  ~CpuBackend() override { arena().clear(); }

  const char* id() const override { return "cpu"; }
  std::string device() const override { return cpuOps().targetName(); }
  const OpTable& ops() const override { return m_tables(m_context.log != nullptr); }
  const Context& context() const override { return m_context; }
  bool onHost() const override { return true; }
  int64_t available() const override { return std::numeric_limits<int64_t>::max(); }

  void* allocate(int64_t bytes) override {
    const auto size = static_cast<size_t>(bytes);
    ++m_allocations;
    void* memory = size < kPaged ? ::operator new(size, kBorder, std::nothrow) : keep(HostPages::reserve(size, true));
    if (!memory) m_failure = BackendFailure{true, std::to_string(bytes) + " bytes were refused"};
    return memory;
  }

  void release(void* memory) override {
    if (m_pages.erase(memory) == 0) ::operator delete(memory, kBorder);
  }

  void* share(Backend& from, void* memory) override {
    auto* const other = dynamic_cast<CpuBackend*>(&from);
    if (!other) return nullptr;
    const auto pages = other->m_pages.find(memory);
    if (pages == other->m_pages.end()) return nullptr;
    if (!other->m_file) other->m_file = PageFile::make();
    if (!other->m_file) return nullptr;
    ++m_allocations;
    return keep(pages->second->copy(other->m_file));
  }
  bool resize(void* memory, int64_t bytes, int64_t kept) override {
    const auto pages = m_pages.find(memory);
    return pages != m_pages.end() && pages->second->resize(static_cast<size_t>(bytes), static_cast<size_t>(kept));
  }
  std::optional<PageUse> pages(void* memory) const override {
    const auto pages = m_pages.find(memory);
    return pages == m_pages.end() ? std::nullopt : pages->second->use();
  }
  std::shared_ptr<Backend> sibling() const override { return std::make_shared<CpuBackend>(m_pool, m_tables); }

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
  static void copy(void* to, const void* from, int64_t bytes) {
    if (bytes > 0 && to != from) memcpy(to, from, static_cast<size_t>(bytes));
  }

  void* keep(std::unique_ptr<HostPages> pages) {
    if (!pages) return nullptr;
    void* const memory = pages->data();
    m_pages[memory] = std::move(pages);
    return memory;
  }

  const Tables m_tables;
  const std::shared_ptr<ThreadPool> m_pool;
  Context m_context;
  ClockLog m_log;
  std::map<void*, std::unique_ptr<HostPages>> m_pages;
  std::shared_ptr<PageFile> m_file;  // takes pages of this back end that have copies
  std::optional<BackendFailure> m_failure;
  int64_t m_allocations = 0;
};

}  // namespace

std::vector<NumericsAnswer> cpuNumerics() {
  const bool fused = std::string(numericsId()) == "portable-fma";
  const char* const why = fused ? "" : "the processor does not fuse multiply and add";
  return {{numericsId(), {}}, {kBf16NumericsId, why}, {kQ8NumericsId, why}};
}

std::unique_ptr<Backend> makeCpuBackend(int threads, const std::string& numerics) {
  const auto tables = numerics == kBf16NumericsId ? tableOf<&cpuBf16Ops>
      : numerics == kQ8NumericsId                 ? tableOf<&cpuQ8Ops>
                                                  : tableOf<&cpuOps>;
  return std::make_unique<CpuBackend>(std::make_shared<ThreadPool>(threads), tables);
}

}  // namespace kvlab::kernels
