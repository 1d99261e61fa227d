// SPDX-License-Identifier: Apache-2.0
// Source of the layout: NumPy's NEP 1.
#include "core/foreign/numpy_file.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "core/foreign/foreign_file.h"

namespace kvlab {
namespace {

constexpr std::string_view kNumpyMagic = "\x93NUMPY";
constexpr std::size_t kMostHeader = 65536, kMostNumpyAxes = 16;

struct NumpyType {
  std::string_view name;
  Element element;
};
/// Types that end in the same letter and size in both byte orders have one byte, or stand here in little endian alone.
constexpr NumpyType kNumpyTypes[] = {{"<f4", Element::F32}, {"<f2", Element::F16}, {"<f8", Element::F64},
                                     {"<i4", Element::I32}, {"<i8", Element::I64}, {"<i2", Element::I16},
                                     {"|i1", Element::I8},  {"|u1", Element::U8},  {"<u2", Element::U16},
                                     {"<u4", Element::U32}, {"<u8", Element::U64}, {"|b1", Element::Bool}};

/// What stands behind 'key': in the text of a header, which is a dict of Python with three keys.
std::string_view headerValue(std::string_view header, std::string_view key) {
  const auto at = header.find("'" + std::string(key) + "':");
  if (at == std::string_view::npos) return {};
  header.remove_prefix(at + key.size() + 3);
  header.remove_prefix(std::min(header.find_first_not_of(' '), header.size()));
  return header;
}

Result<Element> headerType(std::string_view header, const std::string& path, const std::string& where) {
  const std::string_view value = headerValue(header, "descr");
  for (const NumpyType& type : kNumpyTypes)
    if (value.size() > 4 && value[0] == '\'' && value.substr(1, 3) == type.name && value[4] == '\'')
      return type.element;
  return badForeign(path, where, "values of type " + std::string(value.substr(0, value.find(','))),
                    "write plain numbers of little-endian order; bfloat16 as uint16, named in a mapping file");
}

Result<std::vector<std::int64_t>> headerShape(std::string_view header, const std::string& path,
                                              const std::string& where) {
  std::string_view value = headerValue(header, "shape");
  const auto end = value.find(')');
  if (value.empty() || value[0] != '(' || end == std::string_view::npos) return badForeign(path, where, "no shape");
  value = value.substr(1, end - 1);
  std::vector<std::int64_t> out;
  while (!value.empty()) {
    value.remove_prefix(std::min(value.find_first_not_of(" ,"), value.size()));
    if (value.empty()) break;
    std::int64_t length = -1;
    const auto [rest, failed] = std::from_chars(value.data(), value.data() + value.size(), length);
    if (failed != std::errc() || length < 0 || out.size() == kMostNumpyAxes)
      return badForeign(path, where, "a shape that cannot be read");
    value.remove_prefix(static_cast<std::size_t>(rest - value.data()));
    out.push_back(length);
  }
  return out;
}

Result<ForeignArray> parseNumpy(std::span<const std::byte> bytes, const std::shared_ptr<const void>& keep,
                                const std::string& path, const std::string& where) {
  ForeignCursor in(bytes, path);
  KV_TRY(in.take(kNumpyMagic.size(), "the first word"));
  const auto version = KV_TRY(in.number<std::uint8_t>("the version"));
  KV_TRY(in.number<std::uint8_t>("the version"));
  if (version < 1 || version > 3) return badForeign(path, where, "version " + std::to_string(version));
  const std::uint64_t length = version == 1 ? std::uint64_t{KV_TRY(in.number<std::uint16_t>("the header's length"))}
                                            : std::uint64_t{KV_TRY(in.number<std::uint32_t>("the header's length"))};
  if (length > kMostHeader) return badForeign(path, where, "a header of " + std::to_string(length) + " bytes");
  const std::string_view header = KV_TRY(in.text(length, "the header"));
  const Element element = KV_TRY(headerType(header, path, where));
  auto shape = KV_TRY(headerShape(header, path, where));
  const bool columns = headerValue(header, "fortran_order").starts_with("True");
  if (columns) std::ranges::reverse(shape);
  ForeignArray out = denseArray(element, std::move(shape), bytes.subspan(in.at()), keep);
  if (columns) {
    std::ranges::reverse(out.shape);
    std::ranges::reverse(out.strides);
  }
  return out;
}

}  // namespace

bool isNumpyFile(std::span<const std::byte> bytes) {
  return bytes.size() >= kNumpyMagic.size() && std::memcmp(bytes.data(), kNumpyMagic.data(), kNumpyMagic.size()) == 0;
}

Result<ArrayFile> numpyArray(const std::shared_ptr<const MappedFile>& file, const std::string& path) {
  ArrayFile out;
  out.arrays.emplace(std::filesystem::path(path).stem().string(),
                     KV_TRY(parseNumpy(file->bytes(), file, path, "header")));
  return out;
}

Result<ArrayFile> numpyArrays(const ZipFile& zip, const std::string& path) {
  ArrayFile out;
  for (const auto& [entry, place] : zip.entries()) {
    const auto bytes = KV_TRY(zip.bytes(entry));
    if (!entry.ends_with(".npy") || !isNumpyFile(bytes)) continue;
    const std::string name = entry.substr(0, entry.size() - 4);
    out.arrays.emplace(name, KV_TRY(parseNumpy(bytes, zip.file(), path, "array \"" + name + "\"")));
  }
  return out;
}

}  // namespace kvlab
