// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "core/model/files/safetensors.h"

namespace kvlab {
namespace {

struct ElementRow {
  Element element;
  std::string_view name;
  std::int64_t bytes;
};
constexpr std::array<ElementRow, 16> kElements{{
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

std::optional<kernels::DType> kernelType(Element element) {
  switch (element) {
    case Element::F32: return kernels::DType::f32;
    case Element::F16: return kernels::DType::f16;
    case Element::BF16: return kernels::DType::bf16;
    case Element::I8: return kernels::DType::i8;
    case Element::F8E4M3: return kernels::DType::fp8e4m3;
    default: return {};
  }
}

Element elementOf(kernels::DType type) {
  switch (type) {
    case kernels::DType::f32: return Element::F32;
    case kernels::DType::f16: return Element::F16;
    case kernels::DType::bf16: return Element::BF16;
    case kernels::DType::i8: return Element::I8;
    case kernels::DType::fp8e4m3: return Element::F8E4M3;
    default: return Element::F32;  // types in blocks are never written
  }
}

TensorView FileTensor::view() const {
  const auto type = kernelType(element);
  if (!type) return {};
  return {bytes.data(), *type, shape};
}

}  // namespace kvlab
