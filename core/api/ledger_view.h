// SPDX-License-Identifier: Apache-2.0
// The ledger as readers see it: every token that ever came, in order of arrival. The engine and all snapshots share
// rows in chunks; the engine copies a chunk before it changes one. Any thread may read.
#pragma once
#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/api/ids.h"

namespace kvlab {

enum class RowKind : std::uint8_t { Token, Gist };
enum class RowState : std::uint8_t { Live, Replaced, Deleted, Evicted, Collapsed, Aborted, LeftWindow };
enum class Source : std::uint8_t { User, Prompt, Model, Replacement, Insertion, File };

std::string_view name(RowKind kind);
std::string_view name(RowState state);
std::string_view name(Source source);
/// True if a map counts the row: some layer holds it, or it has left only through windows.
constexpr bool counted(RowState state) { return state == RowState::Live || state == RowState::LeftWindow; }

struct LedgerRow {
  TokenId token;
  RowKind kind = RowKind::Token;
  RowState state = RowState::Live;
  Source source = Source::User;
  bool pinned = false;
  float brightness = 255;  // when it left the context; live rows: Quantity::Brightness
  Tick born;
  Tick changed;                                              // tick of the last change of state
  std::vector<LedgerId> parents, children;                   // lineage of replacements
  float surprise = std::numeric_limits<float>::quiet_NaN();  // -ln p when it came, nats; none unless it was scored
};

/// A tree of three levels, so that a state that changes some rows keeps its own copy of few: the chunks that hold them,
/// and the blocks that list these chunks.
class LedgerView {
 public:
  std::size_t size() const { return m_size; }
  const LedgerRow& operator[](LedgerId id) const {
    const auto i = static_cast<std::size_t>(id.value());
    return (*(*m_blocks[i / kRows])[i / kChunk % kBlock])[i % kChunk];
  }
  bool contains(LedgerId id) const { return id.value() >= 0 && static_cast<std::size_t>(id.value()) < m_size; }
  /// A number of rows with which both ledgers begin: all those before the first chunk that they do not share.
  std::size_t alike(const LedgerView& other) const;

 protected:
  LedgerId append(LedgerRow row);
  /// Returns a row for changing. Copies its chunk first if another ledger shares it.
  LedgerRow& change(LedgerId id);
  /// Copies all that other ledgers share.
  void unshare();
  /// Bytes that this ledger does not share with another one.
  std::int64_t bytesBeside(const LedgerView& other) const;

 private:
  static constexpr std::size_t kChunk = 32, kBlock = 64, kRows = kChunk * kBlock;  // rows, chunks, rows of a block
  using Chunk = std::vector<LedgerRow>;                                            // with room for kChunk rows
  using Block = std::array<std::shared_ptr<Chunk>, kBlock>;

  static std::shared_ptr<Chunk> newChunk(std::span<const LedgerRow> rows);
  std::shared_ptr<Block> copyOf(std::size_t block) const;

  std::vector<std::shared_ptr<Block>> m_blocks;
  std::size_t m_size = 0;
};

}  // namespace kvlab
