// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/wlod_tree.h"

#include <QCoreApplication>
#include <QStringList>
#include <algorithm>
#include <cmath>

#include "widgets/base/format.h"
#include "widgets/base/tokens.h"

namespace kvlab {
namespace {
QString say(const char* text) { return QCoreApplication::translate("kvlab::WlodTree", text); }
QString said(TreeNode node) { return QString::fromStdString(node.text()); }

/// Order of arrival: ascending ends, finer levels first.
bool arrivesBefore(TreeNode a, TreeNode b) { return a.end() != b.end() ? a.end() < b.end() : a.level < b.level; }
}  // namespace

QString levelText(int level) { return level == 0 ? say("tokens") : QStringLiteral("LOD%1").arg(level); }

QString whyText(DirtyWhy why, bool layer0) {
  const QString text = why == DirtyWhy::Both ? say("hierarchical and temporal") : QString::fromUtf8(name(why));
  return layer0 ? say("%1, layer 0 kept").arg(text) : text;
}

WlodTree::WlodTree(SnapshotPtr snapshot) : m_snapshot(std::move(snapshot)), m_findings(*m_snapshot) {
  const WlodChange* change = view().change.get();
  std::size_t known = 0;
  std::int32_t position = 0;
  for (const WlodRow& row : view().rows) {
    while (change && known < change->nodes.size() && arrivesBefore(change->nodes[known], row.node)) ++known;
    const bool same = change && known < change->nodes.size() && change->nodes[known] == row.node;
    place(row, row.entry ? position : -1, same ? change->why[known] : DirtyWhy::Clean,
          same && change->layer0[known] && !change->full);
    position += row.entry;
  }
  for (auto& level : m_rows) std::ranges::sort(level, {}, [](const TreeRow& row) { return row.node.start; });
  for (const float mass : view().mass)
    if (std::isfinite(mass)) m_mostMass = std::max(m_mostMass, mass);
  m_anyCooling = std::ranges::any_of(view().cooling, [](std::int32_t rounds) { return rounds > 0; });
}

void WlodTree::place(const WlodRow& row, std::int32_t position, DirtyWhy why, bool layer0) {
  if (row.node.level < 0 || row.node.level > kTopLevel) return;
  m_rows[row.node.level].push_back({row.node, position, why, layer0});
  (row.entry ? m_entriesOf[row.node.level] : m_summaries)++;
}

std::int32_t WlodTree::entryAt(std::int32_t moment) const {
  if (moment < 0 || moment >= moments()) return -1;
  const auto after = std::ranges::upper_bound(view().entries, moment, {}, &TreeNode::start);
  return static_cast<std::int32_t>(after - view().entries.begin()) - 1;
}

std::optional<TreeNode> WlodTree::nodeAt(int level, std::int32_t moment) const {
  if (level < 0 || level > kTopLevel || moment < 0) return {};
  const TreeNode node = TreeNode{0, moment}.at(level);
  return has(node) ? std::optional(node) : std::nullopt;
}

NodePlace WlodTree::place(TreeNode node) const {
  const std::int32_t position = has(node) ? entryAt(node.start) : -1;
  if (position < 0) return NodePlace::Incomplete;
  if (entry(position) == node) return NodePlace::Entry;
  return entry(position).level < node.level ? NodePlace::Above : NodePlace::Below;
}

std::int32_t WlodTree::positionOf(TreeNode node) const {
  return place(node) == NodePlace::Entry ? entryAt(node.start) : -1;
}

const TreeRow* WlodTree::rowOf(TreeNode node) const {
  if (!has(node)) return nullptr;
  const auto& all = rows(node.level);
  const auto found = std::ranges::lower_bound(all, node.start, {}, [](const TreeRow& row) { return row.node.start; });
  return found != all.end() && found->node == node ? &*found : nullptr;
}

TreeEdit WlodTree::expansion(TreeNode node) const {
  const std::int32_t position = entryAt(node.start);
  if (position < 0 || !has(node))
    return {true, node, say("%1 is not complete: the time line ends at %2").arg(said(node)).arg(moments())};
  const TreeNode target = entry(position);
  if (target.level < node.level)
    return {true, node, say("%1 is no entry: finer ones stand there already").arg(said(node))};
  if (target.level == 0) return {true, target, say("%1 is an entry already, and has no children").arg(said(target))};
  if (const std::int32_t rounds = cooling(position))
    return {true, target,
            say("%1 cools down: %2 until it may be edited")
                .arg(said(target), counted(rounds, say("more round"), say("more rounds")))};
  return {true, target, {}};
}

bool WlodTree::roomToExpand() const { return entries() + kGistBlock - 1 <= view().budget; }

QString WlodTree::whyNotCollapse(TreeNode node) const {
  if (node.level > kTopLevel) return say("LOD%1 is the coarsest level").arg(kTopLevel);
  if (!has(node)) return say("the block %1 is not complete: the time line ends at %2").arg(said(node)).arg(moments());
  const std::int32_t first = entryAt(node.start);
  for (std::int32_t i = 0; i < kGistBlock; ++i)
    if (first + i >= entries() || entry(first + i) != node.child(i))
      return say("not all 32 children of %1 are entries: %2 is not").arg(said(node), said(node.child(i)));
  if (node.end() > view().protectedFrom)
    return say("%1 reaches into the protected tail, which begins at %2").arg(said(node)).arg(view().protectedFrom);
  for (std::int32_t i = 0; i < kGistBlock; ++i)
    if (const std::int32_t rounds = cooling(first + i))
      return say("%1 cools down: %2 until it may be edited")
          .arg(said(node.child(i)), counted(rounds, say("more round"), say("more rounds")));
  return {};
}

TreeEdit WlodTree::collapse(TreeNode node) const {
  const std::int32_t position = entryAt(node.start);
  if (position < 0 || !has(node))
    return {false, node, say("%1 is not complete: the time line ends at %2").arg(said(node)).arg(moments())};
  const TreeNode standing = entry(position);
  const TreeNode target = standing.level < node.level ? node
      : standing.level < kTopLevel                    ? standing.at(standing.level + 1)
                                                      : TreeNode{kTopLevel + 1, standing.start};
  return {false, target, whyNotCollapse(target)};
}

TreeEdit WlodTree::towards(TreeNode node) const {
  const std::int32_t position = entryAt(node.start);
  const bool collapses = position >= 0 && (entry(position).level < node.level || entry(position).level == 0);
  return collapses ? collapse(node) : expansion(node);
}

QString WlodTree::text(TreeNode node, int most) const {
  QString out;
  for (std::int32_t t = node.start; t < std::min(node.end(), moments()) && at(t) < view().tokens.size(); ++t) {
    out += rawText(snapshot(), view().tokens[at(t)]);
    if (out.size() > most + 1) break;
  }
  out = out.trimmed().replace('\n', QChar(0x21B5)).replace('\t', QChar(0x2192));
  return out.size() > most ? out.left(most) + QChar(0x2026) : out;
}

QStringList WlodTree::facts(TreeNode node) const {
  QStringList out{said(node)};
  const std::int32_t position = positionOf(node);
  const TreeRow* row = rowOf(node);
  if (position >= 0) out << say("entry %1").arg(position);
  else if (row) out << say("summary beside the context");
  else
    out << (place(node) == NodePlace::Above
                ? say("in the tree, finer entries stand for it")
                : say("in the tree, behind %1").arg(said(entry(std::max(0, entryAt(node.start))))));
  if (node.level > 0) out << say("%1 moments").arg(node.span());
  out << say("phase %1").arg(node.phase());
  LedgerId ledger(-1);
  if (position >= 0 && position < snapshot().length()) ledger = snapshot().context[at(position)];
  else if (node.level == 0 && at(node.start) < view().tokens.size()) ledger = view().tokens[at(node.start)];
  if (ledger.value() >= 0) out << say("ledger %1").arg(ledger.value());
  if (m_findings.of(ledger)) out << m_findings.text(ledger);
  if (const float value = score(position); !std::isnan(value))
    out << say("score %1%2")
               .arg(value > 0 ? QStringLiteral("+") : QString())
               .arg(static_cast<double>(value), 0, 'f', 2);
  if (const float value = mass(position); !std::isnan(value))
    out << say("attention %1").arg(static_cast<double>(value), 0, 'g', 2);
  if (row && view().change) out << whyText(row->why, row->layer0);
  if (const std::int32_t rounds = cooling(position))
    out << say("cools %1").arg(counted(rounds, say("round"), say("rounds")));
  if (node.end() > view().protectedFrom) out << say("protected tail");
  if (view().draft && view().draft->overlaps(node.moments())) out << say("draft");
  return out;
}

QStringList WlodTree::runs() const {
  QStringList out;
  for (std::int32_t i = 0; i < entries();) {
    const TreeRow* first = rowOf(entry(i));
    const std::int32_t begin = i, rounds = cooling(i);
    for (++i; i < entries() && entry(i).level == entry(begin).level && cooling(i) == rounds; ++i) {
      const TreeRow* next = rowOf(entry(i));
      if (!first || !next || next->why != first->why || next->layer0 != first->layer0) break;
    }
    QString line = say("%1 [%2, %3)   %4")
                       .arg(levelText(entry(begin).level))
                       .arg(entry(begin).start)
                       .arg(entry(i - 1).end())
                       .arg(counted(i - begin, say("entry"), say("entries")));
    if (first && view().change) line += QStringLiteral(", ") + whyText(first->why, first->layer0);
    if (rounds) line += say(", cools %1").arg(counted(rounds, say("round"), say("rounds")));
    out << line;
  }
  return out;
}

}  // namespace kvlab
