// SPDX-License-Identifier: Apache-2.0
// Moves rows within a pool where sources and destinations may overlap in any way. Engine thread.
#pragma once
#include <vector>

#include "core/state/row_pool.h"

namespace kvlab {

/// Appends the move of one row to a list of runs of consecutive rows.
void addMove(std::vector<kernels::RowMove>& moves, std::int32_t from, std::int32_t to);

/// Moves that only have to be made: their memory is taken. For one run.
class ReadyMoves {
 public:
  /// Sources are distinct, and so are destinations; rows in a cycle of dependencies pass through a side buffer. Errors:
  /// out_of_memory.
  static Result<ReadyMoves> of(RowPool& pool, std::vector<kernels::RowMove> moves);
  /// `aside` rows go to a side buffer first, in order, and to their places last; `moves` are made as they stand.
  static Result<ReadyMoves> of(RowPool& pool, std::vector<kernels::RowMove> moves,
                               const std::vector<kernels::RowMove>& aside);
  /// Moves that bring the rows back after run(). Errors: out_of_memory.
  Result<ReadyMoves> back() const;
  /// Bytes read and written. Errors: device.
  Result<std::int64_t> run();

 private:
  explicit ReadyMoves(RowPool& pool) : m_pool(&pool) {}

  RowPool* m_pool;
  RowPool m_side;
  std::vector<kernels::RowMove> m_out, m_moves, m_back;
};

/// Both at once.
Result<std::int64_t> moveAll(RowPool& pool, std::vector<kernels::RowMove> moves);

}  // namespace kvlab
