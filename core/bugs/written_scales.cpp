// SPDX-License-Identifier: Apache-2.0
#include "core/bugs/written_scales.h"

#include <cstring>

#include "kernels/row_tag.h"

namespace kvlab {

void changeScales(const WrittenBend& bend, void (*change)(float& scale)) {
  const kernels::RowFormat& format = bend.pool.format();
  const kernels::RowLayout layout = kernels::rowLayout(format);
  std::vector<std::uint8_t> record(at(bend.pool.stride()));
  for (const std::int32_t slot : bend.slots) {
    const Slot one(slot);
    bend.pool.readRecords({&one, 1}, record.data());
    const std::uint64_t tag = kernels::readTag(record.data(), layout, format);
    const auto changeAll = [&](kernels::DType type, std::int64_t offset) {
      for (int head = 0; head < format.kvHeads && kernels::dtypeHasScale(type); ++head) {
        float scale = 0;
        std::uint8_t* place = record.data() + offset + head * 4;
        std::memcpy(&scale, place, 4);
        change(scale);
        std::memcpy(place, &scale, 4);
      }
    };
    changeAll(format.k, layout.kScales);
    changeAll(format.v, layout.vScales);
    kernels::writeTag(record.data(), layout, format, tag);
    const std::uint64_t sum = kernels::rowChecksum(record.data(), layout.tag);
    std::memcpy(record.data() + layout.checksum, &sum, sizeof sum);
    bend.pool.writeRecords({&one, 1}, record.data());
  }
}

}  // namespace kvlab
