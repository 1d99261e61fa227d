// SPDX-License-Identifier: Apache-2.0
// The MegaContext stores a time line of tokens and the gists of every complete block of 32 and of 1024 tokens. An
// incomplete tail has no gists. Only an edit of content makes the gists above it dirty, until refresh(). A value: a
// copy costs a few pointers. Engine thread.
#pragma once
#include <array>
#include <functional>
#include <span>
#include <vector>

#include "core/api/column.h"
#include "core/api/tree_node.h"
#include "core/kinds/wlod/tree/gist_net.h"

namespace kvlab {

class MegaContext {
 public:
  struct Level {
    Column<float> gists;    // [nodes, hidden]; refresh() makes those of new nodes
    Column<LedgerId> rows;  // [nodes] -1 = not named
  };

  MegaContext() = default;
  explicit MegaContext(int hidden) : m_hidden(hidden) {}
  /// A tree whose gists are made; levels: [LOD1, LOD2] with values for every complete node.
  MegaContext(int hidden, std::span<const LedgerId> tokens, std::array<Level, kTopLevel> levels)
      : m_hidden(hidden), m_tokens(tokens), m_levels(std::move(levels)) {}

  std::int64_t hidden() const { return m_hidden; }
  std::int32_t length() const { return static_cast<std::int32_t>(m_tokens.size()); }  // moments
  const Column<LedgerId>& tokens() const { return m_tokens; }                         // [length]
  LedgerId token(Moment t) const { return m_tokens[static_cast<std::size_t>(t.value())]; }
  /// Complete nodes of a level.
  std::int32_t nodes(int level) const { return length() / spanOf(level); }
  /// First moment that no gist covers.
  std::int32_t tailBegin() const { return nodes(1) * kGistBlock; }
  bool has(TreeNode node) const { return node.aligned() && node.end() <= length(); }

  void append(std::span<const LedgerId> tokens);
  /// Replaces the token at a moment.
  void replace(Moment t, LedgerId token);
  /// Replaces all tokens from `begin` on; gists that end behind it are made anew and lose their names.
  void setTail(Moment begin, std::span<const LedgerId> tokens);

  /// Gists whose content has changed since they were made, by level, then time.
  const std::vector<TreeNode>& dirty() const { return m_dirty; }
  /// Writes the embeddings of the tokens of some moments as the first layer gets them, [moments, hidden].
  using Embeddings = std::function<void(Moments moments, float* out)>;
  /// Makes the dirty gists, lower level first; returns their number.
  Result<std::int32_t> refresh(const GistNet& net, const Embeddings& embeddings);

  /// The gist of a node, [hidden]; the node must exist and not be dirty.
  std::span<const float> gist(TreeNode node) const;
  /// The ledger row of a node: that of a token, or of a named gist; -1 = none.
  LedgerId row(TreeNode node) const;
  void name(TreeNode gist, LedgerId row);
  /// The gists of a level above 0.
  const Level& level(int n) const { return m_levels[static_cast<std::size_t>(n - 1)]; }
  /// A copy with its own columns, to be changed on another thread.
  MegaContext ownCopy() const;

 private:
  Level& level(int n) { return m_levels[static_cast<std::size_t>(n - 1)]; }
  void grow(std::int32_t before);
  void markDirty(TreeNode node);
  void children(TreeNode node, const Embeddings& embeddings, float* out) const;
  Status refreshLevel(std::span<const TreeNode> nodes, const GistNet& net, const Embeddings& embeddings);
  void store(std::span<const TreeNode> nodes, const std::vector<float>& gists);

  std::int64_t m_hidden = 0;
  Column<LedgerId> m_tokens;
  std::array<Level, kTopLevel> m_levels;
  std::vector<TreeNode> m_dirty;
};

}  // namespace kvlab
