// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/storage_groups.h"

#include <QCoreApplication>
#include <QStringList>
#include <algorithm>

#include "widgets/base/format.h"

namespace kvlab {

QString StorageGroup::name() const {
  const auto nameOf = [this](CacheLayer layer) { return QString::fromStdString(all.name(layer)); };
  QStringList runs;
  for (std::size_t i = 0; i < layers.size();) {
    std::size_t end = i + 1;
    while (end < layers.size() && layers[end].value() == layers[end - 1].value() + 1) ++end;
    const QString first = nameOf(layers[i]);
    runs << (end - i == 1 ? first
                          : first + QChar(end - i == 2 ? ',' : u'–') +
                     (end - i == 2 ? QStringLiteral(" ") : QString()) + nameOf(layers[end - 1]));
    i = end;
  }
  const QString word = layers.size() == 1 ? QCoreApplication::translate("kvlab::StorageGroup", "layer %1")
                                          : QCoreApplication::translate("kvlab::StorageGroup", "layers %1");
  return word.arg(runs.join(QStringLiteral(", ")));
}

bool StorageGroup::has(CacheLayer layer) const { return std::binary_search(layers.begin(), layers.end(), layer); }

std::vector<StorageGroup> storageGroups(const Snapshot& s) {
  std::vector<StorageGroup> out;
  for (std::size_t l = 0; l < s.storage.size() && l < s.layers.size(); ++l) {
    if (!s.storage[l] || !s.layers[l]) continue;
    auto group = std::ranges::find(out, s.storage[l], &StorageGroup::storage);
    if (group == out.end())
      group = out.insert(out.end(), {{}, s.storage[l], s.layers[l], s.info ? s.info->cacheLayers : CacheLayers()});
    group->layers.emplace_back(static_cast<std::int32_t>(l));
  }
  return out;
}

const StorageGroup* groupOf(const std::vector<StorageGroup>& groups, CacheLayer layer) {
  const auto group = std::ranges::find_if(groups, [&](const StorageGroup& one) { return one.has(layer); });
  return group == groups.end() ? nullptr : &*group;
}

QString rowMemoryText(const Snapshot& snapshot) {
  std::int64_t reserved = 0;
  for (const auto& one : snapshot.storage)
    if (one) reserved += std::int64_t{one->poolSlots} * one->stride;
  const auto words = [](const char* text) { return QCoreApplication::translate("kvlab::RowMemory", text); };
  QString out = words("%1 live, %2 of room at capacity")
                    .arg(formatBytes(snapshot.bytes.live), formatBytes(snapshot.bytes.allocated));
  const bool onDevice = snapshot.info && snapshot.info->backend.starts_with("cuda");
  if (reserved > 0)
    out += words(onDevice ? ", %1 taken on the device with history" : ", %1 of addresses reserved with history")
               .arg(formatBytes(reserved));
  return out;
}

QString programMemoryText(qint64 bytes) {
  if (bytes <= 0) return {};
  return QCoreApplication::translate("kvlab::RowMemory", "program %1 in memory").arg(formatBytes(bytes));
}

std::vector<std::int32_t> positionsOf(const Snapshot& s, const ResidencyView& map) {
  std::vector<std::int32_t> out(map.resident(), -1);
  auto from = s.context.begin();
  for (std::size_t i = 0; i < out.size(); ++i) {
    const LedgerId row = map.ledger[at(map.first) + i];
    auto at = std::find(from, s.context.end(), row);
    if (at == s.context.end()) at = std::find(s.context.begin(), from, row);  // a damaged map
    else from = at + 1;
    if (at != s.context.end() && *at == row) out[i] = static_cast<std::int32_t>(at - s.context.begin());
  }
  return out;
}

int rowAt(const std::vector<std::int32_t>& positions, Position position) {
  if (position.value() < 0) return -1;
  const auto found = std::ranges::find(positions, position.value());
  return found == positions.end() ? -1 : static_cast<int>(found - positions.begin());
}

bool leftThroughWindow(const Snapshot& s, CacheLayer layer, LedgerId row) {
  const std::size_t l = at(layer);
  if (l >= s.layers.size() || !s.layers[l]) return false;
  const auto begin = s.layers[l]->ledger.begin(), end = begin + s.layers[l]->first;
  return std::find(begin, end, row) != end;
}

bool isResident(const Snapshot& s, CacheLayer layer, LedgerId row) {
  const std::size_t l = at(layer);
  if (l >= s.layers.size() || !s.layers[l]) return false;
  const Column<LedgerId>& rows = s.layers[l]->ledger;
  return std::find(rows.begin() + s.layers[l]->first, rows.end(), row) != rows.end();
}

QString noValueText(const Snapshot& s, LedgerId row, std::optional<CacheLayer> layer, const QString& quantity) {
  bool here = false, left = false;
  for (std::int32_t l = 0; at(l) < s.layers.size(); ++l) {
    if (layer && layer->value() != l) continue;
    here = here || isResident(s, CacheLayer(l), row);
    left = left || leftThroughWindow(s, CacheLayer(l), row);
  }
  const auto say = [](const char* text) { return QCoreApplication::translate("kvlab::StorageGroup", text); };
  if (here) return say("resident, %1 not known").arg(quantity);
  if (left) return layer ? say("left through the window") : say("left through the windows");
  return layer ? say("not resident in this layer") : say("not resident in any layer");
}

}  // namespace kvlab
