// SPDX-License-Identifier: Apache-2.0
#include "core/model/files/gguf.h"

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "core/model/files/gguf_cursor.h"

namespace kvlab {
namespace {

constexpr std::uint32_t kMaxTensorDims = 4;
constexpr std::size_t kMaxTensorName = 64, kMaxKeyName = 65535;
constexpr std::uint64_t kMaxAlignment = 1 << 20;
constexpr std::uint64_t kLeastKey = 13;     // name length, kind, one byte
constexpr std::uint64_t kLeastTensor = 24;  // name length, dimensions, type, offset
constexpr const char* kOtherTypes = "use a file in Q4_K_M, Q5_K_M, Q6_K, Q8_0, F16 or BF16";

/// Names are shown to people and looked up: printable ASCII.
bool plainName(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

std::string quoted(const char* what, std::string_view name) {
  return std::string(what) + " \"" + std::string(name) + "\"";
}

struct TensorClaim {
  GgufTensor tensor;
  std::uint64_t offset = 0, bytes = 0;
};

class GgufHeaderReader {
 public:
  GgufHeaderReader(std::span<const std::byte> bytes, const std::string& file) : m_in(bytes, file), m_bytes(bytes) {}

  Result<GgufHeader> read() {
    KV_TRY(readFront());
    for (std::uint64_t i = 0; i < m_keys; ++i) KV_TRY(readKey());
    KV_TRY(readAlignment());
    for (std::uint64_t i = 0; i < m_tensors; ++i) KV_TRY(readTensor());
    KV_TRY(placeTensors());
    return std::move(m_out);
  }

 private:
  Status readFront();
  Status readVersion();
  Status readKey();
  Result<GgufKind> readKind();
  Status readArray(const std::string& name, GgufValue& value);
  Status skipItems(const std::string& name, GgufValue& value);
  Status checkFlags(const std::string& name, const GgufValue& value) const;
  Status readAlignment();
  Status readTensor();
  Status readTensorShape(TensorClaim& claim);
  Status readTensorType(TensorClaim& claim);
  Status placeTensors();
  Error badTensorClaim(const TensorClaim& claim, const std::string& why, const std::string& remedy = {}) const {
    return badGguf(m_in.file(), quoted("tensor", claim.tensor.name), why, remedy, claim.tensor.name);
  }
  Error badKeyValue(const std::string& name, const std::string& why, const std::string& remedy = {}) const {
    return badGguf(m_in.file(), quoted("key", name), why, remedy, name);
  }

  GgufCursor m_in;
  std::span<const std::byte> m_bytes;
  GgufHeader m_out;
  std::uint64_t m_tensors = 0, m_keys = 0;
  std::vector<TensorClaim> m_claims;
  std::unordered_set<std::string> m_names;
};

Status GgufHeaderReader::readFront() {
  const std::string_view start(reinterpret_cast<const char*>(m_bytes.data()), std::min<std::size_t>(m_bytes.size(), 4));
  if (start != "GGUF") {
    if (start == "vers")
      return badGguf(m_in.file(), "byte 0", "the file is text, as Git LFS leaves in place of a big file",
                     "fetch the file itself with `git lfs pull`");
    return badGguf(m_in.file(), "byte 0", "the file does not start with GGUF", "give a file in GGUF format");
  }
  KV_TRY(m_in.take(4, "GGUF"));
  KV_TRY(readVersion());
  m_tensors = KV_TRY(m_in.number<std::uint64_t>("the number of tensors"));
  m_keys = KV_TRY(m_in.number<std::uint64_t>("the number of keys"));
  if (m_keys > m_in.left() / kLeastKey || m_tensors > m_in.left() / kLeastTensor)
    return badGguf(m_in.file(), "byte 8",
                   std::to_string(m_tensors) + " tensors and " + std::to_string(m_keys) + " keys do not fit into " +
                       std::to_string(m_in.left()) + " bytes");
  return ok();
}

Status GgufHeaderReader::readVersion() {
  m_out.version = KV_TRY(m_in.number<std::uint32_t>("the version"));
  if (m_out.version == 2 || m_out.version == 3) return ok();
  if (m_out.version != 0 && (m_out.version & 0xffff) == 0)
    return badGguf(m_in.file(), "byte 4", "the file is big endian", "use the little-endian file");
  return badGguf(m_in.file(), "byte 4", "version " + std::to_string(m_out.version) + ", versions 2 and 3 are read",
                 m_out.version == 1 ? "convert the model anew with a current converter" : "use a file of version 3");
}

Status GgufHeaderReader::readKey() {
  const std::uint64_t begin = m_in.at();
  const auto name = KV_TRY(m_in.text("the name of a key"));
  if (name.size() > kMaxKeyName || !plainName(name))
    return badGguf(m_in.file(), "byte " + std::to_string(begin),
                   "the name of a key is " +
                       (name.size() > kMaxKeyName ? "longer than 65535 bytes" : std::string("not printable ASCII")));
  const std::string key(name);
  GgufValue value;
  value.kind = KV_TRY(readKind());
  if (value.kind == GgufKind::Array) {
    KV_TRY(readArray(key, value));
  } else if (value.kind == GgufKind::Text) {
    const auto text = KV_TRY(m_in.text("a text"));
    value.bytes = std::as_bytes(std::span(text.data(), text.size()));
  } else {
    value.bytes = KV_TRY(m_in.take(ggufKindBytes(value.kind), "a value"));
  }
  KV_TRY(checkFlags(key, value));
  if (!m_out.values.emplace(key, value).second) return badKeyValue(key, "stands in the file twice");
  return ok();
}

Result<GgufKind> GgufHeaderReader::readKind() {
  const std::uint64_t begin = m_in.at();
  const auto kind = KV_TRY(m_in.number<std::uint32_t>("the kind of a value"));
  if (kind < kGgufKinds) return static_cast<GgufKind>(kind);
  return badGguf(m_in.file(), "byte " + std::to_string(begin),
                 "value of kind " + std::to_string(kind) + ", kinds are 0 to " + std::to_string(kGgufKinds - 1));
}

Status GgufHeaderReader::readArray(const std::string& name, GgufValue& value) {
  value.array = true;
  value.kind = KV_TRY(readKind());
  if (value.kind == GgufKind::Array)
    return badKeyValue(name, "is an array of arrays", "write the file anew without this key");
  value.count = KV_TRY(m_in.number<std::uint64_t>("the length of an array"));
  const std::uint64_t least = value.kind == GgufKind::Text ? 8 : ggufKindBytes(value.kind);
  if (value.count > m_in.left() / least)
    return badKeyValue(name,
                       "has " + std::to_string(value.count) + " items of at least " + std::to_string(least) +
                           " bytes, the file has " + std::to_string(m_in.left()) + " left");
  return skipItems(name, value);
}

Status GgufHeaderReader::skipItems(const std::string& name, GgufValue& value) {
  const std::uint64_t begin = m_in.at();
  if (value.kind != GgufKind::Text) {
    value.bytes = KV_TRY(m_in.take(value.count * ggufKindBytes(value.kind), "an array"));
    return ok();
  }
  for (std::uint64_t i = 0; i < value.count; ++i) {
    const auto text = m_in.text("a text");
    if (!text) return badKeyValue(name, "item " + std::to_string(i) + ", " + text.error().why);
  }
  value.bytes = m_in.from(begin);
  return ok();
}

Status GgufHeaderReader::checkFlags(const std::string& name, const GgufValue& value) const {
  if (value.kind != GgufKind::Bool) return ok();
  for (const std::byte b : value.bytes)
    if (b > std::byte{1})
      return badKeyValue(name, "has " + std::to_string(std::to_integer<int>(b)) + " where only 0 and 1 are flags");
  return ok();
}

Status GgufHeaderReader::readAlignment() {
  const auto it = m_out.values.find("general.alignment");
  if (it == m_out.values.end()) return ok();
  if (it->second.array || it->second.kind != GgufKind::U32)
    return badKeyValue(
        it->first, "is " + std::string(it->second.array ? "an array" : ggufKindName(it->second.kind)) + ", not u32");
  std::uint32_t alignment = 0;
  std::memcpy(&alignment, it->second.bytes.data(), sizeof alignment);
  if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > kMaxAlignment)
    return badKeyValue(
        it->first, "is " + std::to_string(alignment) + ", not a power of two up to " + std::to_string(kMaxAlignment));
  m_out.alignment = alignment;
  return ok();
}

Status GgufHeaderReader::readTensor() {
  const std::uint64_t begin = m_in.at();
  const auto name = KV_TRY(m_in.text("the name of a tensor"));
  if (name.size() > kMaxTensorName || !plainName(name))
    return badGguf(m_in.file(), "byte " + std::to_string(begin),
                   "the name of a tensor is " +
                       (name.size() > kMaxTensorName ? std::to_string(name.size()) + " bytes long, the limit is 64"
                                                     : std::string("not printable ASCII")));
  TensorClaim claim;
  claim.tensor.name = std::string(name);
  if (!m_names.insert(claim.tensor.name).second) return badTensorClaim(claim, "stands in the file twice");
  KV_TRY(readTensorShape(claim));
  KV_TRY(readTensorType(claim));
  claim.offset = KV_TRY(m_in.number<std::uint64_t>("the offset of a tensor"));
  if (claim.offset % m_out.alignment != 0)
    return badTensorClaim(claim,
                          "starts at data byte " + std::to_string(claim.offset) + ", not a multiple of " +
                              std::to_string(m_out.alignment));
  m_claims.push_back(std::move(claim));
  return ok();
}

Status GgufHeaderReader::readTensorShape(TensorClaim& claim) {
  const auto dims = KV_TRY(m_in.number<std::uint32_t>("the number of dimensions"));
  if (dims == 0 || dims > kMaxTensorDims)
    return badTensorClaim(claim, "has " + std::to_string(dims) + " dimensions, 1 to 4 are read");
  for (std::uint32_t i = 0; i < dims; ++i) {
    const auto n = KV_TRY(m_in.number<std::uint64_t>("a dimension"));
    if (n == 0 || n > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return badTensorClaim(claim, "has a dimension of " + std::to_string(n));
    claim.tensor.shape.insert(claim.tensor.shape.begin(), static_cast<std::int64_t>(n));
  }
  return ok();
}

Status GgufHeaderReader::readTensorType(TensorClaim& claim) {
  const auto id = KV_TRY(m_in.number<std::uint32_t>("the type of a tensor"));
  const GgufType* type = ggufType(id);
  if (!type) return badTensorClaim(claim, "is of type " + std::to_string(id) + ", which is not known", kOtherTypes);
  if (!type->dtype)
    return badTensorClaim(claim, "is of type " + std::string(type->name) + ", which cannot be computed with",
                          kOtherTypes);
  claim.tensor.dtype = *type->dtype;
  const auto& shape = claim.tensor.shape;
  if (shape.back() % type->values != 0)
    return badTensorClaim(claim,
                          "has rows of " + std::to_string(shape.back()) + " values, blocks of " +
                              std::string(type->name) + " have " + std::to_string(type->values));
  std::int64_t bytes = shape.back() / type->values;
  bool fits = !__builtin_mul_overflow(bytes, type->bytes, &bytes);
  std::int64_t elements = shape.back();
  for (std::size_t i = 0; i + 1 < shape.size(); ++i)
    fits = fits && !__builtin_mul_overflow(bytes, shape[i], &bytes) &&
        !__builtin_mul_overflow(elements, shape[i], &elements);
  if (!fits) return badTensorClaim(claim, shapeText(shape) + " is too big");
  claim.bytes = static_cast<std::uint64_t>(bytes);
  return ok();
}

/// Tensors lie inside the data and do not overlap. Bytes between them are ignored.
Status GgufHeaderReader::placeTensors() {
  const std::uint64_t start = (m_in.at() + m_out.alignment - 1) / m_out.alignment * m_out.alignment;
  const std::uint64_t size = start < m_bytes.size() ? m_bytes.size() - start : 0;
  std::vector<const TensorClaim*> order;
  for (TensorClaim& claim : m_claims) {
    if (claim.offset > size || claim.bytes > size - claim.offset)
      return badTensorClaim(claim,
                            "takes " + std::to_string(claim.bytes) + " bytes from data byte " +
                                std::to_string(claim.offset) + " on, the file has " + std::to_string(size),
                            "fetch the file again: it is incomplete or damaged");
    claim.tensor.bytes = m_bytes.subspan(start + claim.offset, claim.bytes);
    order.push_back(&claim);
  }
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return a->offset < b->offset; });
  for (std::size_t i = 1; i < order.size(); ++i)
    if (order[i]->offset < order[i - 1]->offset + order[i - 1]->bytes)
      return badTensorClaim(*order[i],
                            "starts at data byte " + std::to_string(order[i]->offset) + ", inside " +
                                quoted("tensor", order[i - 1]->tensor.name) + ", which ends at " +
                                std::to_string(order[i - 1]->offset + order[i - 1]->bytes));
  for (TensorClaim& claim : m_claims) m_out.tensors.push_back(std::move(claim.tensor));
  return ok();
}

}  // namespace

Error badGguf(const std::string& file, const std::string& where, const std::string& why, const std::string& remedy,
              const std::string& field) {
  return {"bad_model", "cannot read " + file, where + ": " + why,
          remedy.empty() ? "use an undamaged copy of the file" : remedy, field};
}

Result<GgufHeader> GgufHeader::parse(std::span<const std::byte> bytes, const std::string& file) {
  return GgufHeaderReader(bytes, file).read();
}

}  // namespace kvlab
