// SPDX-License-Identifier: Apache-2.0
// A column of plain values that snapshots share with the engine. Copying a Column copies a pointer
// and a length. The owner may append in place while other threads read older copies, because a
// reader never looks past the length of its copy. A copy that is not the longest one of its buffer
// gets a buffer of its own before it grows.
#pragma once
#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>

namespace kvlab {

template <class T>
class Column {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Column() = default;
  explicit Column(std::span<const T> values) { assign(values); }

  std::size_t size() const { return m_size; }
  bool empty() const { return m_size == 0; }
  const T* data() const { return m_buffer ? m_buffer->values.get() : nullptr; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + m_size; }
  std::span<const T> span() const { return {data(), m_size}; }
  /// Bytes of the buffer, which other columns may share.
  std::size_t roomBytes() const { return m_buffer ? m_buffer->capacity * sizeof(T) : 0; }
  /// True if both columns are the same stretch of the same buffer: a cheap test for "unchanged".
  bool sharesWith(const Column& other) const { return m_buffer == other.m_buffer && m_size == other.m_size; }

  /// Number of values with which both columns begin. Columns that share a buffer are not compared value by value.
  std::size_t alike(const Column& other) const {
    return m_buffer == other.m_buffer ? std::min(m_size, other.m_size) : alike(other.span());
  }

  /// The first `size` values, sharing the buffer.
  Column prefix(std::size_t size) const {
    Column column = *this;
    column.m_size = std::min(size, m_size);
    return column;
  }

  /// The values `now` in a column that shares this buffer as far as both begin alike.
  Column following(std::span<const T> now) const {
    const std::size_t front = alike(now);
    Column column = prefix(front);
    if (front < now.size()) column.append(now.subspan(front));
    return column;
  }

  void append(std::span<const T> values) {
    reserveTail(values.size());
    std::copy(values.begin(), values.end(), m_buffer->values.get() + m_size);
    m_size += values.size();
    m_buffer->used = m_size;
  }
  void push_back(T value) { append(std::span<const T>(&value, 1)); }

  void assign(std::span<const T> values) {
    m_buffer = std::make_shared<Buffer>(std::max<std::size_t>(64, values.size() + values.size() / 4));
    std::copy(values.begin(), values.end(), m_buffer->values.get());
    m_size = m_buffer->used = values.size();
  }

  /// The same values in a buffer that no other column shares, so that another thread may append.
  Column ownCopy() const { return Column(span()); }

  /// A column of `size` values in a fresh buffer, which fill(T* values) writes in one pass. An edit
  /// of a map costs such a pass.
  template <class Fill>
  static Column make(std::size_t size, Fill fill) {
    return make(size, size / 4, fill);
  }
  /// The same with room for so many values more.
  template <class Fill>
  static Column make(std::size_t size, std::size_t spare, Fill fill) {
    Column column;
    column.m_buffer = std::make_shared<Buffer>(std::max<std::size_t>(64, size + spare));
    fill(column.m_buffer->values.get());
    column.m_size = column.m_buffer->used = size;
    return column;
  }

 private:
  struct Buffer {
    explicit Buffer(std::size_t n) : values(std::make_unique_for_overwrite<T[]>(n)), capacity(n) {}
    std::unique_ptr<T[]> values;  // [capacity]
    std::size_t capacity;
    std::size_t used = 0;  // longest copy; touched by the owning thread only
  };

  std::size_t alike(std::span<const T> values) const {
    return static_cast<std::size_t>(std::mismatch(begin(), end(), values.begin(), values.end()).first - begin());
  }

  void reserveTail(std::size_t count) {
    if (m_buffer && m_buffer->used == m_size && m_buffer->capacity >= m_size + count) return;
    auto grown = std::make_shared<Buffer>(std::max<std::size_t>(64, 2 * (m_size + count)));
    if (m_size) std::copy(begin(), end(), grown->values.get());
    m_buffer = std::move(grown);
  }

  std::shared_ptr<Buffer> m_buffer;
  std::size_t m_size = 0;
};

/// True if `now` begins with all of `old`.
template <class T>
bool continues(const Column<T>& now, const Column<T>& old) {
  return now.alike(old) == old.size();
}

}  // namespace kvlab
