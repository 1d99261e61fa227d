// SPDX-License-Identifier: Apache-2.0
// Reads a file of another program from its first byte on: no read goes past the end, no length is believed before it is
// compared with what is left. Borrows the bytes and the file's name; any thread.
#pragma once
#include <string>
#include <string_view>

#include "core/model/files/byte_cursor.h"

namespace kvlab {

/// A text of a file as people may see it: letters, digits and signs of ASCII, at most `most` of them.
std::string plainForeign(std::string_view text, std::size_t most = 100);

/// Error (code bad_file); `where` is the place: "byte 24", "array \"layers.0.keys\"".
Error badForeign(const std::string& file, const std::string& where, const std::string& why,
                 const std::string& remedy = {});
/// The same for a file that is whole but holds what no importer reads.
Error unreadForeign(const std::string& file, const std::string& what, const std::string& remedy);

class ForeignCursor : public ByteCursor {
 public:
  ForeignCursor(std::span<const std::byte> bytes, const std::string& file, std::size_t at = 0)
      : ByteCursor(bytes, file, badForeign, at) {}

  using ByteCursor::take;
  /// `count` things of `each` bytes.
  Result<std::span<const std::byte>> take(std::uint64_t count, std::uint64_t each, const char* what) {
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(count, each, &bytes))
      return bad(std::string(what) + " takes " + std::to_string(count) + " times " + std::to_string(each) + " bytes");
    return take(bytes, what);
  }

  /// A number of things that take at least `least` bytes each.
  template <class T>
  Result<T> count(std::size_t least, const char* what) {
    const std::size_t place = at();
    const auto n = KV_TRY(number<T>(what));
    if (n > left() / least)
      return badAt(place,
                   std::string(what) + " is " + std::to_string(n) + ", which does not fit into the " +
                       std::to_string(left()) + " bytes behind it");
    return n;
  }
};

}  // namespace kvlab
