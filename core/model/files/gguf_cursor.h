// SPDX-License-Identifier: Apache-2.0
// Reads the header of a GGUF file from its first byte on; no read goes past the end. Used by GgufHeader. Borrows the
// bytes and the file's name.
#pragma once
#include <cstring>
#include <span>
#include <string>

#include "core/api/error.h"
#include "core/model/files/gguf_types.h"

namespace kvlab {

/// `where` is the place: "byte 24", "tensor \"blk.0.attn_q.weight\"", "key \"general.name\"".
Error badGguf(const std::string& file, const std::string& where, const std::string& why, const std::string& remedy = {},
              const std::string& field = {});

class GgufCursor {
 public:
  GgufCursor(std::span<const std::byte> bytes, const std::string& file) : m_bytes(bytes), m_file(file) {}

  std::uint64_t at() const { return m_at; }
  std::uint64_t left() const { return m_bytes.size() - m_at; }
  const std::string& file() const { return m_file; }
  std::span<const std::byte> from(std::uint64_t begin) const { return m_bytes.subspan(begin, m_at - begin); }

  Result<std::span<const std::byte>> take(std::uint64_t bytes, const char* what) {
    if (bytes > left()) return tooShort(bytes, what);
    m_at += bytes;
    return m_bytes.subspan(m_at - bytes, bytes);
  }

  template <class T>
  Result<T> number(const char* what) {
    const auto raw = KV_TRY(take(sizeof(T), what));
    T value;
    std::memcpy(&value, raw.data(), sizeof(T));
    return value;
  }

  /// Its length, then its bytes.
  Result<std::string_view> text(const char* what) {
    const auto length = KV_TRY(number<std::uint64_t>(what));
    const auto raw = KV_TRY(take(length, what));
    return std::string_view(reinterpret_cast<const char*>(raw.data()), raw.size());
  }

  /// A complaint about the place reached.
  Error bad(const std::string& why, const std::string& remedy = {}) const {
    return badGguf(m_file, "byte " + std::to_string(m_at), why, remedy);
  }

 private:
  Error tooShort(std::uint64_t bytes, const char* what) const {
    return bad(std::string(what) + " takes " + std::to_string(bytes) + " bytes, the file has " +
               std::to_string(left()) + " left");
  }

  std::span<const std::byte> m_bytes;
  std::uint64_t m_at = 0;
  const std::string& m_file;
};

}  // namespace kvlab
