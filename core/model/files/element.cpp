// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "core/model/files/safetensors.h"

namespace kvlab {
namespace {

using kernels::DType;

struct ElementRow {
  Element element;
  std::string_view name;
  std::int64_t bytes;
  std::optional<DType> dtype = {};
};
constexpr std::array<ElementRow, 16> kElements{{
    {Element::Bool, "BOOL", 1},
    {Element::U8, "U8", 1},
    {Element::I8, "I8", 1, DType::i8},
    {Element::F8E4M3, "F8_E4M3", 1, DType::fp8e4m3},
    {Element::F8E5M2, "F8_E5M2", 1},
    {Element::I16, "I16", 2},
    {Element::U16, "U16", 2},
    {Element::F16, "F16", 2, DType::f16},
    {Element::BF16, "BF16", 2, DType::bf16},
    {Element::I32, "I32", 4},
    {Element::U32, "U32", 4},
    {Element::F32, "F32", 4, DType::f32},
    {Element::I64, "I64", 8},
    {Element::U64, "U64", 8},
    {Element::F64, "F64", 8},
    {kUnknownElement, "", 0},
}};

}  // namespace

std::string_view name(Element element) { return kElements[static_cast<std::size_t>(element)].name; }

std::optional<Element> elementFromName(std::string_view name) {
  for (const ElementRow& row : kElements)
    if (row.name == name) return row.element;
  return {};
}

std::int64_t elementBytes(Element element) { return kElements[static_cast<std::size_t>(element)].bytes; }

std::optional<DType> kernelType(Element element) { return kElements[static_cast<std::size_t>(element)].dtype; }

Element elementOf(DType type) {
  for (const ElementRow& row : kElements)
    if (row.dtype == type) return row.element;
  return Element::F32;  // types in blocks are never written
}

TensorView FileTensor::view() const {
  const auto type = kernelType(element);
  if (!type) return {};
  return {bytes.data(), *type, shape};
}

}  // namespace kvlab
