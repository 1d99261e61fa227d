// SPDX-License-Identifier: Apache-2.0
// The MegaContext stores a time line of tokens and the gists of every complete block of 32 and of 1024 tokens. An
// incomplete tail has no gists. Only an edit of content makes gists dirty, those above it, until refresh(). A value:
// copying a MegaContext costs a few pointers. Engine thread.
#pragma once
#include <array>
#include <functional>
#include <span>
#include <vector>

#include "core/api/column.h"
#include "core/api/tree_node.h"
#include "core/wlod/gist_net.h"

namespace kvlab {

class MegaContext {
 public:
  MegaContext() = default;
  explicit MegaContext(int hidden) : m_hidden(hidden) {}

  std::int32_t length() const { return static_cast<std::int32_t>(m_tokens.size()); }  // moments
  const Column<LedgerId>& tokens() const { return m_tokens; }                         // [length]
  LedgerId token(Moment t) const { return m_tokens[static_cast<std::size_t>(t.value())]; }
  /// Complete nodes of a level.
  std::int32_t nodes(int level) const { return length() / spanOf(level); }
  /// The first moment that stands in no gist.
  std::int32_t tailBegin() const { return nodes(1) * kGistBlock; }
  bool has(TreeNode node) const { return node.aligned() && node.end() <= length(); }

  void append(std::span<const LedgerId> tokens);
  /// Puts another token at a moment: an n -> n edit.
  void replace(Moment t, LedgerId token);
  /// Puts other tokens in place of everything from `begin` >= tailBegin() on.
  void setTail(Moment begin, std::span<const LedgerId> tokens);

  /// Gists whose content has changed since they were made, by level, then time.
  const std::vector<TreeNode>& dirty() const { return m_dirty; }
  bool isDirty(TreeNode node) const;
  /// Writes the embeddings of the tokens of some moments, [moments, hidden].
  using Embeddings = std::function<void(Moments moments, float* out)>;
  /// Makes the dirty gists anew, the lower level first; returns their number.
  std::int32_t refresh(const GistNet& net, const Embeddings& embeddings);

  /// [hidden] of a gist that has() and that is not dirty.
  std::span<const float> gist(TreeNode node) const;
  /// The ledger row that stands for a node: the row of a token, or of a gist with a name; -1 = none.
  LedgerId row(TreeNode node) const;
  void name(TreeNode gist, LedgerId row);
  /// A copy in columns of its own, so that another thread may change it.
  MegaContext ownCopy() const;

 private:
  struct Level {
    Column<float> gists;    // [nodes, hidden]; new nodes wait for refresh()
    Column<LedgerId> rows;  // [nodes] -1 = not named
  };
  Level& level(int n) { return m_levels[static_cast<std::size_t>(n - 1)]; }
  const Level& level(int n) const { return m_levels[static_cast<std::size_t>(n - 1)]; }
  void grow(std::int32_t before);
  void markDirty(TreeNode node);
  void children(TreeNode node, const Embeddings& embeddings, float* out) const;
  void refreshLevel(std::span<const TreeNode> nodes, const GistNet& net, const Embeddings& embeddings);
  void store(std::span<const TreeNode> nodes, const std::vector<float>& gists);

  std::int64_t m_hidden = 0;
  Column<LedgerId> m_tokens;
  std::array<Level, kTopLevel> m_levels;
  std::vector<TreeNode> m_dirty;
};

}  // namespace kvlab
