// SPDX-License-Identifier: Apache-2.0
#include "core/foreign/foreign_array.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "core/foreign/foreign_file.h"
#include "kernels/scalar_convert.h"

namespace kvlab {
namespace {

template <class T>
T loaded(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

float fp8e5m2(std::uint8_t code) { return kernels::halfToFloat(static_cast<std::uint16_t>(code << 8)); }

/// A value at an address; integers stand for themselves. Null = no number that a row can have.
using Widen = float (*)(const std::byte*);
Widen widenOf(Element element) {
  switch (element) {
    case Element::F32: return loaded<float>;
    case Element::F64: return [](const std::byte* p) { return static_cast<float>(loaded<double>(p)); };
    case Element::F16: return [](const std::byte* p) { return kernels::halfToFloat(loaded<std::uint16_t>(p)); };
    case Element::BF16: return [](const std::byte* p) { return kernels::bf16ToFloat(loaded<std::uint16_t>(p)); };
    case Element::F8E4M3: return [](const std::byte* p) { return kernels::fp8ToFloat(loaded<std::uint8_t>(p)); };
    case Element::F8E5M2: return [](const std::byte* p) { return fp8e5m2(loaded<std::uint8_t>(p)); };
    case Element::I8: return [](const std::byte* p) { return static_cast<float>(loaded<std::int8_t>(p)); };
    case Element::U8: return [](const std::byte* p) { return static_cast<float>(loaded<std::uint8_t>(p)); };
    default: return nullptr;
  }
}

std::string quotedArray(const std::string& name) { return "array \"" + name + "\""; }

/// Calls take(index in values) for all values of an array in the order of its axes.
template <class Take>
void eachValue(const ForeignArray& array, const Take& take) {
  const std::size_t last = array.axes() - 1;
  std::vector<std::int64_t> index(array.axes());
  for (std::int64_t done = 0, all = array.values(), from = array.offset; done < all;) {
    for (std::int64_t i = 0; i < array.shape[last]; ++i, ++done) take(from + i * array.strides[last]);
    for (std::size_t axis = last; axis-- > 0;) {
      from += array.strides[axis];
      if (++index[axis] < array.shape[axis]) break;
      from -= array.shape[axis] * array.strides[axis];
      index[axis] = 0;
    }
  }
}

std::int64_t widthOf(const ForeignArray& piece) { return piece.shape[piece.axes() - 2] * piece.shape.back(); }

std::vector<float> readPieces(const std::vector<ForeignArray>& pieces) {
  std::int64_t values = 0;
  for (const ForeignArray& piece : pieces) values += piece.values();
  std::vector<float> out;
  out.reserve(at(values));
  for (const ForeignArray& piece : pieces) {
    const auto size = elementBytes(piece.element);
    const Widen widen = widenOf(piece.element);
    eachValue(piece, [&](std::int64_t i) { out.push_back(widen(piece.bytes.data() + i * size)); });
  }
  return out;
}

std::int64_t rowCount(const std::vector<ForeignArray>& pieces) {
  std::int64_t rows = 0;
  for (const ForeignArray& piece : pieces) rows += piece.values() / std::max<std::int64_t>(widthOf(piece), 1);
  return rows;
}

std::string lowerName(Element element) {
  std::string out(name(element));
  std::ranges::transform(out, out.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

}  // namespace

std::int64_t ForeignArray::values() const {
  std::int64_t n = 1;
  for (const std::int64_t d : shape) n *= d;
  return n;
}

ForeignArray ForeignArray::place(std::size_t axis, std::int64_t index) const {
  ForeignArray out = part(axis, index, 1);
  out.shape.erase(out.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  out.strides.erase(out.strides.begin() + static_cast<std::ptrdiff_t>(axis));
  return out;
}

ForeignArray ForeignArray::part(std::size_t axis, std::int64_t begin, std::int64_t length) const {
  ForeignArray out = *this;
  if (length > 0) out.offset += begin * strides[axis];
  out.shape[axis] = length;
  return out;
}

ForeignArray ForeignArray::reordered(const std::vector<std::size_t>& order) const {
  ForeignArray out = *this;
  for (std::size_t i = 0; i < order.size(); ++i) {
    out.shape[i] = shape[order[i]];
    out.strides[i] = strides[order[i]];
  }
  return out;
}

ForeignArray ForeignArray::split(std::size_t axis, std::int64_t inner) const {
  ForeignArray out = *this;
  const auto next = static_cast<std::ptrdiff_t>(axis) + 1;
  out.shape[axis] /= inner;
  out.shape.insert(out.shape.begin() + next, inner);
  out.strides.insert(out.strides.begin() + next, strides[axis]);
  out.strides[axis] *= inner;
  return out;
}

const ForeignArray* ArrayFile::firstOf(std::span<const std::string_view> names, std::string& which) const {
  for (const std::string_view name : names)
    if (const ForeignArray* found = find(name)) {
      which = name;
      return found;
    }
  return nullptr;
}

ForeignArray denseArray(Element element, std::vector<std::int64_t> shape, std::span<const std::byte> bytes,
                        std::shared_ptr<const void> keep) {
  ForeignArray out{
      .element = element, .bytes = bytes, .shape = std::move(shape), .strides = {}, .keep = std::move(keep)};
  std::int64_t stride = 1;
  out.strides.resize(out.shape.size());
  for (std::size_t axis = out.axes(); axis-- > 0;) {
    out.strides[axis] = stride;
    if (__builtin_mul_overflow(stride, std::max<std::int64_t>(out.shape[axis], 1), &stride)) stride = -1;
  }
  return out;
}

Status checkArray(const ForeignArray& array, const std::string& file, const std::string& name) {
  const std::string where = quotedArray(name);
  if (array.element == kUnknownElement) return badForeign(file, where, "a type that is not known");
  const auto held = static_cast<std::int64_t>(array.bytes.size()) / elementBytes(array.element);
  std::int64_t values = 1, last = array.offset;
  if (array.offset < 0 || array.strides.size() != array.axes()) return badForeign(file, where, "no place in the file");
  bool wrong = false;
  for (std::size_t axis = 0; axis < array.axes(); ++axis) {
    std::int64_t reach = 0;
    wrong |= array.shape[axis] < 0 || array.strides[axis] < 0 ||
        __builtin_mul_overflow(values, array.shape[axis], &values) ||
        __builtin_mul_overflow(std::max<std::int64_t>(array.shape[axis] - 1, 0), array.strides[axis], &reach) ||
        __builtin_add_overflow(last, reach, &last);
  }
  if (wrong || values > held || (values > 0 && last >= held))
    return badForeign(file, where,
                      "shape " + shapeText(array.shape) + " with strides " + shapeText(array.strides) + " from value " +
                          std::to_string(array.offset) + " on leaves its " + std::to_string(held) + " values");
  return ok();
}

Result<ForeignRows> foreignRows(std::vector<ForeignArray> pieces, const std::string& file, const std::string& name) {
  if (pieces.empty()) return badForeign(file, quotedArray(name), "no rows");
  for (const ForeignArray& piece : pieces) {
    KV_TRY(checkArray(piece, file, name));
    if (piece.axes() < 3 || widthOf(piece) <= 0)
      return badForeign(file, quotedArray(name), "shape " + shapeText(piece.shape) + " holds no rows of heads");
    if (!widenOf(piece.element))
      return badForeign(file, quotedArray(name),
                        "values of type " + std::string(kvlab::name(piece.element)) + " are no rows",
                        "give rows as f32, f16, bf16, f64, an 8-bit float or 8-bit integers");
    if (piece.element != pieces.front().element || widthOf(piece) != widthOf(pieces.front()))
      return badForeign(file, quotedArray(name), "its pieces have other types or widths");
  }
  ForeignRows out{lowerName(pieces.front().element), widthOf(pieces.front()), {}};
  out.read = [pieces = std::move(pieces)]() -> Result<std::vector<float>> { return readPieces(pieces); };
  return out;
}

Result<ForeignLayer> foreignLayer(std::int32_t number, std::vector<ForeignArray> keys, std::vector<ForeignArray> values,
                                  const std::string& file, const std::string& name) {
  ForeignLayer out;
  out.layer = number;
  const std::vector<ForeignArray> heldKeys = keys, heldValues = values;
  out.keys = KV_TRY(foreignRows(std::move(keys), file, name));
  out.values = KV_TRY(foreignRows(std::move(values), file, name));
  out.rows = rowCount(heldKeys);
  if (rowCount(heldValues) != out.rows)
    return badForeign(
        file, quotedArray(name),
        std::to_string(out.rows) + " rows of keys and " + std::to_string(rowCount(heldValues)) + " of values");
  return out;
}

Result<std::vector<std::int32_t>> foreignNumbers(const ForeignArray& array, const std::string& file,
                                                 const std::string& name) {
  KV_TRY(checkArray(array, file, name));
  const bool wide = array.element == Element::I64 || array.element == Element::U64;
  if (!wide && array.element != Element::I32 && array.element != Element::U32)
    return badForeign(
        file, quotedArray(name),
        "values of type " + std::string(kvlab::name(array.element)) + " are no whole numbers of 32 or 64 bits");
  std::vector<std::int32_t> out;
  bool fits = true;
  const auto take = [&](std::int64_t i) {
    const std::byte* from = array.bytes.data() + i * elementBytes(array.element);
    const std::int64_t value = wide ? loaded<std::int64_t>(from) : std::int64_t{loaded<std::int32_t>(from)};
    fits &= value >= std::numeric_limits<std::int32_t>::min() && value <= std::numeric_limits<std::int32_t>::max();
    out.push_back(static_cast<std::int32_t>(value));
  };
  if (array.axes() == 0) take(array.offset);
  else eachValue(array, take);
  if (!fits) return badForeign(file, quotedArray(name), "a number beyond 32 bits");
  return out;
}

Result<std::int64_t> foreignSequence(std::int64_t batch, const ForeignAsk& ask, const std::string& file) {
  if (ask.sequence < 0 && batch == 1) return std::int64_t{0};
  if (ask.sequence >= 0 && ask.sequence < batch) return std::int64_t{ask.sequence};
  return Error("bad_argument", "cannot read " + file,
               ask.sequence < 0
                   ? "it holds " + std::to_string(batch) + " sequences"
                   : "it has no sequence " + std::to_string(ask.sequence) + ", but " + std::to_string(batch),
               "name a sequence from 0 on", "sequence", ask.sequence);
}

}  // namespace kvlab
