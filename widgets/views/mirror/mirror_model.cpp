// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/mirror/mirror_model.h"

#include <algorithm>

#include "widgets/base/alignment_lamp.h"
#include "widgets/base/finding_marks.h"
#include "widgets/base/inspector_view.h"
#include "widgets/base/layer_text.h"

namespace kvlab {
namespace {
std::vector<std::int32_t> positionsOf(const Snapshot& s) {
  std::vector<std::int32_t> position(s.ledger.size(), -1);
  for (std::size_t p = 0; p < s.context.size(); ++p)
    if (s.ledger.contains(s.context[p])) position[at(s.context[p].value())] = static_cast<std::int32_t>(p);
  return position;
}

/// Context position of a ledger row; -1 = not in the context.
std::int32_t positionOf(LedgerId id, const std::vector<std::int32_t>& positions) {
  return id.value() >= 0 && at(id.value()) < positions.size() ? positions[at(id.value())] : -1;
}

/// True for the smallest set of values whose removal leaves the rest ascending (the complement of a longest increasing
/// subsequence; negative values do not count).
std::vector<bool> outOfOrder(const std::vector<std::int32_t>& values) {
  std::vector<bool> out(values.size(), false);
  if (std::is_sorted(values.begin(), values.end())) return out;
  std::vector<std::size_t> tails;  // index of the smallest end of a run of each length
  std::vector<std::size_t> before(values.size(), SIZE_MAX);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] < 0) continue;
    const auto at = std::lower_bound(tails.begin(), tails.end(), i,
                                     [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
    if (at != tails.begin()) before[i] = *(at - 1);
    if (at == tails.end()) tails.push_back(i);
    else *at = i;
  }
  for (std::size_t i = 0; i < values.size(); ++i) out[i] = values[i] >= 0;
  for (std::size_t i = tails.empty() ? SIZE_MAX : tails.back(); i != SIZE_MAX; i = before[i]) out[i] = false;
  return out;
}

void checkOrder(MirrorLayer& out, const std::vector<std::int32_t>& position) {
  const ResidencyView& map = *out.map;
  std::vector<std::int32_t> places;
  for (LedgerId id : map.ledger) places.push_back(positionOf(id, position));
  const std::vector<bool> wrong = outOfOrder(places);
  for (std::size_t i = 0; i < map.size(); ++i) {
    const std::int32_t p = places[i];
    const auto index = static_cast<std::int32_t>(i);
    if (p < 0) {
      out.findings.push_back(
          {index, -1,
           MirrorModel::tr("points at ledger row %1, which is in no context position").arg(map.ledger[i].value())});
      continue;
    }
    auto& first = out.indexOf[at(p)];
    if (first >= 0)
      out.findings.push_back(
          {index, p, MirrorModel::tr("a second row of this position: index %1 is the first").arg(first)});
    else first = index;
    if (!wrong[i]) continue;
    const QString left = i > 0 ? QString::number(places[i - 1]) : QStringLiteral("–");
    const QString right = i + 1 < places.size() ? QString::number(places[i + 1]) : QStringLiteral("–");
    out.findings.push_back(
        {index, p, MirrorModel::tr("out of order: its neighbours belong to positions %1 and %2").arg(left, right)});
  }
}

void checkPhases(MirrorLayer& out, const std::vector<std::int32_t>& position) {
  const ResidencyView& map = *out.map;
  for (std::size_t i = 1; i < map.size(); ++i) {
    if (map.phase(i) > map.phase(i - 1)) continue;
    out.findings.push_back({static_cast<std::int32_t>(i), positionOf(map.ledger[i], position),
                            MirrorModel::tr("phase %1 is not above the one before it, %2")
                                .arg(map.phase(i).value())
                                .arg(map.phase(i - 1).value())});
  }
}

void checkSlots(MirrorLayer& out, const std::vector<std::int32_t>& position) {
  const ResidencyView& map = *out.map;
  std::int32_t highest = -1;
  for (Slot slot : map.residentSlots()) highest = std::max(highest, slot.value());
  std::vector<std::int32_t> owner(at(highest + 1), -1);
  for (std::size_t i = at(map.first); i < map.size(); ++i) {
    const std::int32_t p = positionOf(map.ledger[i], position);
    if (map.slotOf[i].value() < 0) {
      out.findings.push_back({static_cast<std::int32_t>(i), p, MirrorModel::tr("has no slot")});
      continue;
    }
    auto& first = owner[at(map.slotOf[i].value())];
    if (first >= 0)
      out.findings.push_back({static_cast<std::int32_t>(i), p,
                              MirrorModel::tr("shares slot %1 with index %2").arg(map.slotOf[i].value()).arg(first)});
    first = static_cast<std::int32_t>(i);
  }
}

void addFindings(MirrorLayer& out, const Snapshot& s, CacheLayer layer) {
  for (const Finding& one : s.alignment.findings) {
    const Violation& v = one.violation;
    if (!v.layer || *v.layer != layer || !v.index || v.index->value() < 0 || at(v.index->value()) >= out.map->size())
      continue;
    out.findings.push_back({v.index->value(), findingPosition(s, one), findingText(one)});
  }
}
}  // namespace

MirrorLayer mirrorOf(const Snapshot& s, CacheLayer layer) {
  MirrorLayer out;
  out.indexOf.assign(s.context.size(), -1);
  const auto l = at(std::max(0, layer.value()));
  if (l >= s.layers.size() || !s.layers[l]) return out;
  out.map = s.layers[l].get();
  const std::vector<std::int32_t> position = positionsOf(s);
  checkOrder(out, position);
  checkPhases(out, position);
  checkSlots(out, position);
  addFindings(out, s, layer);
  std::stable_sort(out.findings.begin(), out.findings.end(),
                   [](const auto& a, const auto& b) { return a.index < b.index; });
  return out;
}

MirrorModel::MirrorModel(QObject* parent) : ColumnModel(parent) {
  withLines(Qt::ToolTipRole,
            [this](Line line) { return findings(line).isEmpty() ? QVariant() : QVariant(findings(line).join('\n')); });
  withLines(kBadRole, [this](Line line) { return m_found.contains(line.number); });
  makeColumns();
}

void MirrorModel::makeColumns() {
  const QString wide = QString::number(std::max<std::size_t>(999, m_snapshot ? m_snapshot->ledger.size() : 0));
  columns().clear();
  addNumber("position", tr("context\nposition"), tr("Position in the context"), wide, [](Line line) {
    return line.position >= 0 ? QString::number(line.position) : tr("none");
  }).in(Tone::Faint);
  addNumber("ledger", tr("\nledger"), tr("Ledger id at this position (pos2ledger)"), wide, [this](Line line) {
    return QString::number(idOf(line).value());
  }).in(Tone::Muted);
  add("token", tr("\ntoken"), tr("Text of the token; · is a space"), "boathouse.",
      [this](Line line) { return tokenText(*m_snapshot, idOf(line)); });
  for (std::size_t layer = 0; layer < m_layers.size(); ++layer) addLayer(layer);
  add("finding", tr("\nfinding"), tr("Why cache and context do not match"), "finding",
      [this](Line line) { return findings(line).join("; "); })
      .words()
      .in(Tone::Error)
      .with(kRuleRole, [](Line) { return true; });
  for (Column& column : columns()) column.align = (column.align & Qt::AlignHorizontal_Mask) | Qt::AlignBottom;
}

/// Slots and indices are hidden first: tags and ledger ids show a misalignment, phases its effect.
void MirrorModel::addLayer(std::size_t layer) {
  addOfLayer(
      "index", tr("layer %1\nindex").arg(layerText(*m_snapshot, m_layers[layer])),
      tr("Index of the row in the layer's residency map; – = not resident"), 2, layer,
      [](std::size_t i, const ResidencyView&) { return QString::number(i); }, QStringLiteral("–"))
      .with(kRuleRole, [](Line) { return true; });
  addOfLayer("slot", tr("\nslot"), tr("Slot of the row in the pool; left = the row has left the layer's window"), 1,
             layer, [](std::size_t i, const ResidencyView& map) {
               return map.has(i) ? QString::number(map.slotOf[i].value()) : tr("left");
             });
  addOfLayer("tag", tr("\ntag"),
             tr("Ledger id that the kernel wrote next to K and V; read for visible lines, · = not read yet, "
                "✕ = no row of the ledger"),
             0, layer, [this, layer](std::size_t i, const ResidencyView& map) {
               if (!map.has(i)) return QString();
               const auto tag = m_tags[layer].find(static_cast<std::int32_t>(i));
               if (tag == m_tags[layer].end()) return QStringLiteral("·");
               return tag->second < m_snapshot->ledger.size() ? QString::number(tag->second) : QStringLiteral("✕");
             });
  addOfLayer("phase", tr("\nphase"), tr("Phase to which the row's key is rotated when attention reads it"), 3, layer,
             [](std::size_t i, const ResidencyView& map) { return QString::number(map.phase(i).value()); });
}

MirrorModel::Column& MirrorModel::addOfLayer(const char* id, const QString& title, const QString& tip, int gives,
                                             std::size_t layer,
                                             std::function<QString(std::size_t index, const ResidencyView&)> text,
                                             const QString& none) {
  Column& column = add(id, title, tip, {columns().front().room.width, gives}, [this, layer, none, text](Line line) {
    const std::int32_t index = indexAt(line, layer);
    return index < 0 ? none : text(at(index), *m_mirrors[layer].map);
  });
  column.id += QString::number(layer);
  return column.right()
      .toned([this, layer](Line line) { return hasRow(line, layer) ? Tone::Muted : Tone::Ghost; })
      .with(kFillRole, [this, layer](Line line) {
        const bool bad = m_badLayers.value(line.number) >> layer & 1;
        return bad ? QVariant(Theme::faded(Theme::current()->error, 70)) : QVariant();
      });
}

void MirrorModel::set(SnapshotPtr snapshot, std::vector<CacheLayer> layers, bool onlyBad) {
  beginResetModel();
  m_snapshot = std::move(snapshot);
  m_layers = std::move(layers);
  m_onlyBad = onlyBad;
  m_mirrors.clear();
  m_tags.assign(m_layers.size(), {});
  for (CacheLayer layer : m_layers) m_mirrors.push_back(mirrorOf(*m_snapshot, layer));
  findBad();
  makeColumns();
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
      const QString where = m_layers.size() > 1 ? tr("layer %1: ").arg(layerText(*m_snapshot, m_layers[l])) : QString();
      if (!m_found[number].contains(where + finding.what)) m_found[number] << where + finding.what;
    }
  m_bad.assign(m_found.keyBegin(), m_found.keyEnd());
  std::sort(m_bad.begin(), m_bad.end());
}

void MirrorModel::setTags(CacheLayer layer, const std::map<std::int32_t, std::uint64_t>& tags) {
  const auto found = std::find(m_layers.begin(), m_layers.end(), layer);
  if (found == m_layers.end()) return;
  const auto l = at(found - m_layers.begin());
  for (const auto& [index, tag] : tags) {
    const auto [known, fresh] = m_tags[l].insert_or_assign(index, tag);
    if (fresh) checkTag(m_mirrors[l], index, tag);
  }
  if (!m_onlyBad) findBad();  // a filtered list keeps its lines until the next snapshot
  changed();
}

void MirrorModel::checkTag(MirrorLayer& mirror, std::int32_t index, std::uint64_t tag) const {
  if (!mirror.map || index < 0 || at(index) >= mirror.map->size()) return;
  const LedgerId expected = mirror.map->ledger[at(index)];
  if (static_cast<std::uint64_t>(expected.value()) == tag) return;
  mirror.findings.push_back({index, placeIn(*m_snapshot, expected, -1),
                             tag < m_snapshot->ledger.size() ? tr("tag: the row was written for ledger row %1").arg(tag)
                                                             : tr("tag: %1 is no row of the ledger").arg(tag)});
}

int MirrorModel::count() const {
  if (!m_snapshot) return 0;
  return m_onlyBad ? badCount() : m_snapshot->length() + static_cast<int>(m_orphans.size());
}

MirrorModel::Line MirrorModel::line(int row) const {
  if (m_onlyBad) row = row >= 0 && row < badCount() ? m_bad[at(row)] : -1;
  const int positions = m_snapshot ? m_snapshot->length() : 0;
  if (row < 0) return {};
  if (row < positions) return {row, -1, -1, row};
  const auto orphan = at(row - positions);
  return orphan < m_orphans.size() ? m_orphans[orphan] : Line{};
}

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
  return at(line.position) < indexOf.size() ? indexOf[at(line.position)] : -1;
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
  return index >= 0 && m_mirrors[layer].map->has(at(index));
}

LedgerId MirrorModel::idOf(const Line& line) const {
  if (line.position >= 0) return m_snapshot->context[at(line.position)];
  if (line.layer < 0) return LedgerId(-1);
  return m_mirrors[at(line.layer)].map->ledger[at(line.index)];
}

}  // namespace kvlab
