// SPDX-License-Identifier: Apache-2.0
#include "core/kinds/wlod/tree/mega_context.h"

namespace kvlab {
namespace {

constexpr std::size_t kTogether = 32;  // nodes whose gists are made by one call

/// A copy of the column with some values changed.
template <class T, class Change>
Column<T> changed(const Column<T>& column, Change change) {
  return Column<T>::make(column.size(), [&](T* values) {
    std::copy(column.begin(), column.end(), values);
    change(values);
  });
}

}  // namespace

void MegaContext::append(std::span<const LedgerId> tokens) {
  const std::int32_t before = length();
  m_tokens.append(tokens);
  grow(before);
}

/// Makes room for nodes that became complete after the time line had `before` moments.
void MegaContext::grow(std::int32_t before) {
  for (int n = 1; n <= kTopLevel; ++n) {
    const std::int32_t first = before / spanOf(n), count = nodes(n) - first;
    if (count <= 0) continue;
    level(n).rows.append(std::vector<LedgerId>(at(count), LedgerId(-1)));
    for (std::int32_t i = 0; i < count; ++i) markDirty({n, (first + i) * spanOf(n)});
  }
}

void MegaContext::markDirty(TreeNode node) {
  const auto place = std::lower_bound(m_dirty.begin(), m_dirty.end(), node);
  if (place == m_dirty.end() || *place != node) m_dirty.insert(place, node);
}

void MegaContext::replace(Moment t, LedgerId token) {
  m_tokens = changed(m_tokens, [&](LedgerId* values) { values[t.value()] = token; });
  for (int n = 1; n <= kTopLevel; ++n)
    if (const TreeNode above = TreeNode{0, t.value()}.at(n); has(above)) {
      markDirty(above);
      name(above, LedgerId(-1));  // new content gets a new ledger row
    }
}

void MegaContext::setTail(Moment begin, std::span<const LedgerId> tokens) {
  const std::int32_t before = begin.value();
  for (int n = 1; n <= kTopLevel; ++n) {
    level(n).rows = level(n).rows.prefix(at(before / spanOf(n)));
    level(n).gists = level(n).gists.prefix(at(before / spanOf(n) * m_hidden));
  }
  std::erase_if(m_dirty, [&](TreeNode node) { return node.end() > before; });
  m_tokens = m_tokens.prefix(at(before));
  m_tokens.append(tokens);
  grow(before);
}

void MegaContext::children(TreeNode node, const Embeddings& embeddings, float* out) const {
  if (node.level == 1) return embeddings(node.moments(), out);
  for (std::int32_t i = 0; i < kGistBlock; ++i) {
    const std::span<const float> child = gist(node.child(i));
    std::copy(child.begin(), child.end(), out + i * m_hidden);
  }
}

Result<std::int32_t> MegaContext::refresh(const GistNet& net, const Embeddings& embeddings) {
  const auto count = static_cast<std::int32_t>(m_dirty.size());
  auto begin = m_dirty.begin();
  for (int n = 1; n <= kTopLevel; ++n) {
    const auto end = std::find_if(begin, m_dirty.end(), [n](TreeNode node) { return node.level > n; });
    if (begin != end) KV_TRY(refreshLevel({begin, end}, net, embeddings));
    begin = end;
  }
  m_dirty.clear();
  return count;
}

Status MegaContext::refreshLevel(std::span<const TreeNode> nodes, const GistNet& net, const Embeddings& embeddings) {
  std::vector<float> made(nodes.size() * at(m_hidden)),
      from(std::min(kTogether, nodes.size()) * at(kGistBlock * m_hidden));
  for (std::size_t begin = 0; begin < nodes.size(); begin += kTogether) {
    const std::size_t n = std::min(kTogether, nodes.size() - begin);
    for (std::size_t i = 0; i < n; ++i)
      children(nodes[begin + i], embeddings, from.data() + i * at(kGistBlock * m_hidden));
    KV_TRY(
        net.gists(nodes.front().level, from.data(), static_cast<std::int64_t>(n), made.data() + begin * at(m_hidden)));
  }
  store(nodes, made);
  return ok();
}

/// Appends the gists of new nodes. A change of old gists copies the column first, because other states may share it.
void MegaContext::store(std::span<const TreeNode> nodes, const std::vector<float>& gists) {
  Column<float>& column = level(nodes.front().level).gists;
  const auto placeOf = [&](std::size_t i) { return at(nodes[i].start / nodes[i].span() * m_hidden); };
  std::size_t old = 0;
  while (old < nodes.size() && placeOf(old) < column.size()) ++old;
  if (old > 0)
    column = changed(column, [&](float* values) {
      for (std::size_t i = 0; i < old; ++i) std::copy_n(gists.data() + i * at(m_hidden), m_hidden, values + placeOf(i));
    });
  column.append(std::span(gists).subspan(old * at(m_hidden)));
}

std::span<const float> MegaContext::gist(TreeNode node) const {
  return {level(node.level).gists.data() + node.start / node.span() * m_hidden, at(m_hidden)};
}

LedgerId MegaContext::row(TreeNode node) const {
  if (node.level == 0) return token(Moment(node.start));
  return level(node.level).rows[at(node.start / node.span())];
}

void MegaContext::name(TreeNode gist, LedgerId row) {
  Level& own = level(gist.level);
  own.rows = changed(own.rows, [&](LedgerId* values) { values[gist.start / gist.span()] = row; });
}

MegaContext MegaContext::ownCopy() const {
  MegaContext copy = *this;
  copy.m_tokens = m_tokens.ownCopy();
  for (Level& one : copy.m_levels) {
    one.gists = one.gists.ownCopy();
    one.rows = one.rows.ownCopy();
  }
  return copy;
}

}  // namespace kvlab
