// SPDX-License-Identifier: Apache-2.0
// Host memory in whole pages that can be copied on write. A copy and its original read the same pages until one of the
// two writes a page: the writer then gets that page for itself. Memory is taken by the first write of a page. One
// owner, on one thread; copies may live on other threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace kvlab::kernels {

/// The bytes of some memory by the kind of their pages.
struct PageUse {
  int64_t own = 0;              ///< in pages that nobody else reads
  int64_t shared = 0;           ///< in pages that it reads together with others
  const void* group = nullptr;  ///< the same for all that share pages; null where nothing is shared
  int64_t groupBytes = 0;       ///< all pages that the group holds for its members
};

/// A file without a name, which holds the pages of groups.
class PageFile {
 public:
  static std::shared_ptr<PageFile> make();  ///< null where the system has none
  ~PageFile();
  PageFile(const PageFile&) = delete;
  PageFile& operator=(const PageFile&) = delete;

  int descriptor() const { return m_descriptor; }
  /// False in a process that was forked: the file still belongs to its parent, whose memory lies in it.
  bool ours() const;
  /// The begin of so many unused bytes, or -1.
  int64_t take(size_t bytes);

 private:
  explicit PageFile(int descriptor);

  int m_descriptor, m_process;
  int64_t m_end = 0;
};

class HostPages {
 public:
  /// Memory of zeros. large: the part behind the size of one large page asks for large pages. Null if the system
  /// refuses.
  static std::unique_ptr<HostPages> reserve(size_t bytes, bool large);
  ~HostPages();
  HostPages(const HostPages&) = delete;
  HostPages& operator=(const HostPages&) = delete;

  void* data() const { return m_data; }
  /// The same bytes on copy. Pages that only this memory has go to `file` first. Null where the system cannot, and in a
  /// process that was forked.
  std::unique_ptr<HostPages> copy(const std::shared_ptr<PageFile>& file);
  /// So many bytes in the same place. The first `kept` stay, in the pages that they are in, shared ones too; the pages
  /// behind them go back to the system. False, and nothing has changed, where the memory was reserved smaller.
  bool resize(size_t bytes, size_t kept);
  /// None where the system does not tell.
  std::optional<PageUse> use() const;

 private:
  struct Group;

  HostPages(void* start, size_t whole, std::byte* data, size_t room)
      : m_start(start), m_whole(whole), m_data(data), m_room(room), m_bytes(room) {}
  std::optional<std::vector<std::uint8_t>> written() const;
  std::vector<std::uint8_t> filed() const;
  bool hand(const std::vector<std::uint8_t>& written, const std::shared_ptr<PageFile>& file);
  bool map(std::shared_ptr<Group> group, size_t bytes);
  bool leaveGroup(size_t from);

  void* m_start;
  size_t m_whole;
  std::byte* m_data;
  size_t m_room, m_bytes;          // whole pages: reserved, and in use
  std::shared_ptr<Group> m_group;  // null: all pages are its own
  size_t m_mapped = 0;             // bytes from the front that the group stands behind, other members may have more
};

}  // namespace kvlab::kernels
