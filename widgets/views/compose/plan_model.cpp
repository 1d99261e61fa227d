// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/compose/plan_model.h"

#include "widgets/base/format.h"
#include "widgets/base/token_text.h"

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
  if (value.is_number_integer()) values.push_back(value.get<std::int64_t>());
  if (value.is_array())
    for (const json& one : value)
      if (one.is_number_integer()) values.push_back(one.get<std::int64_t>());
  return ranges(std::move(values));
}

struct Describe {
  const Snapshot& snapshot;

  QString texts(const std::vector<Position>& positions) const {
    QString text;
    for (std::size_t i = 0; i < positions.size(); ++i) {
      if (i > 0 && positions[i].value() != positions[i - 1].value() + 1) text += QStringLiteral(" … ");
      text += textAt(snapshot, positions[i]);
    }
    return text;
  }
  PlanLine operator()(const ReplacePair& a) const {
    return line("replace pair", {a.originalPos1, a.originalPos2}, a.newTokenIds);
  }
  PlanLine operator()(const Replace& a) const { return line("replace", a.positions, a.newTokenIds); }
  PlanLine operator()(const Delete& a) const { return line("delete", {a.position}, {}); }
  PlanLine operator()(const Add& a) const {
    return {QStringLiteral("add"), QStringLiteral("end"), {}, textOf(snapshot, a.tokenId), {}, {}, {}};
  }
  PlanLine operator()(const Insert& a) const {
    const QString where = a.position.value() == snapshot.length() ? QStringLiteral("end")
                                                                  : QStringLiteral("before %1").arg(a.position.value());
    return {QStringLiteral("insert"), where, {}, textOf(snapshot, a.tokenIds), {}, {}, {}};
  }
  PlanLine operator()(const Evict& a) const {
    QString where = QStringLiteral("layer %1").arg(a.layer.value());
    if (a.kvHead) where += QStringLiteral(", KV head %1").arg(a.kvHead->value());
    where += QStringLiteral(": ledger ") + ranges(numbers(a.ledger));
    QString text;
    for (LedgerId id : a.ledger)
      if (snapshot.ledger.contains(id)) text += textOf(snapshot, snapshot.ledger[id].token);
    return {QStringLiteral("evict"), where, text, {}, {}, {}, {}};
  }
  PlanLine operator()(const Expand& a) const {
    return {QStringLiteral("expand"), QStringLiteral("node %1").arg(a.node.value()), {}, {}, {}, {}, {}};
  }
  PlanLine operator()(const Collapse& a) const {
    return {QStringLiteral("collapse"), QStringLiteral("node %1").arg(a.node.value()), {}, {}, {}, {}, {}};
  }

 private:
  PlanLine line(const char* kind, const std::vector<Position>& positions, const std::vector<TokenId>& tokens) const {
    return {QLatin1String(kind), ranges(numbers(positions)), texts(positions), textOf(snapshot, tokens), {}, {}, {}};
  }
};
PlanLine lineOf(const json& element, int place, const Snapshot& snapshot) {
  const Result<Action> action = actionFromJson(element, place);
  if (action) return describe(*action, snapshot);
  PlanLine line;
  const bool named = element.is_object() && element.contains("action") && element["action"].is_string();
  line.action = named ? QString::fromStdString(element["action"].get<std::string>()) : QStringLiteral("?");
  line.where = QString::fromStdString(action.error().why);
  line.error = QString::fromStdString(action.error().text());
  return line;
}
}  // namespace

PlanLine describe(const Action& action, const Snapshot& snapshot) { return std::visit(Describe{snapshot}, action); }

QString PlanFigures::text() const {
  QStringList parts{
      QStringLiteral("%1 → %2 positions").arg(lengthBefore).arg(lengthAfter),
      counted(newRows, QStringLiteral("new row"), QStringLiteral("new rows")),
      QStringLiteral("%1 stale").arg(counted(stale, QStringLiteral("row goes"), QStringLiteral("rows go"))),
      QStringLiteral("%1 shifted").arg(counted(phaseShifted, QStringLiteral("phase"), QStringLiteral("phases"))),
      QStringLiteral("%1 to move").arg(formatBytes(bytes))};
  return parts.join(QStringLiteral("  ·  "));
}

PlanModel::PlanModel(Of of, QObject* parent) : LineModel(parent) {
  using Line = const PlanLine&;
  const bool planned = of == Of::Draft;
  add("place", tr("#"), tr("Index in the list"), {"10", planned ? 2 : 0}, [](Line line) {
    return (line.error.isEmpty() ? QString() : QStringLiteral("✗ ")) + QString::number(line.place);
  }).in(Tone::Faint);
  add("action", tr("Action"), tr("What it does"), "replace pair", [](Line line) { return line.action; }).words();
  add("where", tr("Where"), tr("Positions before the edit"), "before 10", [](Line line) {
    return line.where;
  }).in(Tone::Muted);
  add("removes", tr("Removes"), tr("Tokens that leave the context"), "xxxx", [](Line line) {
    return line.before;
  }).in(Tone::Ghost);
  add("writes", tr("Writes"), tr("New tokens"), "xxxx", [](Line line) { return line.after; }).in(Tone::Accent);
  withLines(kBadRole, [](Line line) { return !line.error.isEmpty(); });
  withLines(Qt::ToolTipRole, [](Line line) { return line.error.isEmpty() ? QVariant() : QVariant(line.error); });
  if (!planned) return;
  add("lands_at", tr("Lands at"), tr("Position after the edit"), {"1000", 3},
      [](Line line) { return line.finalPosition; });
  add("new_ledger", tr("New ledger"), tr("Ledger ids of the new tokens"), {"100", 1},
      [](Line line) { return line.newLedger; });
}

void PlanModel::take(std::vector<PlanLine> given, const SnapshotPtr& snapshot) {
  m_figures.reset();
  m_length = snapshot ? snapshot->length() : 0;
  for (std::size_t i = 0; i < given.size(); ++i) given[i].place = static_cast<int>(i);
  replace(std::move(given));
}

void PlanModel::setActions(const std::vector<Action>& actions, const SnapshotPtr& snapshot) {
  std::vector<PlanLine> given;
  if (snapshot)
    for (const Action& action : actions) given.push_back(describe(action, *snapshot));
  take(std::move(given), snapshot);
}

void PlanModel::setList(const json& list, const SnapshotPtr& snapshot) {
  std::vector<PlanLine> given;
  for (std::size_t i = 0; snapshot && list.is_array() && i < list.size(); ++i)
    given.push_back(lineOf(list[i], static_cast<int>(i), *snapshot));
  take(std::move(given), snapshot);
}

void PlanModel::setPlan(const json& answer) {
  PlanFigures figures;
  figures.lengthBefore = m_length;
  figures.lengthAfter = answer.value("lengthAfter", m_length);
  figures.stale = answer.value("stale", 0);
  figures.phaseShifted = answer.value("phaseShifted", 0);
  figures.newRows = answer.value("newRows", 0);
  figures.bytes = answer.value("bytes", std::int64_t{0});
  const json planned = answer.value("actions", json::array());
  for (std::size_t i = 0; i < planned.size(); ++i) {
    if (!planned[i].contains("finalPosition")) continue;  // an eviction has no final position
    const auto place = static_cast<std::size_t>(planned[i].value("place", static_cast<int>(i)));
    if (place >= m_lines.size()) continue;
    m_lines[place].finalPosition = rangesOf(planned[i].value("finalPosition", json()));
    m_lines[place].newLedger = rangesOf(planned[i].value("newLedger", json()));
    m_lines[place].error.clear();
  }
  m_figures = figures;
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
