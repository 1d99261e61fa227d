// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/event_tree.h"

#include <algorithm>
#include <array>

namespace kvlab {
namespace {
EventKind kindAt(int depth) {
  return depth <= 0 ? EventKind::StepNode : depth == 1 ? EventKind::ActionNode : EventKind::OperationNode;
}

class Builder {
 public:
  explicit Builder(const TickReport& report) : m_report(report) {
    EventNode root;
    root.name = QStringLiteral("tick %1").arg(report.tick.value());
    if (!report.ok) root.detail = QString::fromStdString(report.error ? report.error->text() : "");
    m_tree.nodes.push_back(std::move(root));
  }

  EventTree build() {
    for (const Event& event : m_report.events) take(event);
    EventNode& root = m_tree.nodes.front();
    root.us = m_tree.endUs;
    root.bytes = tickBytes(m_report);
    return std::move(m_tree);
  }

 private:
  int append(int parent, EventNode node) {
    const int id = static_cast<int>(m_tree.nodes.size());
    auto& siblings = m_tree.nodes[at(parent)].children;
    node.parent = parent;
    node.row = static_cast<int>(siblings.size());
    siblings.push_back(id);
    m_tree.nodes.push_back(std::move(node));
    return id;
  }

  /// The sibling that groups per-layer events of this name; made for the first event.
  int groupOf(int parent, const EventNode& node) {
    for (const int child : m_tree.nodes[at(parent)].children) {
      const EventNode& other = m_tree.nodes[at(child)];
      if (other.name == node.name && other.kind == node.kind && !other.layer) return child;
    }
    EventNode group = node;
    group.layer.reset();
    group.us = 0;
    group.bytes = 0;
    group.detail.clear();
    return append(parent, std::move(group));
  }

  void take(const Event& event) {
    m_tree.endUs = std::max(m_tree.endUs, event.startUs + event.us);
    EventNode node{kindAt(event.depth),
                   QString::fromStdString(event.name),
                   QString::fromStdString(event.detail),
                   event.layer,
                   event.startUs,
                   event.us,
                   event.bytes};
    while (!m_open.empty() && m_open.back().first >= event.depth) m_open.pop_back();
    const int parent = m_open.empty() ? 0 : m_open.back().second;
    if (event.layer && event.depth > 0) {
      const int group = groupOf(parent, node);
      EventNode& gathered = m_tree.nodes[at(group)];
      gathered.us += node.us;
      gathered.bytes += node.bytes;
      node.kind = EventKind::LayerNode;
      node.name = QStringLiteral("layer %1").arg(event.layer->value());
      m_open.emplace_back(event.depth, append(group, std::move(node)));
    } else {
      m_open.emplace_back(event.depth, append(parent, std::move(node)));
    }
  }

  const TickReport& m_report;
  EventTree m_tree;
  std::vector<std::pair<int, int>> m_open;  // depth and node of open ancestors, outermost first
};
}  // namespace

QString title(EventKind kind) {
  static constexpr std::array kTitles = {"tick", "step", "action", "operation", "layer"};
  return QLatin1String(kTitles[static_cast<std::size_t>(kind)]);
}

EventTree EventTree::of(const TickReport& report) { return Builder(report).build(); }

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
