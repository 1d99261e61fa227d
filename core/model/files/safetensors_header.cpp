// SPDX-License-Identifier: Apache-2.0
#include "core/model/files/safetensors_header.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "core/model/files/strict_json.h"

namespace kvlab {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "tensors are read in place");

constexpr std::size_t kPrefix = 8;  // length of the header
constexpr std::size_t kMaxDimensions = 16;

/// A whole number that fits 63 bits and is not negative.
std::optional<std::int64_t> count(const json& value) {
  if (!value.is_number_integer()) return {};
  if (value.is_number_unsigned()) {
    const auto n = value.get<std::uint64_t>();
    if (n > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return {};
    return static_cast<std::int64_t>(n);
  }
  const auto n = value.get<std::int64_t>();
  return n < 0 ? std::nullopt : std::optional(n);
}

/// Bytes of a dense tensor; nothing if that does not fit 63 bits.
std::optional<std::int64_t> denseBytes(Element element, const std::vector<std::int64_t>& shape) {
  std::int64_t n = elementBytes(element);
  for (const std::int64_t d : shape)
    if (__builtin_mul_overflow(n, d, &n)) return {};
  return n;
}

}  // namespace

Error badFile(const std::string& file, const std::string& why) {
  return {"bad_file", "cannot read " + file, why, "use an undamaged copy of the file"};
}

Error badTensor(const std::string& file, const std::string& tensor, const std::string& why) {
  Error error = badFile(file, "tensor \"" + tensor + "\": " + why);
  error.field = tensor;
  return error;
}

Result<json> HeaderReader::header() {
  if (m_bytes.size() < kPrefix)
    return badFile(m_file, std::to_string(m_bytes.size()) + " bytes; the header's length takes 8");
  std::uint64_t length = 0;
  std::memcpy(&length, m_bytes.data(), kPrefix);
  if (length > kMaxHeader)
    return badFile(
        m_file, "byte 0: header of " + std::to_string(length) + " bytes, the limit is " + std::to_string(kMaxHeader));
  if (length > m_bytes.size() - kPrefix)
    return badFile(
        m_file,
        "byte 0: header of " + std::to_string(length) + " bytes in a file of " + std::to_string(m_bytes.size()));
  const std::string_view text(reinterpret_cast<const char*>(m_bytes.data()) + kPrefix,
                              static_cast<std::size_t>(length));
  if (text.empty() || text.front() != '{') return badFile(m_file, "byte 8: a header starts with {");
  m_data = m_bytes.subspan(kPrefix + static_cast<std::size_t>(length));
  return parseJson(text, m_file, "bad_file", {.depth = 8, .bytes = kMaxHeader, .uniqueKeys = true});
}

Result<FileTensor> HeaderReader::tensor(const std::string& name, const json& entry) const {
  if (!entry.is_object()) return badTensor(m_file, name, "not an object");
  for (const auto& [key, value] : entry.items())
    if (key != "dtype" && key != "shape" && key != "data_offsets")
      return badTensor(m_file, name, "unknown key \"" + key + "\"");
  FileTensor tensor{.name = name, .shape = {}, .bytes = {}};
  KV_TRY(readType(entry, tensor));
  KV_TRY(readShape(entry, tensor));
  KV_TRY(readBytes(entry, tensor));
  return tensor;
}

Status HeaderReader::metadata(const json& entry, std::map<std::string, std::string>& out) const {
  if (!entry.is_object()) return badTensor(m_file, kMetadata, "not an object");
  for (const auto& [key, value] : entry.items()) {
    if (!value.is_string()) return badTensor(m_file, kMetadata, "\"" + key + "\" is not text");
    out[key] = value.get<std::string>();
  }
  return ok();
}

Status HeaderReader::tiling(const std::map<std::string, FileTensor, std::less<>>& tensors) const {
  std::vector<const FileTensor*> order;
  for (const auto& [name, tensor] : tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [&](const FileTensor* a, const FileTensor* b) {
    return std::pair(begin(*a), a->bytes.size()) < std::pair(begin(*b), b->bytes.size());
  });
  std::size_t next = 0;
  for (const FileTensor* t : order) {
    if (begin(*t) != next)
      return badTensor(m_file, t->name,
                       "data starts at byte " + std::to_string(begin(*t)) +
                           (begin(*t) < next ? ", inside the tensor before it, which ends at "
                                             : ", behind a gap; the tensor before it ends at ") +
                           std::to_string(next));
    next += t->bytes.size();
  }
  if (next != m_data.size())
    return badFile(
        m_file, "tensors end at data byte " + std::to_string(next) + ", the file at " + std::to_string(m_data.size()));
  return ok();
}

Status HeaderReader::readType(const json& entry, FileTensor& tensor) const {
  const auto it = entry.find("dtype");
  if (it == entry.end() || !it->is_string()) return badTensor(m_file, tensor.name, "no dtype");
  tensor.element = elementFromName(it->get_ref<const std::string&>()).value_or(kUnknownElement);
  return ok();
}

Status HeaderReader::readShape(const json& entry, FileTensor& tensor) const {
  const auto it = entry.find("shape");
  if (it == entry.end() || !it->is_array()) return badTensor(m_file, tensor.name, "no shape");
  if (it->size() > kMaxDimensions) return badTensor(m_file, tensor.name, std::to_string(it->size()) + " dimensions");
  for (const json& d : *it) {
    const auto n = count(d);
    if (!n) return badTensor(m_file, tensor.name, "shape has " + d.dump());
    tensor.shape.push_back(*n);
  }
  return ok();
}

Status HeaderReader::readBytes(const json& entry, FileTensor& tensor) const {
  const auto it = entry.find("data_offsets");
  if (it == entry.end() || !it->is_array() || it->size() != 2)
    return badTensor(m_file, tensor.name, "no data_offsets [begin, end)");
  const auto first = count((*it)[0]), last = count((*it)[1]);
  if (!first || !last || *first > *last)
    return badTensor(m_file, tensor.name, "data_offsets " + it->dump() + " is not a range");
  if (static_cast<std::uint64_t>(*last) > m_data.size())
    return badTensor(m_file, tensor.name,
                     "data ends at byte " + std::to_string(*last) + " of " + std::to_string(m_data.size()));
  if (tensor.element == kUnknownElement) {
    tensor.bytes = m_data.subspan(static_cast<std::size_t>(*first), static_cast<std::size_t>(*last - *first));
    return ok();
  }
  const auto need = denseBytes(tensor.element, tensor.shape);
  if (!need || *need != *last - *first)
    return badTensor(m_file, tensor.name,
                     std::string(name(tensor.element)) + " " + shapeText(tensor.shape) +
                         (need ? " takes " + std::to_string(*need) + " bytes" : " is too big") +
                         ", data_offsets hold " + std::to_string(*last - *first));
  tensor.bytes = m_data.subspan(static_cast<std::size_t>(*first), static_cast<std::size_t>(*need));
  return ok();
}

}  // namespace kvlab
