// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/ledger/ledger_model.h"

#include <algorithm>
#include <cmath>

#include "widgets/base/inspector_view.h"
#include "widgets/canvas/colour_map.h"
#include "widgets/table/data_table.h"

namespace kvlab {
namespace {
QString word(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }

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
    case RowState::Collapsed: return Tone::Accent;
    default: return Tone::Warning;
  }
}

QChar signOf(RowState state) {
  static constexpr char16_t kSigns[] = {u'●', u'↻', u'✕', u'○', u'▾', u'!'};
  return QChar(kSigns[static_cast<std::size_t>(state)]);
}
}  // namespace

void LedgerModel::setSnapshot(SnapshotPtr snapshot) {
  const std::size_t before = m_snapshot ? m_snapshot->ledger.size() : 0;
  const std::size_t now = snapshot ? snapshot->ledger.size() : 0;
  const bool sameSession = m_snapshot && snapshot && m_snapshot->info == snapshot->info;
  const bool grew = sameSession && now >= before && m_filter.states == LedgerFilter::States::All;
  if (!grew) beginResetModel();
  m_snapshot = std::move(snapshot);
  m_brightness.reset();
  m_position.assign(now, -1);
  for (std::size_t p = 0; m_snapshot && p < m_snapshot->context.size(); ++p)
    if (m_snapshot->ledger.contains(m_snapshot->context[p]))
      m_position[static_cast<std::size_t>(m_snapshot->context[p].value())] = static_cast<std::int32_t>(p);
  if (!sameSession) matchVocabulary();
  if (!grew) {
    m_rows = m_filter.everything() ? std::vector<std::int32_t>() : passing(0);
    m_count = static_cast<int>(m_filter.everything() ? now : m_rows.size());
    return endResetModel();
  }
  // Text never changes and rows are only added: new ones go below, the others say they changed.
  const std::vector<std::int32_t> fresh = m_filter.everything() ? std::vector<std::int32_t>() : passing(before);
  const int added = static_cast<int>(m_filter.everything() ? now - before : fresh.size());
  if (added > 0) beginInsertRows({}, m_count, m_count + added - 1);
  m_rows.insert(m_rows.end(), fresh.begin(), fresh.end());
  m_count += added;
  if (added > 0) endInsertRows();
  if (m_count > 0) emit dataChanged(index(0, 0), index(m_count - 1, kColumns - 1));
}

void LedgerModel::setFilter(const LedgerFilter& filter) {
  if (filter == m_filter) return;
  beginResetModel();
  m_filter = filter;
  matchVocabulary();
  m_rows = filter.everything() ? std::vector<std::int32_t>() : passing(0);
  m_count = static_cast<int>(filter.everything() ? (m_snapshot ? m_snapshot->ledger.size() : 0) : m_rows.size());
  endResetModel();
}

void LedgerModel::setBrightness(std::shared_ptr<const Tile> tile) {
  m_brightness = std::move(tile);
  if (m_count > 0) emit dataChanged(index(0, kBrightness), index(m_count - 1, kBrightness));
}

void LedgerModel::matchVocabulary() {
  m_tokenMatches.clear();
  if (!m_snapshot || !m_snapshot->info || m_filter.text.isEmpty()) return;
  for (const std::string& token : m_snapshot->info->tokenTexts)
    m_tokenMatches.push_back(QString::fromStdString(token).contains(m_filter.text, Qt::CaseInsensitive));
}

bool LedgerModel::hasState(const LedgerRow& row, std::int32_t id) const {
  using States = LedgerFilter::States;
  const bool inside = m_position[static_cast<std::size_t>(id)] >= 0;
  switch (m_filter.states) {
    case States::All: return true;
    case States::InContext: return inside;
    case States::Ghosts: return !inside;
    case States::Pinned: return row.pinned;
    case States::Edited:
      return row.source == Source::Replacement || row.source == Source::Insertion || !row.children.empty();
    case States::Replaced: return row.state == RowState::Replaced;
    case States::Deleted: return row.state == RowState::Deleted;
    case States::Evicted: return row.state == RowState::Evicted;
    case States::Collapsed: return row.state == RowState::Collapsed;
    case States::Aborted: return row.state == RowState::Aborted;
  }
  return true;
}

bool LedgerModel::passes(const LedgerRow& row, std::int32_t id) const {
  if (!hasState(row, id)) return false;
  if (m_filter.text.isEmpty()) return true;
  const auto token = static_cast<std::size_t>(row.token.value());
  if (token < m_tokenMatches.size() && m_tokenMatches[token]) return true;
  return QString::number(id) == m_filter.text;
}

std::vector<std::int32_t> LedgerModel::passing(std::size_t from) const {
  std::vector<std::int32_t> out;
  const std::size_t size = m_snapshot ? m_snapshot->ledger.size() : 0;
  for (std::size_t i = from; i < size; ++i) {
    const auto id = static_cast<std::int32_t>(i);
    if (passes(m_snapshot->ledger[LedgerId(id)], id)) out.push_back(id);
  }
  return out;
}

int LedgerModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : m_count; }

LedgerId LedgerModel::idOf(int row) const {
  if (row < 0 || row >= m_count) return LedgerId(-1);
  return LedgerId(m_filter.everything() ? row : m_rows[static_cast<std::size_t>(row)]);
}

int LedgerModel::rowOf(LedgerId id) const {
  if (id.value() < 0) return -1;
  if (m_filter.everything()) return id.value() < m_count ? id.value() : -1;
  const auto at = std::lower_bound(m_rows.begin(), m_rows.end(), id.value());
  return at != m_rows.end() && *at == id.value() ? static_cast<int>(at - m_rows.begin()) : -1;
}

std::int32_t LedgerModel::positionOf(LedgerId id) const {
  const auto i = static_cast<std::size_t>(id.value());
  return id.value() >= 0 && i < m_position.size() ? m_position[i] : -1;
}

std::optional<float> LedgerModel::brightnessOf(LedgerId id) const {
  const std::int32_t p = positionOf(id);
  if (p < 0)
    return m_snapshot && m_snapshot->ledger.contains(id) ? std::optional(m_snapshot->ledger[id].brightness)
                                                         : std::nullopt;
  if (!m_brightness || p >= m_brightness->positions) return std::nullopt;
  for (int l = m_brightness->layers - 1; l >= 0; --l) {
    const float value =
        m_brightness->values[static_cast<std::size_t>(l) * static_cast<std::size_t>(m_brightness->positions) +
                             static_cast<std::size_t>(p)];
    if (!std::isnan(value)) return value;
  }
  return std::nullopt;
}

QString LedgerModel::text(const LedgerRow& row, LedgerId id, int column) const {
  switch (column) {
    case kId: return QString::number(id.value());
    case kPosition: return positionOf(id) >= 0 ? QString::number(positionOf(id)) : QString();
    case kToken: return row.kind == RowKind::Gist ? tr("gist") : tokenText(*m_snapshot->info, row.token);
    case kState:
      return signOf(row.state) + QStringLiteral(" ") + word(name(row.state)) +
          (row.pinned ? tr(", pinned") : QString());
    case kSource: return word(name(row.source));
    case kBorn: return QString::number(row.born.value());
    case kChanged: return row.changed == row.born ? QString() : QString::number(row.changed.value());
    case kBrightness:
      return brightnessOf(id) ? valueText(Quantity::Brightness, std::round(*brightnessOf(id))) : QString();
    case kParents: return idList(row.parents);
    default: return idList(row.children);
  }
}

QVariant LedgerModel::data(const QModelIndex& index, int role) const {
  const LedgerId id = idOf(index.row());
  if (!index.isValid() || !m_snapshot || !m_snapshot->ledger.contains(id)) return {};
  const LedgerRow& row = m_snapshot->ledger[id];
  const int column = index.column();
  const bool ghost = positionOf(id) < 0;
  switch (role) {
    case Qt::DisplayRole: return text(row, id, column);
    case Qt::TextAlignmentRole:
      return static_cast<int>(column == kToken || column == kState || column == kSource || column >= kParents
                                  ? Qt::AlignLeft
                                  : Qt::AlignRight);
    case kMonoRole: return column != kState && column != kSource;
    case kToneRole:
      if (column == kState && row.state != RowState::Live) return static_cast<int>(toneOf(row.state));
      if (ghost) return static_cast<int>(Tone::Ghost);
      return static_cast<int>(column == kToken ? Tone::Normal : Tone::Muted);
    default: return {};
  }
}

QVariant LedgerModel::headerData(int section, Qt::Orientation orientation, int role) const {
  static const char* const kTitles[] = {"ledger", "position", "token",   "state",   "bright",
                                        "source", "born",     "changed", "parents", "children"};
  static const char* const kTips[] = {"Row of the ledger",
                                      "Place in the context; empty for ghosts",
                                      "Text of the token",
                                      "What became of it",
                                      "Brightness: how much it is worth keeping, 0 to 255; of a ghost, when it left",
                                      "Where it came from",
                                      "Tick of its birth",
                                      "Tick of its last change of state",
                                      "Ledger rows it replaced",
                                      "Ledger rows that replaced it"};
  if (orientation != Qt::Horizontal || section >= kColumns) return {};
  if (role == Qt::DisplayRole) return tr(kTitles[section]);
  if (role == Qt::ToolTipRole) return tr(kTips[section]);
  if (role == Qt::TextAlignmentRole) {
    const bool left = section == kToken || section == kState || section == kSource || section >= kParents;
    return static_cast<int>((left ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
  }
  return {};
}

}  // namespace kvlab
