// SPDX-License-Identifier: Apache-2.0
// Reads bytes from the first one on; no read goes past the end. Borrows the bytes and the file's name; any thread.
#pragma once
#include <cstring>
#include <span>
#include <string>

#include "core/api/error.h"

namespace kvlab {

class ByteCursor {
 public:
  /// Makes an error about a file; `where` is the place: "byte 24".
  using Complaint = Error (*)(const std::string& file, const std::string& where, const std::string& why,
                              const std::string& remedy);

  ByteCursor(std::span<const std::byte> bytes, const std::string& file, Complaint complaint, std::size_t at = 0)
      : m_bytes(bytes), m_file(&file), m_complaint(complaint), m_at(at) {}

  std::size_t at() const { return m_at; }
  std::size_t left() const { return m_bytes.size() - m_at; }
  bool atEnd() const { return left() == 0; }
  const std::string& file() const { return *m_file; }
  /// The bytes read since a place.
  std::span<const std::byte> from(std::size_t begin) const { return m_bytes.subspan(begin, m_at - begin); }

  Result<std::span<const std::byte>> take(std::uint64_t bytes, const char* what) {
    if (bytes > left())
      return bad(std::string(what) + " takes " + std::to_string(bytes) + " bytes, the file has " +
                 std::to_string(left()) + " left");
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

  Result<std::string_view> text(std::uint64_t bytes, const char* what) {
    const auto raw = KV_TRY(take(bytes, what));
    return std::string_view(reinterpret_cast<const char*>(raw.data()), raw.size());
  }

  /// A complaint about the place reached.
  Error bad(const std::string& why, const std::string& remedy = {}) const { return badAt(m_at, why, remedy); }
  Error badAt(std::size_t place, const std::string& why, const std::string& remedy = {}) const {
    return m_complaint(*m_file, "byte " + std::to_string(place), why, remedy);
  }

 private:
  std::span<const std::byte> m_bytes;
  const std::string* m_file;
  Complaint m_complaint;
  std::size_t m_at = 0;
};

}  // namespace kvlab
