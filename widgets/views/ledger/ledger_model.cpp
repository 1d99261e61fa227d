// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/ledger/ledger_model.h"

#include <algorithm>
#include <cmath>

#include "widgets/base/format.h"
#include "widgets/base/inspector_view.h"
#include "widgets/canvas/colour_map.h"

namespace kvlab {
namespace {

QString idList(const std::vector<LedgerId>& ids) {
  QStringList out;
  for (LedgerId id : ids) out << QString::number(id.value());
  return out.join(' ');
}

Tone toneOf(RowState state) {
  switch (state) {
    case RowState::Live: return Tone::Muted;
    case RowState::Aborted: return Tone::Error;
    case RowState::Evicted:
    case RowState::LeftWindow:
    case RowState::Collapsed: return Tone::Accent;
    default: return Tone::Warning;
  }
}

QChar signOf(RowState state) {
  static constexpr char16_t kSigns[] = {u'●', u'↻', u'✕', u'○', u'▾', u'!', u'○'};
  return QChar(kSigns[static_cast<std::size_t>(state)]);
}

Tone lineTone(LedgerLine line) { return line.position < 0 ? Tone::Ghost : Tone::Muted; }
}  // namespace

LedgerModel::LedgerModel(QObject* parent) : ColumnModel(parent) {
  const auto number = [](std::int64_t value) { return QString::number(value); };
  addNumber("ledger", tr("ledger"), tr("Ledger id"), {}, [=](LedgerLine line) { return number(line.id.value()); });
  addNumber("position", tr("position"), tr("Position in the context; empty for tokens that have left it"), {{}, 7},
            [=](LedgerLine line) { return line.position >= 0 ? number(line.position) : QString(); });
  add("token", tr("token"), tr("Text of the token"), "boathouse.", [this](LedgerLine line) {
    return line.row.kind == RowKind::Gist ? tr("gist") : tokenText(*m_snapshot->info, line.row.token);
  }).toned([](LedgerLine line) { return line.position < 0 ? Tone::Ghost : Tone::Normal; });
  add("state", tr("state"), tr("State of the row"), "collapsed.",
      [this](LedgerLine line) {
        const QString state = wordOf(name(line.row.state)) + (line.row.pinned ? tr(", pinned") : QString());
        if (m_findings.of(line.id))
          return state == QLatin1String("live") ? tr("✕ wrong") : tr("✕ wrong, %1").arg(state);
        return signOf(line.row.state) + QStringLiteral(" ") + state;
      })
      .words()
      .toned([this](LedgerLine line) {
        if (m_findings.of(line.id)) return Tone::Error;
        return line.row.state == RowState::Live ? lineTone(line) : toneOf(line.row.state);
      });
  addNumber("bright", tr("bright"), tr("Brightness, 0 to 255; for tokens that have left the context, their last one"),
            {"255", 6}, [this](LedgerLine line) {
              const std::optional<float> value = brightnessOf(line.id);
              return value ? valueText(Quantity::Brightness, std::round(*value)) : QString();
            });
  add("source", tr("source"), tr("Source of the token"), {"replacement", 1}, [](LedgerLine line) {
    return wordOf(name(line.row.source));
  }).words();
  addNumber("born", tr("born"), tr("Tick in which the row was added"), {"9999", 2},
            [=](LedgerLine line) { return number(line.row.born.value()); });
  addNumber("changed", tr("changed"), tr("Tick of the last change of state"), {"9999", 3}, [=](LedgerLine line) {
    return line.row.changed == line.row.born ? QString() : number(line.row.changed.value());
  });
  add("parents", tr("parents"), tr("Ledger rows that this row replaced"), {{}, 5},
      [](LedgerLine line) { return idList(line.row.parents); });
  add("children", tr("children"), tr("Ledger rows that replaced this row"), {{}, 4},
      [](LedgerLine line) { return idList(line.row.children); });
  withTone(lineTone);
  withLines(kBadRole, [this](LedgerLine line) { return m_findings.of(line.id); });
  withLines(Qt::ToolTipRole, [this](LedgerLine line) {
    return m_findings.of(line.id) ? QVariant(m_findings.text(line.id)) : QVariant();
  });
  fitNumbers();
}

bool LedgerModel::fitNumbers() {
  const QString wide = QString::number(std::max<std::size_t>(9999, m_snapshot ? m_snapshot->ledger.size() : 0));
  if (wide.size() == m_widest.size()) return false;
  m_widest = wide;
  for (const char* id : {"ledger", "position"}) columns()[at(columnOf(id))].room.width = wide;
  columns()[at(columnOf("parents"))].room.width = wide + QLatin1Char(' ') + wide;
  return true;
}

void LedgerModel::setSnapshot(SnapshotPtr snapshot) {
  const std::size_t before = m_snapshot ? m_snapshot->ledger.size() : 0;
  const std::size_t now = snapshot ? snapshot->ledger.size() : 0;
  const bool sameSession = m_snapshot && snapshot && m_snapshot->info == snapshot->info;
  const bool grew = sameSession && now >= before && m_filter.states == LedgerFilter::States::All;
  if (!grew) beginResetModel();
  m_snapshot = std::move(snapshot);
  m_brightness.reset();
  m_findings = m_snapshot ? FindingMarks(*m_snapshot) : FindingMarks();
  m_position.assign(now, -1);
  for (std::size_t p = 0; m_snapshot && p < m_snapshot->context.size(); ++p)
    if (m_snapshot->ledger.contains(m_snapshot->context[p]))
      m_position[at(m_snapshot->context[p].value())] = static_cast<std::int32_t>(p);
  if (!sameSession) matchVocabulary();
  if (!grew) {
    refill();
    return endResetModel();
  }
  // Rows are only added and their text never changes: append new rows, and emit a change for the old ones.
  const std::vector<std::int32_t> fresh = passing(before);
  const int added = static_cast<int>(m_filter.everything() ? now - before : fresh.size());
  if (added > 0) beginInsertRows({}, m_count, m_count + added - 1);
  m_rows.insert(m_rows.end(), fresh.begin(), fresh.end());
  m_count += added;
  if (added > 0) endInsertRows();
  changed();
}

void LedgerModel::setFilter(const LedgerFilter& filter) {
  if (filter == m_filter) return;
  beginResetModel();
  m_filter = filter;
  matchVocabulary();
  refill();
  endResetModel();
}

void LedgerModel::refill() {
  m_rows = passing(0);
  m_count = static_cast<int>(m_filter.everything() ? m_position.size() : m_rows.size());
}

void LedgerModel::setBrightness(std::shared_ptr<const Tile> tile) {
  m_brightness = std::move(tile);
  const int column = columnOf("bright");
  if (m_count > 0) emit dataChanged(index(0, column), index(m_count - 1, column));
}

void LedgerModel::matchVocabulary() {
  m_tokenMatches.clear();
  if (!m_snapshot || !m_snapshot->info || m_filter.text.isEmpty()) return;
  for (const std::string& token : m_snapshot->info->tokenTexts)
    m_tokenMatches.push_back(QString::fromStdString(token).contains(m_filter.text, Qt::CaseInsensitive));
}

bool LedgerModel::hasState(const LedgerRow& row, std::int32_t id) const {
  using States = LedgerFilter::States;
  const bool inside = m_position[at(id)] >= 0;
  switch (m_filter.states) {
    case States::All: return true;
    case States::InContext: return inside;
    case States::Ghosts: return !inside;
    case States::Pinned: return row.pinned;
    case States::Edited:
      return row.source == Source::Replacement || row.source == Source::Insertion || !row.children.empty();
    case States::Replaced: return row.state == RowState::Replaced;
    case States::Deleted: return row.state == RowState::Deleted;
    case States::Evicted: return row.state == RowState::Evicted || row.state == RowState::LeftWindow;
    case States::Collapsed: return row.state == RowState::Collapsed;
    case States::Aborted: return row.state == RowState::Aborted;
    case States::Wrong: return m_findings.of(LedgerId(id));
    case States::Selected: return std::ranges::binary_search(m_filter.selection, LedgerId(id));
  }
  return true;
}

bool LedgerModel::passes(const LedgerRow& row, std::int32_t id) const {
  if (!hasState(row, id)) return false;
  if (m_filter.text.isEmpty()) return true;
  const auto token = at(row.token.value());
  if (token < m_tokenMatches.size() && m_tokenMatches[token]) return true;
  return QString::number(id) == m_filter.text;
}

std::vector<std::int32_t> LedgerModel::passing(std::size_t from) const {
  std::vector<std::int32_t> out;
  const auto size = static_cast<std::int32_t>(m_filter.everything() ? 0 : m_position.size());
  for (auto id = static_cast<std::int32_t>(from); id < size; ++id)
    if (passes(m_snapshot->ledger[LedgerId(id)], id)) out.push_back(id);
  return out;
}

LedgerLine LedgerModel::line(int row) const {
  const LedgerId id = idOf(row);
  return {m_snapshot->ledger[id], id, positionOf(id)};
}

LedgerId LedgerModel::idOf(int row) const {
  if (row < 0 || row >= m_count) return LedgerId(-1);
  return LedgerId(m_filter.everything() ? row : m_rows[at(row)]);
}

int LedgerModel::rowOf(LedgerId id) const {
  if (id.value() < 0) return -1;
  if (m_filter.everything()) return id.value() < m_count ? id.value() : -1;
  const auto at = std::lower_bound(m_rows.begin(), m_rows.end(), id.value());
  return at != m_rows.end() && *at == id.value() ? static_cast<int>(at - m_rows.begin()) : -1;
}

std::int32_t LedgerModel::positionOf(LedgerId id) const {
  const auto i = at(id.value());
  return id.value() >= 0 && i < m_position.size() ? m_position[i] : -1;
}

std::optional<float> LedgerModel::brightnessOf(LedgerId id) const {
  const std::int32_t p = positionOf(id);
  if (p < 0)
    return m_snapshot && m_snapshot->ledger.contains(id) ? std::optional(m_snapshot->ledger[id].brightness)
                                                         : std::nullopt;
  if (!m_brightness || p >= m_brightness->positions) return std::nullopt;
  for (int l = m_brightness->layers - 1; l >= 0; --l) {
    const float value = m_brightness->values[at(l) * at(m_brightness->positions) + at(p)];
    if (!std::isnan(value)) return value;
  }
  return std::nullopt;
}

}  // namespace kvlab
