// SPDX-License-Identifier: Apache-2.0
#include "core/bugs/bug_kind.h"

#include <cstring>

#include "kernels/row_tag.h"

namespace kvlab {
namespace {

void seal(std::uint8_t* record, const kernels::RowLayout& layout) {
  const std::uint64_t sum = kernels::rowChecksum(record, layout.tag);
  std::memcpy(record + layout.checksum, &sum, sizeof sum);
}

}  // namespace

void changeScales(const WrittenBend& bend, const std::function<void(const HeadCodes&)>& change) {
  const kernels::RowFormat& format = bend.pool.format();
  const kernels::RowLayout layout = kernels::rowLayout(format);
  std::vector<std::uint8_t> record(at(bend.pool.stride()));
  for (const std::int32_t slot : bend.slots) {
    const Slot one(slot);
    bend.pool.readRecords({&one, 1}, record.data());
    const std::uint64_t tag = kernels::readTag(record.data(), layout, format);
    const auto changeAll = [&](kernels::DType type, std::int64_t codes, std::int64_t offset, bool key) {
      for (int head = 0; head < format.kvHeads && kernels::dtypeHasScale(type); ++head) {
        float scale = 0;
        std::uint8_t* place = record.data() + offset + head * 4;
        std::memcpy(&scale, place, 4);
        const std::size_t dim = at(format.headDim);
        change({scale, std::span(record).subspan(at(codes) + at(head) * dim, dim), type, key});
        std::memcpy(place, &scale, 4);
      }
    };
    changeAll(format.k, layout.k, layout.kScales, true);
    changeAll(format.v, layout.v, layout.vScales, false);
    kernels::writeTag(record.data(), layout, format, tag);
    seal(record.data(), layout);
    bend.pool.writeRecords({&one, 1}, record.data());
  }
}

std::vector<float> keyScales(const RowPool& pool, std::span<const Slot> slots) {
  const kernels::RowFormat& format = pool.format();
  if (!kernels::dtypeHasScale(format.k)) return {};
  std::vector<std::uint8_t> records(slots.size() * at(pool.stride()));
  pool.readRecords(slots, records.data());
  std::vector<float> out(slots.size() * at(format.kvHeads));
  for (std::size_t i = 0; i < slots.size(); ++i)
    std::memcpy(out.data() + i * at(format.kvHeads),
                records.data() + i * at(pool.stride()) + kernels::rowLayout(format).kScales, at(format.kvHeads) * 4);
  return out;
}

void takeScales(RowPool& pool, Slot from, Slot to) {
  const kernels::RowLayout layout = kernels::rowLayout(pool.format());
  const Slot both[] = {from, to};
  std::vector<std::uint8_t> records(2 * at(pool.stride()));
  pool.readRecords(both, records.data());
  std::uint8_t* own = records.data() + pool.stride();
  std::memcpy(own + layout.kScales, records.data() + layout.kScales, at(layout.tag - layout.kScales));
  seal(own, layout);
  pool.writeRecords(std::span(both).last(1), own);
}

}  // namespace kvlab
