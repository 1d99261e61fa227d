// SPDX-License-Identifier: Apache-2.0
// Reads the header of a GGUF file from its first byte on. Used by GgufHeader. Borrows the bytes and the file's name.
#pragma once
#include "core/model/files/byte_cursor.h"
#include "core/model/files/gguf_types.h"

namespace kvlab {

/// `where` is the place: "byte 24", "tensor \"blk.0.attn_q.weight\"", "key \"general.name\"".
Error badGguf(const std::string& file, const std::string& where, const std::string& why, const std::string& remedy = {},
              const std::string& field = {});

class GgufCursor : public ByteCursor {
 public:
  GgufCursor(std::span<const std::byte> bytes, const std::string& file)
      : ByteCursor(bytes, file,
                   [](const std::string& name, const std::string& where, const std::string& why,
                      const std::string& remedy) { return badGguf(name, where, why, remedy); }) {}

  /// Its length, then its bytes.
  Result<std::string_view> text(const char* what) {
    const auto length = KV_TRY(number<std::uint64_t>(what));
    return ByteCursor::text(length, what);
  }
};

}  // namespace kvlab
