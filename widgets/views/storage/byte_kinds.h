// SPDX-License-Identifier: GPL-3.0-or-later
// Bytes of a pool by kind, measured from its row records and slots. Values; any thread.
#pragma once
#include <QString>
#include <array>

#include "widgets/base/storage_groups.h"

namespace kvlab {

enum class ByteKind : std::uint8_t { K, V, Scales, Tags, Padding, History, Free };
inline constexpr int kByteKinds = 7;
QString title(ByteKind kind);

/// Bytes of all layers of a group: of resident rows by kind, of rows held by history, and of free room at capacity. The
/// addresses that are reserved for older states are no part of them.
struct ByteKinds {
  std::array<std::int64_t, kByteKinds> bytes{};
  std::int64_t sum() const;
  std::int64_t of(ByteKind kind) const { return bytes[static_cast<std::size_t>(kind)]; }
};
ByteKinds bytesOf(const StorageGroup& group);

}  // namespace kvlab
