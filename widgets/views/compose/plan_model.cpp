// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/compose/plan_model.h"

#include "core/api/read_json.h"
#include "core/api/tree_node.h"
#include "widgets/base/format.h"
#include "widgets/base/tokens.h"

namespace kvlab {
namespace {
using nlohmann::json;

template <class Id>
std::vector<std::int64_t> numbers(const std::vector<Id>& ids) {
  std::vector<std::int64_t> values;
  for (Id id : ids) values.push_back(id.value());
  return values;
}

QString rangesOf(const json& value) {
  std::vector<std::int64_t> values;
  if (value.is_number_integer()) values.push_back(jsonOr(value, std::int64_t{0}));
  if (value.is_array())
    for (const json& one : value)
      if (one.is_number_integer()) values.push_back(jsonOr(one, std::int64_t{0}));
  return ranges(std::move(values));
}

struct Describe {
  const Snapshot& snapshot;

  QString quoted(const QString& text) const { return QStringLiteral("“%1”").arg(text); }
  QString texts(const std::vector<TokenId>& ids) const { return quoted(textOf(snapshot, ids)); }
  QString texts(const std::vector<Position>& positions) const {
    QString text;
    for (std::size_t i = 0; i < positions.size(); ++i) {
      if (i > 0 && positions[i].value() != positions[i - 1].value() + 1) text += QStringLiteral(" … ");
      text += textAt(snapshot, positions[i]);
    }
    return quoted(text);
  }
  QString texts(const std::vector<LedgerId>& rows) const {
    QString text;
    for (LedgerId id : rows)
      if (snapshot.ledger.contains(id)) text += textOf(snapshot, snapshot.ledger[id].token);
    return quoted(text);
  }
  QString placeOf(Position position) const {
    return position.value() == snapshot.length() ? QStringLiteral("end")
                                                 : QStringLiteral("before %1").arg(position.value());
  }
  PlanLine operator()(const ReplacePair& a) const {
    const std::vector<Position> pair{a.originalPos1, a.originalPos2};
    return line("Replace the pair " + texts(pair) + " by " + texts(a.newTokenIds), ranges(numbers(pair)));
  }
  PlanLine operator()(const Replace& a) const {
    return line("Replace " + texts(a.positions) + " by " + texts(a.newTokenIds), ranges(numbers(a.positions)));
  }
  PlanLine operator()(const Delete& a) const {
    return line("Delete " + texts(std::vector{a.position}), QString::number(a.position.value()));
  }
  PlanLine operator()(const Add& a) const {
    return line("Add " + texts(std::vector{a.tokenId}) + " at the end", "end");
  }
  PlanLine operator()(const Insert& a) const {
    const bool end = a.position.value() == snapshot.length();
    return line("Insert " + texts(a.tokenIds) + (end ? " at the end" : " before " + texts(std::vector{a.position})),
                placeOf(a.position));
  }
  PlanLine operator()(const Evict& a) const {
    const QString head = a.kvHead ? QStringLiteral(", KV head %1").arg(a.kvHead->value()) : QString();
    return line(QStringLiteral("Evict %1 from layer %2").arg(texts(a.ledger)).arg(a.layer.value()) + head,
                "ledger " + ranges(numbers(a.ledger)));
  }
  PlanLine operator()(const Expand& a) const { return line("Expand " + node(a.node), nodeNumber(a.node)); }
  PlanLine operator()(const Collapse& a) const { return line("Collapse " + node(a.node), nodeNumber(a.node)); }

 private:
  static PlanLine line(const QString& what, const QString& where) { return {what, where, {}, {}, {}}; }
  static QString node(NodeId id) { return QString::fromStdString(TreeNode::of(id).text()); }
  static QString nodeNumber(NodeId id) { return QStringLiteral("node %1").arg(id.value()); }
};

PlanLine lineOf(const json& element, int place, const Snapshot& snapshot) {
  const Result<Action> action = actionFromJson(element, place);
  if (action) return std::visit(Describe{snapshot}, *action);
  PlanLine line;
  line.what = QString::fromStdString(memberOr(element, "action", std::string("?")));
  line.where = QString::fromStdString(action.error().why);
  line.error = QString::fromStdString(action.error().text());
  return line;
}
}  // namespace

QString PlanFigures::text() const {
  QStringList parts{
      QStringLiteral("%1 → %2 positions").arg(lengthBefore).arg(lengthAfter),
      counted(newRows, QStringLiteral("new row"), QStringLiteral("new rows")),
      QStringLiteral("%1 stale").arg(counted(stale, QStringLiteral("row goes"), QStringLiteral("rows go"))),
      QStringLiteral("%1 shifted").arg(counted(phaseShifted, QStringLiteral("phase"), QStringLiteral("phases"))),
      QStringLiteral("%1 to move").arg(formatBytes(bytes))};
  return parts.join(QStringLiteral("  ·  "));
}

PlanModel::PlanModel(QObject* parent) : LineModel(parent) {
  using Line = const PlanLine&;
  add("place", tr("#"), tr("Index in the list"), {"10", 2}, [](Line line) {
    return (line.error.isEmpty() ? QString() : QStringLiteral("✗ ")) + QString::number(line.place);
  }).in(Tone::Faint);
  add("what", tr("Action"), tr("What it does"), "Replace xxxx", [](Line line) { return line.what; }).words();
  add("where", tr("Where"), tr("Positions or ledger ids before the edit"), {"ledger 100–102", 4}, [](Line line) {
    return line.where;
  }).in(Tone::Muted);
  withLines(kBadRole, [](Line line) { return !line.error.isEmpty(); });
  withLines(Qt::ToolTipRole, [](Line line) { return QVariant(line.error.isEmpty() ? line.what : line.error); });
  add("lands_at", tr("Lands at"), tr("Position after the edit"), {"1000", 3},
      [](Line line) { return line.finalPosition; });
  add("new_ledger", tr("New ledger"), tr("Ledger ids of the new tokens"), {"100", 1},
      [](Line line) { return line.newLedger; });
}

void PlanModel::setList(const json& list, const SnapshotPtr& snapshot) {
  std::vector<PlanLine> given;
  for (std::size_t i = 0; snapshot && list.is_array() && i < list.size(); ++i) {
    given.push_back(lineOf(list[i], static_cast<int>(i), *snapshot));
    given.back().place = static_cast<int>(i);
  }
  m_figures.reset();
  m_length = snapshot ? snapshot->length() : 0;
  replace(std::move(given));
}

void PlanModel::setPlan(const json& answer) {
  PlanFigures figures;
  figures.lengthBefore = m_length;
  figures.lengthAfter = memberOr(answer, "lengthAfter", m_length);
  figures.stale = memberOr(answer, "stale", 0);
  figures.phaseShifted = memberOr(answer, "phaseShifted", 0);
  figures.newRows = memberOr(answer, "newRows", 0);
  figures.bytes = memberOr(answer, "bytes", std::int64_t{0});
  std::size_t next = 0;
  for (const json& one : member(answer, "actions")) {
    const std::size_t place = memberOr(one, "place", next++);
    if (!one.contains("finalPosition") || place >= m_lines.size()) continue;  // an eviction has no final position
    m_lines[place].finalPosition = rangesOf(member(one, "finalPosition"));
    m_lines[place].newLedger = rangesOf(member(one, "newLedger"));
    m_lines[place].error.clear();
  }
  m_figures = figures;
  changed();
}

void PlanModel::setPlan(const PlanView& plan) {
  for (const PlannedAction& edit : plan.edits) {
    const auto place = static_cast<std::size_t>(edit.place);
    if (place >= m_lines.size()) continue;
    m_lines[place].finalPosition = QString::number(edit.finalPosition.value());
    m_lines[place].newLedger = ranges(numbers(edit.newLedger));
  }
  m_figures = {plan.lengthBefore, plan.lengthAfter, plan.staleRows, plan.phaseShifted, plan.newRows, plan.bytes};
  changed();
}

void PlanModel::setError(const Error& error) {
  m_figures.reset();
  for (PlanLine& line : m_lines) line.error.clear();
  const auto place = static_cast<std::size_t>(error.action.value_or(-1));
  if (error.action && place < m_lines.size()) m_lines[place].error = QString::fromStdString(error.text());
  changed();
}

}  // namespace kvlab
