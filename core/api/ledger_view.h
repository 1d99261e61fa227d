// SPDX-License-Identifier: Apache-2.0
// The ledger as readers see it: every token that ever came, in order of arrival. The engine and all
// snapshots share chunks; the engine copies a chunk before it changes one. Any thread may read.
#pragma once
#include <limits>
#include <memory>
#include <optional>
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
std::optional<Source> sourceFromName(std::string_view name);

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

class LedgerView {
 public:
  static constexpr std::size_t kChunk = 256;
  using Chunk = std::vector<LedgerRow>;

  std::size_t size() const { return m_size; }
  const LedgerRow& operator[](LedgerId id) const {
    const auto i = static_cast<std::size_t>(id.value());
    return (*m_chunks[i / kChunk])[i % kChunk];
  }
  bool contains(LedgerId id) const { return id.value() >= 0 && static_cast<std::size_t>(id.value()) < m_size; }

 protected:
  std::vector<std::shared_ptr<Chunk>> m_chunks;
  std::size_t m_size = 0;
};

}  // namespace kvlab
