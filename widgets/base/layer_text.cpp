// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/layer_text.h"

#include <QCoreApplication>
#include <QStringList>
#include <algorithm>

#include "widgets/base/format.h"
#include "widgets/base/storage_groups.h"

namespace kvlab {
namespace {
QString rowsSaid(const char* text) { return QCoreApplication::translate("kvlab::LayerRows", text); }

enum class Limit : std::uint8_t { Capacity, Window, Policy };

struct RowsOfLayer {
  qint64 rows = 0, most = 0;
  Limit limit = Limit::Capacity;
  bool operator==(const RowsOfLayer&) const = default;
};

/// The smallest limit of the rows: the policy after the prompt, the window of a ring, or the pool.
RowsOfLayer rowsOf(const Snapshot& s, std::size_t layer) {
  RowsOfLayer out{static_cast<qint64>(s.layers[layer] ? s.layers[layer]->resident() : 0),
                  s.settings ? s.settings->capacity : 0, Limit::Capacity};
  const auto narrow = [&out](qint64 most, Limit limit) {
    if (most > 0 && most < out.most) out.most = most, out.limit = limit;
  };
  if (layer < s.storage.size() && s.storage[layer] && s.storage[layer]->ring)
    narrow(s.storage[layer]->ring->window, Limit::Window);
  if (s.policies && layer < s.policies->layers.size() && s.policies->layers[layer].bounded)
    narrow(s.policies->layers[layer].requested(), Limit::Policy);
  return out;
}

std::vector<RowsOfLayer> rowsOfLayers(const Snapshot& s) {
  std::vector<RowsOfLayer> out;
  for (std::size_t layer = 0; layer < s.layers.size(); ++layer) out.push_back(rowsOf(s, layer));
  return out;
}

QString eachLayer(const Snapshot& s) {
  return s.info && s.info->cacheLayers.byHead() ? rowsSaid("rows a KV head") : rowsSaid("rows a layer");
}

QString limitText(Limit limit) {
  switch (limit) {
    case Limit::Window: return rowsSaid("window of the ring");
    case Limit::Policy: return rowsSaid("budget of the policy");
    default: return rowsSaid("capacity of the pools");
  }
}
}  // namespace

QString layerRowsText(const Snapshot& s) {
  const std::vector<RowsOfLayer> all = rowsOfLayers(s);
  if (all.empty()) return rowsSaid("no rows");
  const auto [least, most] = std::ranges::minmax(all, {}, &RowsOfLayer::rows);
  if (least.rows != most.rows)
    return rowsSaid("%1 to %2 %3").arg(grouped(least.rows), grouped(most.rows), eachLayer(s));
  if (std::ranges::any_of(all, [&](const RowsOfLayer& one) { return one != all.front(); }))
    return QStringLiteral("%1 %2").arg(grouped(least.rows), eachLayer(s));
  const QString text = rowsSaid("%1 of %2 %3").arg(grouped(least.rows), grouped(least.most), eachLayer(s));
  return least.limit == Limit::Capacity
      ? text
      : text + (least.limit == Limit::Window ? rowsSaid(", window") : rowsSaid(", policy"));
}

QString layerRowsTip(const Snapshot& s) {
  constexpr qsizetype kMost = 12;
  const std::vector<RowsOfLayer> all = rowsOfLayers(s);
  QStringList out;
  for (std::size_t from = 0; from < all.size();) {
    StorageGroup run;
    if (s.info) run.all = s.info->cacheLayers;
    std::size_t end = from;
    for (; end < all.size() && all[end] == all[from]; ++end)
      run.layers.push_back(CacheLayer(static_cast<std::int32_t>(end)));
    out << rowsSaid("%1: %2 of %3 rows (%4)")
               .arg(run.name(), grouped(all[from].rows), grouped(all[from].most), limitText(all[from].limit));
    from = end;
  }
  if (out.size() > kMost) out = out.mid(0, kMost) << QStringLiteral("…");
  return out.join(QLatin1Char('\n'));
}

}  // namespace kvlab
