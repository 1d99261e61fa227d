// SPDX-License-Identifier: Apache-2.0
// Source of the layout: PKWARE's APPNOTE 6.3, sections 4.3 and 4.5.3.
#include "core/foreign/zip_file.h"

#include <optional>

#include "core/foreign/foreign_file.h"

namespace kvlab {
namespace {

constexpr std::uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                        kLocator64 = 0x07064b50;
constexpr std::size_t kEndBytes = 22, kLocatorBytes = 20, kLocalBytes = 30, kCentralBytes = 46, kMostComment = 65535;
constexpr std::uint32_t kIn64 = 0xffffffff;

struct ZipDirectory {
  std::uint64_t entries = 0, offset = 0;
};

template <class T>
T zipNumber(std::span<const std::byte> bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

std::optional<std::size_t> endRecord(std::span<const std::byte> bytes) {
  if (bytes.size() < kEndBytes) return {};
  const std::size_t last = bytes.size() - kEndBytes, first = last > kMostComment ? last - kMostComment : 0;
  for (std::size_t at = last + 1; at-- > first;)
    if (zipNumber<std::uint32_t>(bytes, at) == kEnd) return at;
  return {};
}

Result<ZipDirectory> zipDirectory(std::span<const std::byte> bytes, const std::string& path) {
  const auto end = endRecord(bytes);
  if (!end) return badForeign(path, "end", "the archive has no directory; the file is cut");
  ZipDirectory out{zipNumber<std::uint16_t>(bytes, *end + 10), zipNumber<std::uint32_t>(bytes, *end + 16)};
  if (*end < kLocatorBytes || zipNumber<std::uint32_t>(bytes, *end - kLocatorBytes) != kLocator64) return out;
  const auto record = zipNumber<std::uint64_t>(bytes, *end - kLocatorBytes + 8);
  if (record > bytes.size() - kEndBytes)
    return badForeign(path, "byte " + std::to_string(*end), "the directory of a big archive lies outside of it");
  ForeignCursor in(bytes, path, static_cast<std::size_t>(record));
  if (KV_TRY(in.number<std::uint32_t>("the directory's end")) != kEnd64) return in.bad("no end of a directory");
  KV_TRY(in.take(28, "the directory's end"));
  out.entries = KV_TRY(in.number<std::uint64_t>("the number of entries"));
  KV_TRY(in.take(8, "the directory's size"));
  out.offset = KV_TRY(in.number<std::uint64_t>("the directory's place"));
  return out;
}

/// Sizes and places that do not fit 32 bits stand in the extra field, in this order.
Status readExtra(ForeignCursor extra, ZipFile::Entry& entry) {
  while (extra.left() >= 4) {
    const auto id = KV_TRY(extra.number<std::uint16_t>("a field"));
    const auto size = KV_TRY(extra.number<std::uint16_t>("a field's size"));
    if (id != 1) {
      KV_TRY(extra.take(size, "a field"));
      continue;
    }
    for (std::uint64_t* one : {&entry.size, &entry.packed, &entry.header})
      if (*one == kIn64) *one = KV_TRY(extra.number<std::uint64_t>("a size of 64 bits"));
    return ok();
  }
  return ok();
}

}  // namespace

bool isZipFile(std::span<const std::byte> bytes) {
  return bytes.size() >= kEndBytes && zipNumber<std::uint32_t>(bytes, 0) == kLocal;
}

Result<ZipFile> ZipFile::parse(std::shared_ptr<const MappedFile> file, const std::string& path) {
  ZipFile out;
  const auto bytes = file->bytes();
  const ZipDirectory directory = KV_TRY(zipDirectory(bytes, path));
  if (directory.offset > bytes.size() || directory.entries > (bytes.size() - directory.offset) / kCentralBytes)
    return badForeign(path, "byte " + std::to_string(directory.offset),
                      "a directory of " + std::to_string(directory.entries) + " entries does not fit");
  ForeignCursor in(bytes, path, static_cast<std::size_t>(directory.offset));
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    const auto head = KV_TRY(in.take(kCentralBytes, "an entry of the directory"));
    if (zipNumber<std::uint32_t>(head, 0) != kCentral) return in.bad("no entry of a directory");
    Entry entry{zipNumber<std::uint16_t>(head, 10), zipNumber<std::uint32_t>(head, 24),
                zipNumber<std::uint32_t>(head, 20), zipNumber<std::uint32_t>(head, 42)};
    const auto name = KV_TRY(in.text(zipNumber<std::uint16_t>(head, 28), "an entry's name"));
    const auto extra = KV_TRY(in.take(zipNumber<std::uint16_t>(head, 30), "an entry's fields"));
    KV_TRY(in.take(zipNumber<std::uint16_t>(head, 32), "an entry's comment"));
    KV_TRY(readExtra(ForeignCursor(extra, path), entry));
    if (!out.m_entries.emplace(name, entry).second) return in.bad("two entries \"" + std::string(name) + "\"");
  }
  out.m_file = std::move(file);
  out.m_path = path;
  return out;
}

Result<std::span<const std::byte>> ZipFile::bytes(const std::string& name) const {
  const auto found = m_entries.find(name);
  const std::string where = "entry \"" + name + "\"";
  if (found == m_entries.end()) return badForeign(m_path, where, "is missing");
  const Entry& entry = found->second;
  if (entry.method != 0 || entry.size != entry.packed)
    return badForeign(m_path, where, "is compressed", "write the archive uncompressed: numpy.savez, torch.save");
  const auto all = m_file->bytes();
  if (entry.header > all.size()) return badForeign(m_path, where, "lies outside of the file");
  ForeignCursor in(all, m_path, static_cast<std::size_t>(entry.header));
  const auto head = KV_TRY(in.take(kLocalBytes, "an entry"));
  if (zipNumber<std::uint32_t>(head, 0) != kLocal) return badForeign(m_path, where, "does not begin where it should");
  KV_TRY(in.take(zipNumber<std::uint16_t>(head, 26), "an entry's name"));
  KV_TRY(in.take(zipNumber<std::uint16_t>(head, 28), "an entry's fields"));
  return in.take(entry.size, "an entry");
}

}  // namespace kvlab
