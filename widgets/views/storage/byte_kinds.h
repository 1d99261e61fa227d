// SPDX-License-Identifier: GPL-3.0-or-later
// What the bytes of a pool are for: measured from its row records and its slots. Values; any thread.
#pragma once
#include <QString>
#include <array>

#include "widgets/base/storage_groups.h"

namespace kvlab {

enum class ByteKind : std::uint8_t { K, V, Scales, Tags, Padding, History, Free };
inline constexpr int kByteKinds = 7;
QString title(ByteKind kind);

/// Bytes of all layers of a group by kind: those of resident rows, records that only history holds, free ones.
struct ByteKinds {
  std::array<std::int64_t, kByteKinds> bytes{};
  std::int64_t sum() const;
  std::int64_t of(ByteKind kind) const { return bytes[static_cast<std::size_t>(kind)]; }
};
ByteKinds bytesOf(const StorageGroup& group);

}  // namespace kvlab
