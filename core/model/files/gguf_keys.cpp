// SPDX-License-Identifier: Apache-2.0
#include "core/model/files/gguf_keys.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/model/files/gguf_cursor.h"

namespace kvlab {
namespace {

bool isWholeKind(GgufKind kind) {
  return kind != GgufKind::F32 && kind != GgufKind::F64 && kind != GgufKind::Bool && kind != GgufKind::Text &&
      kind != GgufKind::Array;
}
bool isTextKind(GgufKind kind) { return kind == GgufKind::Text; }
bool isRealKind(GgufKind kind) { return kind == GgufKind::F32 || kind == GgufKind::F64; }
bool isFlagKind(GgufKind kind) { return kind == GgufKind::Bool; }

template <class T>
T itemAt(const GgufValue& value, std::uint64_t i) {
  T out;
  std::memcpy(&out, value.bytes.data() + i * sizeof(T), sizeof(T));
  return out;
}

/// Nothing if it does not fit.
std::optional<std::int64_t> wholeAt(const GgufValue& value, std::uint64_t i) {
  switch (value.kind) {
    case GgufKind::U8: return itemAt<std::uint8_t>(value, i);
    case GgufKind::I8: return itemAt<std::int8_t>(value, i);
    case GgufKind::U16: return itemAt<std::uint16_t>(value, i);
    case GgufKind::I16: return itemAt<std::int16_t>(value, i);
    case GgufKind::U32: return itemAt<std::uint32_t>(value, i);
    case GgufKind::I32: return itemAt<std::int32_t>(value, i);
    case GgufKind::I64: return itemAt<std::int64_t>(value, i);
    case GgufKind::U64: {
      const auto wide = itemAt<std::uint64_t>(value, i);
      if (wide <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        return static_cast<std::int64_t>(wide);
      return {};
    }
    default: return {};
  }
}

}  // namespace

double decimalOf(float value) {
  if (!std::isfinite(value)) return value;
  char text[32];
  const auto written = std::to_chars(text, text + sizeof text, value);
  double out = value;
  std::from_chars(text, written.ptr, out);
  return out;
}

Error GgufKeys::bad(const std::string& key, const std::string& why, const std::string& remedy) const {
  return badGguf(m_file, "key \"" + key + "\"", why, remedy, key);
}

const GgufValue* GgufKeys::find(std::string_view key) const {
  const auto it = m_values.find(key);
  return it == m_values.end() ? nullptr : &it->second;
}

Result<const GgufValue*> GgufKeys::list(const std::string& key, bool (*takes)(GgufKind), const char* what) const {
  const GgufValue* value = find(key);
  if (value && (!value->array || !takes(value->kind)))
    return bad(key,
               "is " + std::string(value->array ? "an array of " : "") + std::string(ggufKindName(value->kind)) +
                   ", not an array of " + what);
  return value;
}

Result<std::optional<std::int64_t>> GgufKeys::whole(const std::string& key) const {
  const GgufValue* value = find(key);
  if (!value) return std::optional<std::int64_t>();
  if (!isWholeKind(value->kind))
    return bad(key, "is " + std::string(ggufKindName(value->kind)) + ", not a whole number");
  if (value->count == 0) return bad(key, "is an empty array");
  const auto first = wholeAt(*value, 0);
  if (!first) return bad(key, "is above 2^63");
  for (std::uint64_t i = 1; i < value->count; ++i)
    if (wholeAt(*value, i) != first) return bad(key, "differs by layer, which is not implemented", "use another model");
  return first;
}

Result<std::optional<double>> GgufKeys::real(const std::string& key) const {
  const GgufValue* value = find(key);
  if (!value) return std::optional<double>();
  if (value->array) return bad(key, "is an array, not a number");
  double out = 0;
  if (value->kind == GgufKind::F32) out = decimalOf(itemAt<float>(*value, 0));
  else if (value->kind == GgufKind::F64) out = itemAt<double>(*value, 0);
  else if (const auto n = isWholeKind(value->kind) ? wholeAt(*value, 0) : std::nullopt) out = static_cast<double>(*n);
  else return bad(key, "is " + std::string(ggufKindName(value->kind)) + ", not a number");
  if (!std::isfinite(out)) return bad(key, "is not finite");
  return std::optional(out);
}

Result<std::optional<bool>> GgufKeys::flag(const std::string& key) const {
  const GgufValue* value = find(key);
  if (!value) return std::optional<bool>();
  if (value->array || !isFlagKind(value->kind)) return bad(key, "is neither true nor false");
  return std::optional(value->bytes.front() != std::byte{0});
}

Result<std::optional<std::string>> GgufKeys::text(const std::string& key) const {
  const GgufValue* value = find(key);
  if (!value) return std::optional<std::string>();
  if (value->array || !isTextKind(value->kind)) return bad(key, "is not text");
  return std::optional(std::string(value->text()));
}

Result<std::vector<std::string>> GgufKeys::texts(const std::string& key) const {
  const GgufValue* value = KV_TRY(list(key, isTextKind, "text"));
  std::vector<std::string> out;
  if (!value) return out;
  GgufCursor in(value->bytes, m_file);
  out.reserve(value->count);
  for (std::uint64_t i = 0; i < value->count; ++i) out.emplace_back(KV_TRY(in.text("a text")));
  return out;
}

Result<std::vector<float>> GgufKeys::reals(const std::string& key) const {
  const GgufValue* value = KV_TRY(list(key, isRealKind, "f32"));
  std::vector<float> out(value ? value->count : 0);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = value->kind == GgufKind::F32 ? itemAt<float>(*value, i) : static_cast<float>(itemAt<double>(*value, i));
    if (!std::isfinite(out[i])) return bad(key, "item " + std::to_string(i) + " is not finite");
  }
  return out;
}

Result<std::vector<std::int32_t>> GgufKeys::wholes(const std::string& key) const {
  const GgufValue* value = KV_TRY(list(key, isWholeKind, "whole numbers"));
  std::vector<std::int32_t> out(value ? value->count : 0);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto n = wholeAt(*value, i);
    if (!n || *n != static_cast<std::int32_t>(*n)) return bad(key, "item " + std::to_string(i) + " is beyond 32 bits");
    out[i] = static_cast<std::int32_t>(*n);
  }
  return out;
}

Result<std::vector<bool>> GgufKeys::flags(const std::string& key) const {
  const GgufValue* value = KV_TRY(list(key, isFlagKind, "flags"));
  std::vector<bool> out;
  if (value)
    for (const std::byte b : value->bytes) out.push_back(b != std::byte{0});
  return out;
}

}  // namespace kvlab
