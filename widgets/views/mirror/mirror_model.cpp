// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/mirror/mirror_model.h"

#include <algorithm>

#include "widgets/base/inspector_view.h"
#include "widgets/base/layer_text.h"
#include "widgets/table/data_table.h"

namespace kvlab {

void MirrorModel::set(SnapshotPtr snapshot, std::vector<Layer> layers, bool onlyBad) {
  beginResetModel();
  m_snapshot = std::move(snapshot);
  m_layers = std::move(layers);
  m_onlyBad = onlyBad;
  m_mirrors.clear();
  m_tags.assign(m_layers.size(), {});
  for (Layer layer : m_layers) m_mirrors.push_back(mirrorOf(*m_snapshot, layer));
  findBad();
  endResetModel();
}

void MirrorModel::findBad() {
  m_orphans.clear();
  m_found.clear();
  m_badLayers.clear();
  const int positions = m_snapshot ? m_snapshot->length() : 0;
  for (std::size_t l = 0; l < m_mirrors.size(); ++l)
    for (const MirrorFinding& finding : m_mirrors[l].findings) {
      int number = finding.position;
      if (number < 0) {
        number = positions + static_cast<int>(m_orphans.size());
        m_orphans.push_back({-1, static_cast<std::int32_t>(l), finding.index, number});
      }
      m_badLayers[number] |= quint64{1} << l;
      const QString where =
          m_layers.size() > 1 ? tr("layer %1: ").arg(kvlab::layerText(*m_snapshot, m_layers[l].value())) : QString();
      if (!m_found[number].contains(where + finding.what)) m_found[number] << where + finding.what;
    }
  m_bad.assign(m_found.keyBegin(), m_found.keyEnd());
  std::sort(m_bad.begin(), m_bad.end());
}

void MirrorModel::setTags(Layer layer, const std::map<std::int32_t, std::int64_t>& tags) {
  const auto found = std::find(m_layers.begin(), m_layers.end(), layer);
  if (found == m_layers.end()) return;
  const auto l = static_cast<std::size_t>(found - m_layers.begin());
  for (const auto& [index, tag] : tags) {
    const auto [known, fresh] = m_tags[l].insert_or_assign(index, tag);
    if (fresh) checkTag(m_mirrors[l], index, tag);
  }
  if (!m_onlyBad) findBad();  // a filtered list keeps its lines until the next snapshot
  if (rowCount()) emit dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
}

void MirrorModel::checkTag(MirrorLayer& mirror, std::int32_t index, std::int64_t tag) const {
  if (!mirror.map || index < 0 || static_cast<std::size_t>(index) >= mirror.map->size()) return;
  const LedgerId expected = mirror.map->ledger[static_cast<std::size_t>(index)];
  if (expected.value() == tag) return;
  const auto at = std::find(m_snapshot->context.begin(), m_snapshot->context.end(), expected);
  const bool inside = at != m_snapshot->context.end();
  mirror.findings.push_back({index, inside ? static_cast<std::int32_t>(at - m_snapshot->context.begin()) : -1,
                             tr("tag: the row was written for ledger row %1").arg(tag)});
}

int MirrorModel::rowCount(const QModelIndex& parent) const {
  if (parent.isValid() || !m_snapshot) return 0;
  return m_onlyBad ? badCount() : m_snapshot->length() + static_cast<int>(m_orphans.size());
}

int MirrorModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : findingColumn() + 1; }

MirrorModel::Line MirrorModel::line(int row) const {
  if (m_onlyBad) row = row >= 0 && row < badCount() ? m_bad[static_cast<std::size_t>(row)] : -1;
  const int positions = m_snapshot ? m_snapshot->length() : 0;
  if (row < 0) return {};
  if (row < positions) return {row, -1, -1, row};
  const auto orphan = static_cast<std::size_t>(row - positions);
  return orphan < m_orphans.size() ? m_orphans[orphan] : Line{};
}

std::int32_t MirrorModel::positionOf(int row) const { return line(row).position; }

int MirrorModel::rowOf(std::int32_t position) const {
  if (position < 0 || !m_snapshot || position >= m_snapshot->length()) return -1;
  if (!m_onlyBad) return position;
  const auto at = std::lower_bound(m_bad.begin(), m_bad.end(), position);
  return at != m_bad.end() && *at == position ? static_cast<int>(at - m_bad.begin()) : -1;
}

int MirrorModel::nextBad(int row) const {
  if (m_bad.empty()) return -1;
  if (m_onlyBad) return (row + 1) % badCount();
  const auto at = std::upper_bound(m_bad.begin(), m_bad.end(), row);
  return at == m_bad.end() ? m_bad.front() : *at;
}

std::int32_t MirrorModel::indexAt(const Line& line, std::size_t layer) const {
  if (line.position < 0) return line.layer == static_cast<std::int32_t>(layer) ? line.index : -1;
  const auto& indexOf = m_mirrors[layer].indexOf;
  return static_cast<std::size_t>(line.position) < indexOf.size() ? indexOf[static_cast<std::size_t>(line.position)]
                                                                  : -1;
}

std::pair<std::int32_t, std::int32_t> MirrorModel::indices(std::size_t layer, int first, int last) const {
  std::int32_t begin = INT32_MAX, end = 0;
  for (int row = std::max(0, first); row <= last && row < rowCount(); ++row) {
    const std::int32_t index = indexAt(line(row), layer);
    if (index < 0) continue;
    begin = std::min(begin, index);
    end = std::max(end, index + 1);
  }
  return begin < end ? std::pair(begin, end) : std::pair(0, 0);
}

bool MirrorModel::hasRow(const Line& line, std::size_t layer) const {
  const std::int32_t index = indexAt(line, layer);
  return index >= 0 && m_mirrors[layer].map->has(static_cast<std::size_t>(index));
}

QString MirrorModel::findingsOf(int row) const { return findings(line(row)).join("; "); }

QString MirrorModel::layerText(const Line& line, std::size_t layer, int what) const {
  const std::int32_t index = indexAt(line, layer);
  if (index < 0) return what == kIndex ? QStringLiteral("–") : QString();
  const ResidencyView& map = *m_mirrors[layer].map;
  const auto i = static_cast<std::size_t>(index);
  switch (what) {
    case kIndex: return QString::number(index);
    case kSlot: return map.has(i) ? QString::number(map.slotOf[i].value()) : tr("left");
    case kPhase: return QString::number(map.phase(i).value());
    default: {
      if (!map.has(i)) return {};
      const auto tag = m_tags[layer].find(index);
      return tag == m_tags[layer].end() ? QStringLiteral("·") : QString::number(tag->second);
    }
  }
}

QString MirrorModel::text(const Line& line, int column) const {
  if (column == findingColumn()) return findings(line).join("; ");
  if (column >= kLayers)
    return layerText(line, static_cast<std::size_t>((column - kLayers) / kPerLayer), (column - kLayers) % kPerLayer);
  LedgerId id(-1);
  if (line.position >= 0) id = m_snapshot->context[static_cast<std::size_t>(line.position)];
  else if (line.layer >= 0)
    id = m_mirrors[static_cast<std::size_t>(line.layer)].map->ledger[static_cast<std::size_t>(line.index)];
  switch (column) {
    case kPosition: return line.position >= 0 ? QString::number(line.position) : tr("none");
    case kLedger: return QString::number(id.value());
    default: return tokenText(*m_snapshot, id);
  }
}

QVariant MirrorModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || !m_snapshot) return {};
  const Line at = line(index.row());
  const int column = index.column(), layerColumn = (column - kLayers) % kPerLayer;
  const bool inLayer = column >= kLayers && column < findingColumn();
  switch (role) {
    case Qt::DisplayRole: return text(at, column);
    case Qt::ToolTipRole: return findings(at).isEmpty() ? QVariant() : QVariant(findings(at).join('\n'));
    case Qt::TextAlignmentRole:
      return static_cast<int>(column == kToken || column == findingColumn() ? Qt::AlignLeft : Qt::AlignRight);
    case kMonoRole: return column != findingColumn();
    case kRuleRole: return (inLayer && layerColumn == kIndex) || column == findingColumn();
    case kFillRole: {
      const auto layer = static_cast<std::size_t>(inLayer ? (column - kLayers) / kPerLayer : 63);
      const bool bad = inLayer && (m_badLayers.value(at.number) >> layer & 1);
      return bad ? QVariant(Theme::faded(Theme::current()->error, 70)) : QVariant();
    }
    case kBadRole: return m_found.contains(at.number);
    case kToneRole:
      if (column == findingColumn()) return static_cast<int>(Tone::Error);
      if (column == kToken) return static_cast<int>(Tone::Normal);
      if (inLayer && !hasRow(at, static_cast<std::size_t>((column - kLayers) / kPerLayer)))
        return static_cast<int>(Tone::Ghost);
      return static_cast<int>(column == kPosition ? Tone::Faint : Tone::Muted);
    default: return {};
  }
}

QString MirrorModel::columnTip(int section) const {
  if (section < kLayers)
    return QStringList{tr("Place in the text"), tr("Row of the ledger that stands at this position (pos2ledger)"),
                       tr("Text of the token; · is a space")}
        .at(section);
  if (section == findingColumn()) return tr("Why the line does not belong together");
  return QStringList{
      tr("Logical place of the row in the layer's cache; – = not resident"),
      tr("Place of the row in memory; left = the layer's window has left it behind"),
      tr("Ledger id that the kernel wrote beside K and V; asked for the lines in sight, · = not asked yet"),
      tr("Position the row's key is rotated for when it is read")}
      .at((section - kLayers) % kPerLayer);
}

QVariant MirrorModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::TextAlignmentRole)
    return static_cast<int>((section == kToken || section == findingColumn() ? Qt::AlignLeft : Qt::AlignRight) |
                            Qt::AlignBottom);
  if (role == Qt::ToolTipRole) return columnTip(section);
  if (role != Qt::DisplayRole) return {};
  if (section < kLayers) return QStringList{tr("context\nposition"), tr("\nledger"), tr("\ntoken")}.at(section);
  if (section == findingColumn()) return tr("\nfinding");
  const QStringList names{tr("layer %1\nindex"), tr("\nslot"), tr("\ntag"), tr("\nphase")};
  const QString name = names.at((section - kLayers) % kPerLayer);
  return name.contains('%')
      ? name.arg(
            kvlab::layerText(*m_snapshot, m_layers[static_cast<std::size_t>((section - kLayers) / kPerLayer)].value()))
      : name;
}

}  // namespace kvlab
