// SPDX-License-Identifier: GPL-3.0-or-later
// A tick's report as a tree: tick -> step -> action -> operation -> layer. Operations that ran once per layer become
// one node with a child per layer. Values; any thread.
#pragma once
#include <QString>
#include <optional>
#include <vector>

#include "core/api/report.h"

namespace kvlab {

enum class EventKind { TickNode, StepNode, ActionNode, OperationNode, LayerNode };
QString title(EventKind kind);

struct EventNode {
  EventKind kind = EventKind::TickNode;
  QString name, detail;
  std::optional<Layer> layer = {};
  double startUs = 0, us = 0;  // since the start of the tick; for a group its first start and its sum
  qint64 bytes = 0;
  int parent = -1, row = 0;
  std::vector<int> children = {};
};

/// Nodes in depth-first order; node 0 is the tick.
struct EventTree {
  std::vector<EventNode> nodes;
  double endUs = 0;  // latest end of any event

  bool empty() const { return nodes.empty(); }
  static EventTree of(const TickReport& report);
};

/// Duration of the whole tick in microseconds: latest end of any event.
double tickMicroseconds(const TickReport& report);
/// Bytes moved by the steps of the tick; by their actions if steps have none.
qint64 tickBytes(const TickReport& report);

}  // namespace kvlab
