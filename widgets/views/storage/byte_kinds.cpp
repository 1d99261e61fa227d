// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/storage/byte_kinds.h"

#include <QCoreApplication>
#include <algorithm>
#include <numeric>

namespace kvlab {

QString title(ByteKind kind) {
  static constexpr std::array<const char*, kByteKinds> kTitles = {"K",       "V",       "scales", "tags",
                                                                  "padding", "history", "free"};
  return QCoreApplication::translate("kvlab::ByteKinds", kTitles[static_cast<std::size_t>(kind)]);
}

std::int64_t ByteKinds::sum() const { return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0}); }

ByteKinds bytesOf(const StorageGroup& group) {
  const StorageView& s = *group.storage;
  const std::int64_t layers = static_cast<std::int64_t>(group.layers.size()), rows = layers * s.rows;
  ByteKinds out;
  out.bytes = {rows * s.record.k,
               rows * s.record.v,
               rows * s.record.scales,
               rows * s.record.tags,
               rows * s.record.padding,
               layers * (s.held - s.rows) * s.stride,
               layers * std::clamp(s.roomSlots - s.rows, 0, std::max(0, s.poolSlots - s.held)) * s.stride};
  return out;
}

}  // namespace kvlab
