// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/events/event_model.h"

#include <QBrush>
#include <functional>

#include "widgets/base/event_tree.h"
#include "widgets/base/format.h"
#include "widgets/base/inspector_view.h"
#include "widgets/base/theme.h"

namespace kvlab {
namespace {
using nlohmann::json;

json named(const char* what, const std::string& name) {
  return {{"name", what}, {"ph", "M"}, {"pid", 1}, {"tid", 1}, {"args", {{"name", name}}}};
}

json complete(const std::string& name, const std::string& category, double ts, double dur, json args) {
  return {{"name", name}, {"cat", category}, {"ph", "X"}, {"ts", ts},
          {"dur", dur},   {"pid", 1},        {"tid", 1},  {"args", std::move(args)}};
}

json argsOf(const Event& event) {
  json args{{"bytes", event.bytes}};
  if (event.us > 0 && event.bytes > 0) args["GB/s"] = static_cast<double>(event.bytes) / event.us / 1e3;
  if (event.layer) args["layer"] = event.layer->value();
  if (!event.detail.empty()) args["detail"] = event.detail;
  return args;
}

std::string category(const Event& event) {
  return event.depth == 0 ? "step" : event.depth == 1 ? "action" : "operation";
}

QString toolTip(const EventNode& node) {
  QString text = QStringLiteral("%1 %2").arg(title(node.kind), node.name);
  text += QStringLiteral("\nfrom %1 for %2").arg(formatMicroseconds(node.startUs), formatMicroseconds(node.us));
  if (node.bytes) text += QStringLiteral("\n%1 moved").arg(formatBytes(node.bytes));
  if (!node.detail.isEmpty()) text += QLatin1Char('\n') + node.detail;
  return text;
}
}  // namespace

json chromeTrace(const std::vector<SnapshotPtr>& history) {
  json events = json::array();
  double now = 0;
  for (const SnapshotPtr& snapshot : history) {
    if (!snapshot || !snapshot->report) continue;
    const TickReport& report = *snapshot->report;
    const double us = tickMicroseconds(report);
    json args{{"tick", report.tick.value()}, {"ok", report.ok}, {"violations", report.violations.size()}};
    events.push_back(complete("tick " + std::to_string(report.tick.value()), "tick", now, us, std::move(args)));
    for (const Event& event : report.events)
      events.push_back(complete(event.name, category(event), now + event.startUs, event.us, argsOf(event)));
    events.push_back(
        {{"name", "length"}, {"ph", "C"}, {"ts", now + us}, {"pid", 1}, {"args", {{"positions", snapshot->length()}}}});
    now += us;
  }
  events.insert(events.begin(), {named("process_name", "kvlab"), named("thread_name", "engine")});
  return {{"traceEvents", std::move(events)}, {"displayTimeUnit", "ns"}};
}

void EventModel::setTree(EventTree tree, std::map<Layer, QString> found) {
  beginResetModel();
  m_tree = std::move(tree);
  m_found = std::move(found);
  endResetModel();
}

QString EventModel::foundIn(const EventNode& node) const {
  const auto found = node.layer ? m_found.find(*node.layer) : m_found.end();
  return found == m_found.end() ? QString() : found->second;
}

const EventNode* EventModel::node(const QModelIndex& index) const {
  return index.isValid() ? &m_tree.nodes[index.internalId()] : nullptr;
}

QModelIndex EventModel::index(int row, int column, const QModelIndex& parent) const {
  if (!hasIndex(row, column, parent)) return {};
  if (!parent.isValid()) return createIndex(0, column, quintptr{0});
  const int id = node(parent)->children[at(row)];
  return createIndex(row, column, static_cast<quintptr>(id));
}

QModelIndex EventModel::parent(const QModelIndex& index) const {
  const EventNode* child = node(index);
  if (!child || child->parent < 0) return {};
  const EventNode& above = m_tree.nodes[at(child->parent)];
  return createIndex(above.row, 0, static_cast<quintptr>(child->parent));
}

int EventModel::rowCount(const QModelIndex& parent) const {
  if (parent.column() > 0) return 0;
  if (!parent.isValid()) return m_tree.empty() ? 0 : 1;
  return static_cast<int>(node(parent)->children.size());
}

QVariant EventModel::text(const EventNode& node, int column) const {
  switch (column) {
    case Name:
      return (foundIn(node).isEmpty() ? QString() : QStringLiteral("✕ ")) + node.name +
          (node.detail.isEmpty() || node.kind == EventKind::TickNode ? QString() : QStringLiteral("  ") + node.detail);
    case Duration: return formatMicroseconds(node.us);
    case Bytes: return node.bytes ? formatBytes(node.bytes) : QString();
    case Rate: return formatRate(node.bytes, node.us);
    default: return {};
  }
}

QVariant EventModel::data(const QModelIndex& index, int role) const {
  const EventNode* shown = node(index);
  if (!shown) return {};
  switch (role) {
    case Qt::DisplayRole: return text(*shown, index.column());
    case Qt::ToolTipRole:
      return foundIn(*shown).isEmpty() ? toolTip(*shown) : toolTip(*shown) + QLatin1Char('\n') + foundIn(*shown);
    case Qt::ForegroundRole: return foundIn(*shown).isEmpty() ? QVariant() : QVariant(QBrush(Theme::current()->error));
    case Qt::AccessibleTextRole:
      return index.column() == Timeline ? QVariant(toolTip(*shown)) : text(*shown, index.column());
    case Qt::TextAlignmentRole:
      return index.column() == Name ? int(Qt::AlignLeft | Qt::AlignVCenter) : int(Qt::AlignRight | Qt::AlignVCenter);
    default: return {};
  }
}

QVariant EventModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  static const QStringList kTitles = {tr("Event"), tr("Time"), tr("Bytes"), tr("GB/s"), QString()};
  static const QStringList kTips = {
      tr("Steps of the tick, their actions, operations and layers"), tr("Wall time, including children"),
      tr("Bytes of rows that were moved or written, including children"), tr("Bytes over time")};
  if (role == Qt::DisplayRole) return kTitles.value(section);
  if (role == Qt::ToolTipRole && section < Timeline) return kTips.value(section);
  if (role == Qt::TextAlignmentRole)
    return section == Name ? int(Qt::AlignLeft | Qt::AlignVCenter) : int(Qt::AlignRight | Qt::AlignVCenter);
  return {};
}

QString EventModel::tsv(const QModelIndexList& chosen) const {
  QStringList head;
  for (int column = 0; column < kColumns; ++column)
    head << headerData(column, Qt::Horizontal, Qt::DisplayRole).toString();
  QString out = tsvLine(head);
  const std::function<void(const QModelIndex&, const QString&)> add = [&](const QModelIndex& at,
                                                                          const QString& indent) {
    QStringList cells{indent + at.data().toString()};
    for (int column = 1; column < kColumns; ++column) cells << at.siblingAtColumn(column).data().toString();
    if (chosen.isEmpty() || chosen.contains(at)) out += tsvLine(cells);
    for (int row = 0; row < rowCount(at); ++row) add(index(row, 0, at), indent + QStringLiteral("  "));
  };
  if (rowCount() > 0) add(index(0, 0), {});
  return out;
}

}  // namespace kvlab
