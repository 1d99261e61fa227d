// SPDX-License-Identifier: Apache-2.0
// Memory of a back end that callers take and give back like a stack. The arena grows in chunks and keeps
// the chunks: a steady state allocates nothing, and the same sequence of calls gets the same addresses. A
// Backend owns the arena; the back end's rules for threads hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kvlab::kernels {

class Backend;

class Arena {
 public:
  explicit Arena(Backend& backend) : m_backend(backend) {}

  struct Mark {
    size_t chunk = 0;
    int64_t used = 0;
  };
  Mark mark() const { return m_top; }
  /// Gives back everything that was taken since this mark.
  void rewind(Mark mark) { m_top = mark; }
  /// At least `bytes` bytes, aligned to 256. If the back end refuses: null, and on the host std::bad_alloc.
  void* take(int64_t bytes);
  /// True if the whole arena lies in one chunk.
  bool holds(const void* from, int64_t bytes) const;
  /// Gives the chunks back; nothing may be in use. A back end calls this before it ends.
  void clear();

 private:
  struct Chunk {
    std::byte* memory;
    int64_t bytes;
  };
  Backend& m_backend;
  std::vector<Chunk> m_chunks;
  Mark m_top;
};

}  // namespace kvlab::kernels
