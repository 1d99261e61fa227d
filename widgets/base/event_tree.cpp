// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/event_tree.h"

#include <algorithm>
#include <array>

namespace kvlab {
namespace {
EventKind kindAt(int depth) {
  return depth <= 0 ? EventKind::StepNode : depth == 1 ? EventKind::ActionNode : EventKind::OperationNode;
}

int append(EventTree& tree, int parent, EventNode node) {
  const int id = static_cast<int>(tree.nodes.size());
  auto& siblings = tree.nodes[at(parent)].children;
  node.parent = parent;
  node.row = static_cast<int>(siblings.size());
  siblings.push_back(id);
  tree.nodes.push_back(std::move(node));
  return id;
}

/// The sibling that groups per-layer events of this name; made for the first event.
int groupOf(EventTree& tree, int parent, const EventNode& node) {
  for (const int child : tree.nodes[at(parent)].children) {
    const EventNode& other = tree.nodes[at(child)];
    if (other.name == node.name && other.kind == node.kind && !other.layer) return child;
  }
  EventNode group = node;
  group.layer.reset();
  group.us = 0;
  group.bytes = 0;
  group.detail.clear();
  return append(tree, parent, std::move(group));
}

/// open: depth and node of open ancestors, outermost first.
void take(EventTree& tree, std::vector<std::pair<int, int>>& open, const Event& event) {
  EventNode node{kindAt(event.depth),
                 QString::fromStdString(event.name),
                 QString::fromStdString(event.detail),
                 event.layer,
                 event.startUs,
                 event.us,
                 event.bytes};
  while (!open.empty() && open.back().first >= event.depth) open.pop_back();
  int parent = open.empty() ? 0 : open.back().second;
  if (event.layer && event.depth > 0) {
    parent = groupOf(tree, parent, node);
    tree.nodes[at(parent)].us += node.us;
    tree.nodes[at(parent)].bytes += node.bytes;
    node.kind = EventKind::LayerNode;
    node.name = QStringLiteral("layer %1").arg(event.layer->value());
  }
  open.emplace_back(event.depth, append(tree, parent, std::move(node)));
}
}  // namespace

QString title(EventKind kind) {
  static constexpr std::array kTitles = {"tick", "step", "action", "operation", "layer"};
  return QLatin1String(kTitles[static_cast<std::size_t>(kind)]);
}

EventTree EventTree::of(const TickReport& report) {
  EventTree tree;
  EventNode& root = tree.nodes.emplace_back();
  root.name = QStringLiteral("tick %1").arg(report.tick.value());
  if (!report.ok) root.detail = QString::fromStdString(report.error ? report.error->text() : "");
  root.us = tree.endUs = tickMicroseconds(report);
  root.bytes = tickBytes(report);
  std::vector<std::pair<int, int>> open;
  for (const Event& event : report.events) take(tree, open, event);
  return tree;
}

double tickMicroseconds(const TickReport& report) {
  double end = 0;
  for (const Event& event : report.events) end = std::max(end, event.startUs + event.us);
  return end;
}

qint64 tickBytes(const TickReport& report) {
  std::array<qint64, 3> sums{};
  for (const Event& event : report.events)
    if (event.depth >= 0 && event.depth < 3) sums[at(event.depth)] += event.bytes;
  return sums[0] ? sums[0] : sums[1] ? sums[1] : sums[2];
}

}  // namespace kvlab
