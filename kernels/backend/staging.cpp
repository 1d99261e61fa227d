// SPDX-License-Identifier: Apache-2.0
#include "kernels/backend/staging.h"

namespace kvlab::kernels {

void* Staging::copyIn(const void* from, int64_t bytes) {
  void* memory = m_backend.arena().take(bytes);
  if (memory) m_backend.upload(memory, from, bytes);
  return memory;
}

void* Staging::bringBack(void* host, int64_t bytes, bool filled) {
  void* memory = filled ? copyIn(host, bytes) : m_backend.arena().take(bytes);
  if (memory) m_returns.push_back({host, memory, bytes});
  return memory;
}

void Staging::start() {
  if (!m_returns.empty()) m_backend.startDownload(m_returns);
  m_returns.clear();
}

}  // namespace kvlab::kernels
