// SPDX-License-Identifier: Apache-2.0
// Zip archives whose entries are stored, as torch.save and numpy.savez write them: entries are read in place. A
// compressed entry is refused when somebody asks for it. Values that point into the file; any thread.
#pragma once
#include <map>
#include <memory>
#include <span>
#include <string>

#include "core/api/error.h"
#include "core/model/files/mapped_file.h"

namespace kvlab {

class ZipFile {
 public:
  struct Entry {
    std::uint16_t method = 0;  // 0 = stored
    std::uint64_t size = 0, packed = 0, header = 0;
  };

  static Result<ZipFile> parse(std::shared_ptr<const MappedFile> file, const std::string& path);

  const std::map<std::string, Entry, std::less<>>& entries() const { return m_entries; }
  /// Errors (bad_file): there is none, it is compressed, it leaves the file.
  Result<std::span<const std::byte>> bytes(const std::string& name) const;
  const std::shared_ptr<const MappedFile>& file() const { return m_file; }

 private:
  std::shared_ptr<const MappedFile> m_file;
  std::string m_path;
  std::map<std::string, Entry, std::less<>> m_entries;
};

bool isZipFile(std::span<const std::byte> bytes);

}  // namespace kvlab
