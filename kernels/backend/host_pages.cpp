// SPDX-License-Identifier: Apache-2.0
#include "kernels/backend/host_pages.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

namespace kvlab::kernels {
namespace {

// A check reads one cache line of every row: with small pages most of the time goes into address translation.
constexpr size_t kHugePage = size_t{2} << 20;

size_t pageSize() {
  static const auto kSize = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return kSize;
}

size_t wholePages(size_t bytes) { return (bytes + pageSize() - 1) / pageSize() * pageSize(); }

bool zero(const std::byte* page) { return page[0] == std::byte{0} && memcmp(page, page + 1, pageSize() - 1) == 0; }

bool writeAll(int file, const std::byte* from, size_t bytes, int64_t to) {
  while (bytes > 0) {
    const ssize_t done = pwrite(file, from, bytes, to);
    if (done <= 0) return false;
    from += done;
    to += done;
    bytes -= static_cast<size_t>(done);
  }
  return true;
}

/// The question of PAGEMAP_SCAN as Linux 6.7 and later take it (Documentation/admin-guide/mm/pagemap.rst): headers of
/// the system may be older.
struct PageRegion {
  uint64_t start, end, categories;
};
struct PageQuestion {
  uint64_t size, flags, start, end, walkEnd, regions, regionCount, mostPages, inverted, all, any, wanted;
};
constexpr unsigned long kPageScan = _IOWR('f', 16, PageQuestion);
constexpr uint64_t kFilePage = 4, kPresentPage = 8, kSwappedPage = 16;

/// The page table of this process, which stays open; a process that was forked opens its own. file < 0: not shown.
struct PageTable {
  PageTable() = default;
  PageTable(const PageTable&) = delete;
  PageTable& operator=(const PageTable&) = delete;
  ~PageTable() {
    if (file >= 0) close(file);
  }
  const int file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC), process = getpid();
};

/// written[i] = 1 for each page that is there and private. False where the system has no such question.
bool scanTable(int table, const std::byte* data, std::vector<std::uint8_t>& written) {
  const auto first = reinterpret_cast<uintptr_t>(data);
  std::array<PageRegion, 64> found;
  PageQuestion ask = {.size = sizeof ask,
                      .flags = 0,
                      .start = first,
                      .end = first + written.size() * pageSize(),
                      .walkEnd = 0,
                      .regions = reinterpret_cast<uintptr_t>(found.data()),
                      .regionCount = found.size(),
                      .mostPages = 0,
                      .inverted = kFilePage,
                      .all = kFilePage,
                      .any = kPresentPage | kSwappedPage,
                      .wanted = kPresentPage};
  while (ask.start < ask.end) {
    const int count = ioctl(table, kPageScan, &ask);
    if (count < 0 || ask.walkEnd <= ask.start) return false;
    for (const PageRegion& one : std::span(found).first(static_cast<size_t>(count)))
      for (uintptr_t page = one.start; page < one.end; page += pageSize()) written[(page - first) / pageSize()] = 1;
    ask.start = ask.walkEnd;
  }
  return true;
}

/// The same from the entries of all pages.
bool readTable(int table, const std::byte* data, std::vector<std::uint8_t>& written) {
  constexpr uint64_t kThere = uint64_t{3} << 62, kOfFile = uint64_t{1} << 61;  // present or swapped out; not private
  std::vector<uint64_t> entries(written.size());
  const size_t bytes = entries.size() * sizeof(uint64_t);
  const auto first = static_cast<off_t>(reinterpret_cast<uintptr_t>(data) / pageSize() * sizeof(uint64_t));
  if (pread(table, entries.data(), bytes, first) != static_cast<ssize_t>(bytes)) return false;
  std::ranges::transform(entries, written.begin(),
                         [](uint64_t entry) { return (entry & kThere) && !(entry & kOfFile); });
  return true;
}

}  // namespace

std::shared_ptr<PageFile> PageFile::make() {
  const int descriptor = memfd_create("kvlab rows", MFD_CLOEXEC);
  return descriptor < 0 ? nullptr : std::shared_ptr<PageFile>(new PageFile(descriptor));
}

PageFile::PageFile(int descriptor) : m_descriptor(descriptor), m_process(getpid()) {}

PageFile::~PageFile() { close(m_descriptor); }

bool PageFile::ours() const { return getpid() == m_process; }

int64_t PageFile::take(size_t bytes) {
  const int64_t begin = m_end, end = begin + static_cast<int64_t>(bytes);
  if (ftruncate(m_descriptor, end) != 0) return -1;
  m_end = end;
  return begin;
}

/// A part of a file that several pieces of memory read. The last of them frees its pages.
struct HostPages::Group {
  Group(std::shared_ptr<PageFile> pages, int64_t from, size_t size)
      : file(std::move(pages)), begin(from), bytes(static_cast<int64_t>(size)) {}
  ~Group() { drop(0); }
  /// Frees the pages from here on, which no piece of memory reads any more.
  void drop(size_t from) const {
    const auto skipped = static_cast<int64_t>(from);
    if (file->ours() && skipped < bytes)
      fallocate(file->descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, begin + skipped, bytes - skipped);
  }
  /// Calls visit(number of the page) for each page that it has among the first bytes.
  template <class Visit>
  void eachPage(int64_t most, Visit visit) const {
    const int64_t end = begin + most, page = static_cast<int64_t>(pageSize());
    for (int64_t at = begin; at < end;) {
      const int64_t data = lseek(file->descriptor(), at, SEEK_DATA);
      if (data < 0 || data >= end) break;
      at = std::min<int64_t>(end, lseek(file->descriptor(), data, SEEK_HOLE));
      for (int64_t i = data; i < at; i += page) visit(static_cast<size_t>((i - begin) / page));
    }
  }

  std::shared_ptr<PageFile> file;
  int64_t begin, bytes;
};

std::unique_ptr<HostPages> HostPages::reserve(size_t bytes, bool large) {
  const size_t size = wholePages(bytes), border = large && size >= kHugePage ? kHugePage : 0;
  void* start =
      mmap(nullptr, size + border, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return nullptr;
  auto* data = static_cast<std::byte*>(start);
  if (border) data += (border - reinterpret_cast<uintptr_t>(start) % border) % border;
  // Small pools are many, in batches and where heads have pools of their own: their first rows take small pages.
  const size_t small = border ? kHugePage : size;
  madvise(data, small, MADV_NOHUGEPAGE);  // advice: refusal changes nothing
  if (size > small) madvise(data + small, size - small, MADV_HUGEPAGE);
  return std::unique_ptr<HostPages>(new HostPages(start, size + border, data, size));
}

HostPages::~HostPages() { munmap(m_start, m_whole); }

std::unique_ptr<HostPages> HostPages::copy(const std::shared_ptr<PageFile>& file) {
  if (!file->ours()) return nullptr;
  const std::optional<std::vector<std::uint8_t>> own = written();
  if (!own || !hand(*own, file)) return nullptr;
  std::unique_ptr<HostPages> out = reserve(m_room, false);  // a page that it writes should cost a small page
  if (!out || (m_group && !out->map(m_group, m_mapped))) return nullptr;
  out->m_bytes = m_bytes;
  return out;
}

bool HostPages::resize(size_t bytes, size_t kept) {
  const size_t size = wholePages(bytes), from = std::min({wholePages(kept), m_bytes, size});
  if (size > m_room || !leaveGroup(from)) return false;
  if (from < m_bytes) madvise(m_data + from, m_bytes - from, MADV_DONTNEED);
  m_bytes = size;
  return true;
}

/// Puts pages of zeros in place of those that the group stands behind from here on.
bool HostPages::leaveGroup(size_t from) {
  if (from >= m_mapped) return true;
  constexpr int kHow = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
  void* at = mmap(m_data + from, m_mapped - from, PROT_READ | PROT_WRITE, kHow, -1, 0);
  if (at == MAP_FAILED) return false;
  madvise(at, m_mapped - from, MADV_NOHUGEPAGE);  // advice: refusal changes nothing
  m_mapped = from;
  if (m_group.use_count() == 1) m_group->drop(from);
  if (from == 0) m_group = nullptr;
  return true;
}

/// Gives the pages that only this memory has to its group: to the old one where nobody else is in it, else to a new
/// one. Pages of zeros go back to the system, for a large page is seldom written whole. False: nothing has changed.
bool HostPages::hand(const std::vector<std::uint8_t>& written, const std::shared_ptr<PageFile>& file) {
  if (std::ranges::find(written, 1) == written.end()) return true;
  const bool alone = m_group && m_group.use_count() == 1;
  std::shared_ptr<Group> group = m_group;
  if (alone) {
    group->drop(m_mapped);  // members that have gone may have had more pages
  } else {
    const int64_t begin = file->take(m_room);
    if (begin < 0) return false;
    group = std::make_shared<Group>(file, begin, m_room);
  }
  const std::vector<std::uint8_t> inGroup = filed();
  const size_t page = pageSize();
  const auto goes = [&](size_t i) {
    if (alone && !written[i]) return false;
    return (alone && inGroup[i]) || ((written[i] || inGroup[i]) && !zero(m_data + i * page));
  };
  size_t mapped = m_mapped;
  for (size_t i = 0; i < written.size(); ++i) {
    size_t end = i;
    while (end < written.size() && goes(end)) ++end;
    if (end == i) continue;
    const auto to = group->begin + static_cast<int64_t>(i * page);
    if (!writeAll(group->file->descriptor(), m_data + i * page, (end - i) * page, to)) return false;
    mapped = std::max(mapped, end * page);
    i = end;
  }
  if (mapped > 0 && !map(std::move(group), mapped)) return false;
  madvise(m_data + mapped, m_bytes - mapped, MADV_DONTNEED);
  return true;
}

/// Puts the group behind the first bytes in place of the pages that stood there.
bool HostPages::map(std::shared_ptr<Group> group, size_t bytes) {
  void* at = mmap(m_data, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE,
                  group->file->descriptor(), group->begin);
  if (at == MAP_FAILED) return false;
  m_group = std::move(group);
  m_mapped = bytes;
  return true;
}

/// For each page, whether only this memory has it. None where the system does not tell.
std::optional<std::vector<std::uint8_t>> HostPages::written() const {
  static const PageTable kTable;
  const std::optional<PageTable> own =
      kTable.process == getpid() ? std::nullopt : std::optional<PageTable>(std::in_place);
  const int table = own ? own->file : kTable.file;
  if (table < 0) return std::nullopt;
  std::vector<std::uint8_t> out(m_bytes / pageSize());
  return scanTable(table, m_data, out) || readTable(table, m_data, out) ? std::optional(std::move(out)) : std::nullopt;
}

/// For each page, whether the group holds it.
std::vector<std::uint8_t> HostPages::filed() const {
  std::vector<std::uint8_t> out(m_bytes / pageSize());
  if (m_group) m_group->eachPage(static_cast<int64_t>(m_mapped), [&](size_t page) { out[page] = 1; });
  return out;
}

std::optional<PageUse> HostPages::use() const {
  const std::optional<std::vector<std::uint8_t>> own = written();
  if (!own) return std::nullopt;
  const std::vector<std::uint8_t> inGroup = filed();
  const auto page = static_cast<int64_t>(pageSize());
  PageUse out;
  int64_t filedBytes = 0;
  for (size_t i = 0; i < own->size(); ++i) {
    out.own += (*own)[i] ? page : 0;
    out.shared += inGroup[i] && !(*own)[i] ? page : 0;
    filedBytes += inGroup[i] ? page : 0;
  }
  if (!m_group || m_group.use_count() == 1) return PageUse{out.own + filedBytes, 0, nullptr, 0};
  out.group = m_group.get();
  m_group->eachPage(m_group->bytes, [&](size_t) { out.groupBytes += page; });
  return out;
}

}  // namespace kvlab::kernels
