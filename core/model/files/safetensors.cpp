// SPDX-License-Identifier: Apache-2.0
#include "core/model/files/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <limits>
#include <set>

#include "core/api/log.h"
#include "core/model/files/strict_json.h"

namespace kvlab {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "tensors are read in place");

/// Longest header that is read; the reference implementation's limit.
constexpr std::size_t kMaxHeader = 100'000'000;
/// The key that names no tensor.
constexpr const char* kMetadata = "__metadata__";
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

Error badFile(const std::string& file, const std::string& why) {
  return {"bad_file", "cannot read " + file, why, "use an undamaged copy of the file"};
}

Error badTensor(const std::string& file, const std::string& tensor, const std::string& why) {
  Error error = badFile(file, "tensor \"" + tensor + "\": " + why);
  error.field = tensor;
  return error;
}

/// The header of one file, checked against its data. Borrows the bytes and the file's name.
class HeaderReader {
 public:
  HeaderReader(std::span<const std::byte> bytes, const std::string& file) : m_bytes(bytes), m_file(file) {}

  /// Comes first.
  Result<json> header() {
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

  Result<FileTensor> tensor(const std::string& name, const json& entry) const {
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

  Status metadata(const json& entry, std::map<std::string, std::string>& out) const {
    if (!entry.is_object()) return badTensor(m_file, kMetadata, "not an object");
    for (const auto& [key, value] : entry.items()) {
      if (!value.is_string()) return badTensor(m_file, kMetadata, "\"" + key + "\" is not text");
      out[key] = value.get<std::string>();
    }
    return ok();
  }

  /// Tensors must tile the data: no gap, no overlap, nothing left over.
  Status tiling(const std::map<std::string, FileTensor, std::less<>>& tensors) const {
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
          m_file,
          "tensors end at data byte " + std::to_string(next) + ", the file at " + std::to_string(m_data.size()));
    return ok();
  }

 private:
  std::size_t begin(const FileTensor& t) const { return static_cast<std::size_t>(t.bytes.data() - m_data.data()); }

  Status readType(const json& entry, FileTensor& tensor) const {
    const auto it = entry.find("dtype");
    if (it == entry.end() || !it->is_string()) return badTensor(m_file, tensor.name, "no dtype");
    tensor.element = elementFromName(it->get_ref<const std::string&>()).value_or(kUnknownElement);
    return ok();
  }

  Status readShape(const json& entry, FileTensor& tensor) const {
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

  Status readBytes(const json& entry, FileTensor& tensor) const {
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

  std::span<const std::byte> m_bytes, m_data;
  const std::string& m_file;
};

/// Shard names of an index, each a plain file name.
Result<std::set<std::string>> shardNames(const json& index, const std::string& file) {
  const auto map = index.is_object() ? index.find("weight_map") : index.end();
  if (!index.is_object() || map == index.end() || !map->is_object() || map->empty())
    return badFile(file, "no weight_map");
  std::set<std::string> names;
  for (const auto& [tensor, shard] : map->items()) {
    if (!shard.is_string()) return badTensor(file, tensor, "its shard is not a file name");
    const auto& text = shard.get_ref<const std::string&>();
    if (text.empty() || text == ".." || text.find('/') != std::string::npos || text.find('\0') != std::string::npos)
      return badTensor(file, tensor, "shard \"" + text + "\" is not a plain file name");
    names.insert(text);
  }
  return names;
}

/// Every tensor of the index lies where the index says.
Status checkIndex(const json& weightMap, const Safetensors& all, const std::string& file) {
  for (const auto& [tensor, shard] : weightMap.items())
    if (!all.find(tensor))
      return badTensor(file, tensor, "not in " + shard.get<std::string>() + ", where the index has it");
  return ok();
}

Error inIndex(Error error, const std::string& index) {
  error.why += "; " + index + " names the file";
  error.remedy = "fetch the missing or damaged file, or the whole checkpoint, again";
  return error;
}

/// A shard may hold an older copy of a tensor: the one counts that lies where the index says.
void dropStrangers(std::map<std::string, FileTensor, std::less<>>& shard, const std::string& file,
                   const json& weightMap) {
  std::erase_if(shard, [&](const auto& one) {
    const auto home = weightMap.find(one.first);
    return home != weightMap.end() && *home != file;
  });
}

}  // namespace

Result<Safetensors> Safetensors::parse(std::span<const std::byte> bytes, const std::string& file) {
  HeaderReader reader(bytes, file);
  auto header = KV_TRY(reader.header());
  if (!header.is_object()) return badFile(file, "byte 8: the header is not an object");
  Safetensors out;
  for (const auto& [name, entry] : header.items()) {
    if (name == kMetadata) {
      KV_TRY(reader.metadata(entry, out.m_metadata));
      continue;
    }
    auto tensor = KV_TRY(reader.tensor(name, entry));
    out.m_tensors.emplace(name, std::move(tensor));
  }
  KV_TRY(reader.tiling(out.m_tensors));
  return out;
}

Result<Safetensors> Safetensors::open(const std::string& path) {
  auto file = KV_TRY(MappedFile::open(path));
  auto parsed = parse(file->bytes(), path);
  if (parsed) parsed->m_files.push_back(std::move(file));
  return parsed;
}

Result<Safetensors> Safetensors::openDirectory(const std::string& directory) {
  const std::string index = directory + "/model.safetensors.index.json", single = directory + "/model.safetensors";
  std::error_code ignored;
  if (!std::filesystem::exists(index, ignored)) return open(single);
  const auto map = KV_TRY(readJsonFile(index, "bad_file", {.depth = 8, .bytes = kMaxHeader, .uniqueKeys = true}));
  const auto names = KV_TRY(shardNames(map, index));
  if (!names.contains("model.safetensors") && std::filesystem::exists(single, ignored))
    logWarning(single + " is not read: " + index + " names other files");
  Safetensors all;
  for (const std::string& name : names) {
    auto shard = open(directory + "/" + name);
    if (!shard) return inIndex(shard.error(), index);
    dropStrangers(shard->m_tensors, name, map["weight_map"]);
    KV_TRY(all.merge(shard.take(), directory + "/" + name));
  }
  KV_TRY(checkIndex(map["weight_map"], all, index));
  return all;
}

Status Safetensors::merge(Safetensors&& other, const std::string& file) {
  for (auto& [name, tensor] : other.m_tensors)
    if (!m_tensors.emplace(name, std::move(tensor)).second)
      return badTensor(file, name, "already in another shard, and the index does not say which one counts");
  m_metadata.merge(other.m_metadata);
  m_files.insert(m_files.end(), other.m_files.begin(), other.m_files.end());
  return ok();
}

}  // namespace kvlab
