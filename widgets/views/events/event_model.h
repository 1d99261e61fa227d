// SPDX-License-Identifier: GPL-3.0-or-later
// The event tree as an item model. Columns: event, time, bytes, rate, timeline (TimelineDelegate paints it from the
// roles below). GUI thread.
#pragma once
#include <QAbstractItemModel>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/api/snapshot.h"
#include "widgets/base/event_tree.h"

namespace kvlab {

class EventModel : public QAbstractItemModel {
  Q_OBJECT
 public:
  enum Column { Name, Duration, Bytes, Rate, Timeline, kColumns };

  using QAbstractItemModel::QAbstractItemModel;
  /// found: the findings of checks in layers of the model, a text each.
  void setTree(EventTree tree, std::map<Layer, QString> found = {});
  const EventTree& tree() const { return m_tree; }
  const EventNode* node(const QModelIndex& index) const;
  /// A header line and the chosen lines, all if none is chosen; children are indented by two spaces.
  QString tsv(const QModelIndexList& chosen = {}) const;

  QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
  QModelIndex parent(const QModelIndex& index) const override;
  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& = {}) const override { return kColumns; }
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  QVariant text(const EventNode& node, int column) const;
  QString foundIn(const EventNode& node) const;

  EventTree m_tree;
  std::map<Layer, QString> m_found;
};

/// The reports of ticks as a Chrome trace for chrome://tracing and ui.perfetto.dev. Any thread. Format: "Trace Event
/// Format", JSON object form; times in microseconds. Complete ("X") events of every report, tick after tick on one
/// track, and a counter track for the length of the context. Snapshots without a report are skipped.
nlohmann::json chromeTrace(const std::vector<SnapshotPtr>& history);

}  // namespace kvlab
