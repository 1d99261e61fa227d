// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/mirror/mirror_lines.h"

#include <QCoreApplication>
#include <algorithm>
#include <unordered_map>

#include "widgets/base/alignment_lamp.h"

namespace kvlab {
namespace {
QString say(const char* text) { return QCoreApplication::translate("kvlab::Mirror", text); }

std::vector<std::int32_t> positionsOf(const Snapshot& s) {
  std::vector<std::int32_t> position(s.ledger.size(), -1);
  for (std::size_t p = 0; p < s.context.size(); ++p)
    if (s.ledger.contains(s.context[p])) position[at(s.context[p].value())] = static_cast<std::int32_t>(p);
  return position;
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
  for (LedgerId id : map.ledger)
    places.push_back(id.value() >= 0 && at(id.value()) < position.size() ? position[at(id.value())] : -1);
  const std::vector<bool> wrong = outOfOrder(places);
  for (std::size_t i = 0; i < map.size(); ++i) {
    const std::int32_t p = places[i];
    const auto index = static_cast<std::int32_t>(i);
    if (p < 0) {
      out.findings.push_back(
          {index, -1, say("points at ledger row %1, which is in no context position").arg(map.ledger[i].value())});
      continue;
    }
    auto& first = out.indexOf[at(p)];
    if (first >= 0)
      out.findings.push_back({index, p, say("a second row of this position: index %1 is the first").arg(first)});
    else first = index;
    if (!wrong[i]) continue;
    const QString left = i > 0 ? QString::number(places[i - 1]) : QStringLiteral("–");
    const QString right = i + 1 < places.size() ? QString::number(places[i + 1]) : QStringLiteral("–");
    out.findings.push_back(
        {index, p, say("out of order: its neighbours belong to positions %1 and %2").arg(left, right)});
  }
}

void checkPhases(MirrorLayer& out, const std::vector<std::int32_t>& position) {
  const ResidencyView& map = *out.map;
  for (std::size_t i = 1; i < map.size(); ++i) {
    if (map.phase(i) > map.phase(i - 1)) continue;
    const auto id = at(map.ledger[i].value());
    out.findings.push_back(
        {static_cast<std::int32_t>(i), id < position.size() ? position[id] : -1,
         say("phase %1 is not above the one before it, %2").arg(map.phase(i).value()).arg(map.phase(i - 1).value())});
  }
}

void checkSlots(MirrorLayer& out, const std::vector<std::int32_t>& position) {
  const ResidencyView& map = *out.map;
  std::int32_t highest = -1;
  for (Slot slot : map.residentSlots()) highest = std::max(highest, slot.value());
  std::vector<std::int32_t> owner(at(highest + 1), -1);
  for (std::size_t i = at(map.first); i < map.size(); ++i) {
    const auto id = at(map.ledger[i].value());
    const std::int32_t p = id < position.size() ? position[id] : -1;
    if (map.slotOf[i].value() < 0) {
      out.findings.push_back({static_cast<std::int32_t>(i), p, say("has no slot")});
      continue;
    }
    auto& first = owner[at(map.slotOf[i].value())];
    if (first >= 0)
      out.findings.push_back(
          {static_cast<std::int32_t>(i), p, say("shares slot %1 with index %2").arg(map.slotOf[i].value()).arg(first)});
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

}  // namespace kvlab
