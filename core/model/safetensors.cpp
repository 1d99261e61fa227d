// SPDX-License-Identifier: Apache-2.0
#include "core/model/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <filesystem>
#include <limits>
#include <set>

#include "core/model/mapped_file.h"
#include "core/model/strict_json.h"

namespace kvlab {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "tensors are read in place");

constexpr std::size_t kPrefix = 8;               // length of the header
constexpr std::size_t kMaxHeader = 100'000'000;  // the reference implementation's limit
constexpr std::size_t kMaxDimensions = 16;
constexpr const char* kMetadata = "__metadata__";

struct ElementRow {
  Element element;
  std::string_view name;
  std::int64_t bytes;
};
constexpr std::array<ElementRow, 15> kElements{{
    {Element::Bool, "BOOL", 1},
    {Element::U8, "U8", 1},
    {Element::I8, "I8", 1},
    {Element::F8E4M3, "F8_E4M3", 1},
    {Element::F8E5M2, "F8_E5M2", 1},
    {Element::I16, "I16", 2},
    {Element::U16, "U16", 2},
    {Element::F16, "F16", 2},
    {Element::BF16, "BF16", 2},
    {Element::I32, "I32", 4},
    {Element::U32, "U32", 4},
    {Element::F32, "F32", 4},
    {Element::I64, "I64", 8},
    {Element::U64, "U64", 8},
    {Element::F64, "F64", 8},
}};

Error badFile(const std::string& file, const std::string& why) {
  return {"bad_file", "cannot read " + file, why, "use an undamaged copy of the file"};
}

Error badTensor(const std::string& file, const std::string& tensor, const std::string& why) {
  Error error = badFile(file, "tensor \"" + tensor + "\": " + why);
  error.field = tensor;
  return error;
}

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

/// One file's header against its data.
class HeaderReader {
 public:
  HeaderReader(std::span<const std::byte> bytes, const std::string& file)
      : m_bytes(bytes), m_file(file) {}

  Result<json> header() {
    if (m_bytes.size() < kPrefix)
      return badFile(m_file,
                     std::to_string(m_bytes.size()) + " bytes; the header's length takes 8");
    std::uint64_t length = 0;
    std::memcpy(&length, m_bytes.data(), kPrefix);
    if (length > kMaxHeader)
      return badFile(m_file, "byte 0: header of " + std::to_string(length) +
                                 " bytes, the limit is " + std::to_string(kMaxHeader));
    if (length > m_bytes.size() - kPrefix)
      return badFile(m_file, "byte 0: header of " + std::to_string(length) +
                                 " bytes in a file of " + std::to_string(m_bytes.size()));
    const std::string_view text(reinterpret_cast<const char*>(m_bytes.data()) + kPrefix,
                                static_cast<std::size_t>(length));
    if (text.empty() || text.front() != '{')
      return badFile(m_file, "byte 8: a header starts with {");
    m_data = m_bytes.subspan(kPrefix + static_cast<std::size_t>(length));
    return parseJson(text, m_file, "bad_file",
                     {.depth = 8, .bytes = kMaxHeader, .uniqueKeys = true});
  }

  Result<FileTensor> tensor(const std::string& name, const json& entry) const {
    if (!entry.is_object()) return badTensor(m_file, name, "not an object");
    for (const auto& [key, value] : entry.items())
      if (key != "dtype" && key != "shape" && key != "data_offsets")
        return badTensor(m_file, name, "unknown key \"" + key + "\"");
    FileTensor tensor{.name = name, .shape = {}, .bytes = {}};
    if (auto s = readType(entry, tensor); !s) return s.error();
    if (auto s = readShape(entry, tensor); !s) return s.error();
    if (auto s = readBytes(entry, tensor); !s) return s.error();
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
      return badFile(m_file, "tensors end at data byte " + std::to_string(next) + ", the file at " +
                                 std::to_string(m_data.size()));
    return ok();
  }

 private:
  std::size_t begin(const FileTensor& t) const {
    return static_cast<std::size_t>(t.bytes.data() - m_data.data());
  }

  Status readType(const json& entry, FileTensor& tensor) const {
    const auto it = entry.find("dtype");
    if (it == entry.end() || !it->is_string()) return badTensor(m_file, tensor.name, "no dtype");
    const auto& text = it->get_ref<const std::string&>();
    const auto element = elementFromName(text);
    if (!element) return badTensor(m_file, tensor.name, "dtype \"" + text + "\" is not known");
    tensor.element = *element;
    return ok();
  }

  Status readShape(const json& entry, FileTensor& tensor) const {
    const auto it = entry.find("shape");
    if (it == entry.end() || !it->is_array()) return badTensor(m_file, tensor.name, "no shape");
    if (it->size() > kMaxDimensions)
      return badTensor(m_file, tensor.name, std::to_string(it->size()) + " dimensions");
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
      return badTensor(
          m_file, tensor.name,
          "data ends at byte " + std::to_string(*last) + " of " + std::to_string(m_data.size()));
    const auto need = denseBytes(tensor.element, tensor.shape);
    if (!need || *need != *last - *first)
      return badTensor(m_file, tensor.name,
                       std::string(name(tensor.element)) + " " + shapeText(tensor.shape) +
                           (need ? " takes " + std::to_string(*need) + " bytes" : " is too big") +
                           ", data_offsets hold " + std::to_string(*last - *first));
    tensor.bytes =
        m_data.subspan(static_cast<std::size_t>(*first), static_cast<std::size_t>(*need));
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
    if (text.empty() || text == ".." || text.find('/') != std::string::npos ||
        text.find('\0') != std::string::npos)
      return badTensor(file, tensor, "shard \"" + text + "\" is not a plain file name");
    names.insert(text);
  }
  return names;
}

/// Every tensor of the index lies where the index says.
Status checkIndex(const json& weightMap, const Safetensors& all, const std::string& file) {
  for (const auto& [tensor, shard] : weightMap.items())
    if (!all.find(tensor))
      return badTensor(file, tensor, "not in " + shard.get<std::string>() + " or any other shard");
  return ok();
}

}  // namespace

std::string_view name(Element element) { return kElements[static_cast<std::size_t>(element)].name; }

std::optional<Element> elementFromName(std::string_view name) {
  for (const ElementRow& row : kElements)
    if (row.name == name) return row.element;
  return {};
}

std::int64_t elementBytes(Element element) {
  return kElements[static_cast<std::size_t>(element)].bytes;
}

std::optional<kernels::DType> kernelType(Element element) {
  switch (element) {
    case Element::F32:
      return kernels::DType::f32;
    case Element::F16:
      return kernels::DType::f16;
    case Element::BF16:
      return kernels::DType::bf16;
    case Element::I8:
      return kernels::DType::i8;
    case Element::F8E4M3:
      return kernels::DType::fp8e4m3;
    default:
      return {};
  }
}

Element elementOf(kernels::DType type) {
  switch (type) {
    case kernels::DType::f32:
      return Element::F32;
    case kernels::DType::f16:
      return Element::F16;
    case kernels::DType::bf16:
      return Element::BF16;
    case kernels::DType::i8:
      return Element::I8;
    case kernels::DType::fp8e4m3:
      return Element::F8E4M3;
  }
  return Element::F32;
}

TensorView FileTensor::view() const {
  const auto type = kernelType(element);
  if (!type) return {};
  return {bytes.data(), *type, shape};
}

Result<Safetensors> Safetensors::parse(std::span<const std::byte> bytes, const std::string& file) {
  HeaderReader reader(bytes, file);
  auto header = reader.header();
  if (!header) return header.error();
  if (!header->is_object()) return badFile(file, "byte 8: the header is not an object");
  Safetensors out;
  for (const auto& [name, entry] : header->items()) {
    if (name == kMetadata) {
      if (auto s = reader.metadata(entry, out.m_metadata); !s) return s.error();
      continue;
    }
    auto tensor = reader.tensor(name, entry);
    if (!tensor) return tensor.error();
    out.m_tensors.emplace(name, tensor.take());
  }
  if (auto s = reader.tiling(out.m_tensors); !s) return s.error();
  return out;
}

Result<Safetensors> Safetensors::open(const std::string& path) {
  auto file = MappedFile::open(path);
  if (!file) return file.error();
  auto parsed = parse((*file)->bytes(), path);
  if (parsed) parsed->m_files.push_back(file.take());
  return parsed;
}

Result<Safetensors> Safetensors::openDirectory(const std::string& directory) {
  const std::string index = directory + "/model.safetensors.index.json";
  std::error_code ignored;
  if (!std::filesystem::exists(index, ignored)) return open(directory + "/model.safetensors");
  const auto map =
      readJsonFile(index, "bad_file", {.depth = 8, .bytes = kMaxHeader, .uniqueKeys = true});
  if (!map) return map.error();
  const auto names = shardNames(*map, index);
  if (!names) return names.error();
  Safetensors all;
  for (const std::string& name : *names) {
    auto shard = open(directory + "/" + name);
    if (!shard) return shard.error();
    if (auto s = all.merge(shard.take(), directory + "/" + name); !s) return s.error();
  }
  if (auto s = checkIndex((*map)["weight_map"], all, index); !s) return s.error();
  return all;
}

Status Safetensors::merge(Safetensors&& other, const std::string& file) {
  for (auto& [name, tensor] : other.m_tensors)
    if (!m_tensors.emplace(name, std::move(tensor)).second)
      return badTensor(file, name, "already in another shard");
  m_metadata.merge(other.m_metadata);
  m_files.insert(m_files.end(), other.m_files.begin(), other.m_files.end());
  return ok();
}

const FileTensor* Safetensors::find(std::string_view name) const {
  const auto it = m_tensors.find(name);
  return it == m_tensors.end() ? nullptr : &it->second;
}

std::int64_t Safetensors::bytes() const {
  std::int64_t sum = 0;
  for (const auto& [name, tensor] : m_tensors)
    sum += static_cast<std::int64_t>(tensor.bytes.size());
  return sum;
}

}  // namespace kvlab
