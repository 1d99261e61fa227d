// SPDX-License-Identifier: Apache-2.0
// The tag of a row record names the owner of the row. A row with scales stores the tag mixed with the scales: a
// check of tags therefore notices a scale that came apart from its row.
#pragma once

#include "kernels/row_checksum.h"
#include "kernels/row_format.h"

namespace kvlab::kernels {

/// 0 for types without scales.
KVLAB_HD inline uint64_t scaleSeal(const uint8_t* record, const RowLayout& o, const RowFormat& f) {
  if (!dtypeHasScale(f.k) && !dtypeHasScale(f.v)) return 0;
  return checksumTerms(record, o.kScales, o.vScales + (dtypeHasScale(f.v) ? 4 * int64_t{f.kvHeads} : 0));
}

KVLAB_HD inline uint64_t readTag(const uint8_t* record, const RowLayout& o, const RowFormat& f) {
  uint64_t stored;
  memcpy(&stored, record + o.tag, 8);
  return stored ^ scaleSeal(record, o, f);
}

/// Call it when the scales are in the record. Returns the stored word, which the checksum covers.
KVLAB_HD inline uint64_t writeTag(uint8_t* record, const RowLayout& o, const RowFormat& f, uint64_t tag) {
  const uint64_t stored = tag ^ scaleSeal(record, o, f);
  memcpy(record + o.tag, &stored, 8);
  return stored;
}

}  // namespace kvlab::kernels
