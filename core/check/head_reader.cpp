// SPDX-License-Identifier: Apache-2.0
#include "core/check/head_reader.h"

#include <cstring>

#include "kernels/row_quant.h"
#include "kernels/scalar_convert.h"

namespace kvlab {
namespace {

template <class Raw, class Widen>
void read(const std::uint8_t* from, std::span<double> out, Widen widen) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    Raw raw;
    std::memcpy(&raw, from + i * sizeof raw, sizeof raw);
    out[i] = static_cast<double>(widen(raw));
  }
}

}  // namespace

HeadReader::HeadReader(const RowPool& pool, std::span<const Slot> slots, int head)
    : m_format(pool.format()), m_layout(kernels::rowLayout(m_format)), m_head(head) {
  const bool host = pool.backend().onHost();
  if (!host) {
    m_copied.resize(slots.size() * at(pool.stride()));
    pool.readRecords(slots, m_copied.data());
  }
  for (std::size_t i = 0; i < slots.size(); ++i)
    m_records.push_back(host ? pool.data() + slots[i].value() * pool.stride()
                             : m_copied.data() + i * at(pool.stride()));
}

void HeadReader::operator()(std::size_t row, bool value, std::span<double> out) const {
  using kernels::DType;
  const DType type = value ? m_format.v : m_format.k;
  const std::uint8_t* record = m_records[row];
  const std::uint8_t* from =
      record + (value ? m_layout.v : m_layout.k) + m_head * kernels::dtypeRowBytes(type, m_format.headDim);
  switch (type) {
    case DType::f32: return read<float>(from, out, [](float x) { return x; });
    case DType::f16: return read<std::uint16_t>(from, out, kernels::halfToFloat);
    case DType::bf16: return read<std::uint16_t>(from, out, kernels::bf16ToFloat);
    default: break;
  }
  float scale = 0;
  std::memcpy(&scale, record + (value ? m_layout.vScales : m_layout.kScales) + 4 * std::int64_t{m_head}, sizeof scale);
  read<std::uint8_t>(from, out, [&](std::uint8_t code) { return kernels::codeValue(code, type) * scale; });
}

}  // namespace kvlab
