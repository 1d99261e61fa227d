// SPDX-License-Identifier: Apache-2.0
#include "core/model/decoder/rotary_mirror.h"

namespace kvlab {

void RotaryMirror::send(const Rotary& rotary, std::int64_t begin, std::int64_t end) {
  const std::int64_t width = rotary.width();
  for (int set = 0; set < rotary.sets(); ++set)
    m_copy.write((set * rotary.capacity() + begin) * width,
                 {rotary.data(set) + begin * width, static_cast<std::size_t>((end - begin) * width)});
}

const float* RotaryMirror::update(kernels::Backend& backend, const Rotary& rotary) {
  if (backend.onHost()) return rotary.data();
  const std::int64_t floats = rotary.sets() * rotary.capacity() * rotary.width();
  if (m_copy.size() != floats || m_revision != rotary.revision()) m_dense = m_extra = 0;
  m_revision = rotary.revision();
  if (m_copy.size() != floats && !m_copy.allocate(backend, floats)) return nullptr;
  if (m_dense < rotary.denseFilled()) send(rotary, m_dense, rotary.denseFilled());
  if (m_extra < rotary.extraFilled()) send(rotary, rotary.dense() + m_extra, rotary.dense() + rotary.extraFilled());
  m_dense = rotary.denseFilled();
  m_extra = rotary.extraFilled();
  return m_copy.data();
}

}  // namespace kvlab
