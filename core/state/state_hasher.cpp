// SPDX-License-Identifier: Apache-2.0
#include "core/state/state_hasher.h"

#include <xxhash.h>

namespace kvlab {

StateHasher::StateHasher() : m_state(XXH3_createState(), [](XXH3_state_s* state) { XXH3_freeState(state); }) {
  XXH3_128bits_reset(m_state.get());
}

void StateHasher::bytes(const void* data, std::size_t size) {
  if (size) XXH3_128bits_update(m_state.get(), data, size);
}

std::string StateHasher::hex() const {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(m_state.get()));
  std::string out;
  for (const unsigned char byte : canonical.digest)
    for (const int shift : {4, 0}) out += "0123456789abcdef"[(byte >> shift) & 15];
  return out;
}

}  // namespace kvlab
