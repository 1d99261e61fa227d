// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/rings/ring_picture.h"

#include <QCoreApplication>
#include <algorithm>

namespace kvlab {
namespace {
QString pictureText(const char* text) { return QCoreApplication::translate("kvlab::RingPicture", text); }

/// The slot that head and capacity require for a row in logical order.
int expectedSlot(const RingState& ring, int row) { return ring.rolled ? row : (ring.head + row) % ring.capacity; }

void placeRows(RingPicture& out) {
  const auto resident = out.group.map->residentSlots();
  for (std::size_t row = 0; row < resident.size(); ++row) {
    const auto k = static_cast<std::int32_t>(row);
    const std::int32_t slot = resident[row].value();
    out.slotOf.push_back(slot);
    if (slot < 0 || slot >= out.slotCount()) {
      ++out.wrong;
      continue;
    }
    const bool right = slot == expectedSlot(out.ring, k) && out.rowAt[at(slot)] < 0;
    out.rowAt[at(slot)] = k;
    out.use[at(slot)] = !right                     ? SlotUse::Wrong
        : !out.ring.rolled && slot < out.ring.head ? SlotUse::Wrapped
                                                   : SlotUse::Row;
  }
  for (std::int32_t row = 0; row < out.ring.filled; ++row) {  // slots that should hold a row but do not
    auto& use = out.use[at(expectedSlot(out.ring, row))];
    if (use == SlotUse::Free) use = SlotUse::Wrong;
  }
  out.wrong += static_cast<int>(std::count(out.use.begin(), out.use.end(), SlotUse::Wrong));
}

void placeRoom(RingPicture& out) {
  const int room = out.slotCount() - std::max(out.ring.window, out.ring.filled);
  for (int i = 0; i < room; ++i) {
    auto& use = out.use[at((out.pointer() + i) % out.slotCount())];
    if (use == SlotUse::Free) use = SlotUse::Room;
  }
}
}  // namespace

bool RingPicture::written(int slot) const {
  const int ahead = (slot - ring.writeBegin + slotCount()) % std::max(1, slotCount());
  return ahead < ring.writeCount;
}

QString RingPicture::describe(int slot) const {
  const int row = slot >= 0 && slot < slotCount() ? rowAt[at(slot)] : -1;
  QStringList parts{pictureText("slot %1").arg(slot)};
  if (row >= 0)
    parts << (row == 0                ? pictureText("row %1, the oldest")
                  : row + 1 == rows() ? pictureText("row %1, the newest")
                                      : pictureText("row %1"))
                 .arg(indexOf(row));
  if (row >= 0 && positionOf[at(row)] >= 0) parts << pictureText("position %1").arg(positionOf[at(row)]);
  switch (slot >= 0 && slot < slotCount() ? use[at(slot)] : SlotUse::Free) {
    case SlotUse::Wrong:
      parts << (row < 0 ? pictureText("no row, although the ring counts one")
                        : pictureText("not where the ring's figures put this row"));
      break;
    case SlotUse::Room: parts << pictureText("room for the pending block"); break;
    case SlotUse::Free: parts << pictureText("free: the ring is not full yet"); break;
    case SlotUse::Wrapped: parts << pictureText("behind the wrap"); break;
    case SlotUse::Row: break;
  }
  if (row >= 0 && written(slot)) parts << pictureText("written by the last commit");
  return parts.join(QStringLiteral("   "));
}

std::optional<RingPicture> ringPicture(SnapshotPtr snapshot, const StorageGroup& group) {
  if (!group.storage->ring || group.storage->ring->capacity <= 0) return {};
  RingPicture out;
  out.group = group;
  out.ring = *group.storage->ring;
  out.use.assign(at(out.slotCount()), SlotUse::Free);
  out.rowAt.assign(at(out.slotCount()), -1);
  out.positionOf = positionsOf(*snapshot, *group.map);
  placeRows(out);
  placeRoom(out);
  out.snapshot = std::move(snapshot);
  return out;
}

std::vector<SlotRun> slotRuns(const RingPicture& ring) {
  std::vector<SlotRun> out;
  for (int slot = 0; slot < ring.slotCount(); ++slot) {
    if (!out.empty() && out.back().use == ring.use[at(slot)]) ++out.back().end;
    else out.push_back({slot, slot + 1, ring.use[at(slot)]});
  }
  return out;
}

std::vector<RingFigure> ringFigures(const RingPicture& picture) {
  const RingState& r = picture.ring;
  const auto number = [](std::int64_t value) { return QString::number(value); };
  const auto room = std::count(picture.use.begin(), picture.use.end(), SlotUse::Room);
  std::vector<RingFigure> out{
      {pictureText("head to end"), number(r.runs()[0].count), RingMark::Row},
      {pictureText("from slot 0"), number(r.runs()[1].count), RingMark::Wrapped},
      {pictureText("room for new rows"), number(room), RingMark::Room},
      {pictureText("last commit"),
       r.writeCount ? pictureText("%1 at %2").arg(r.writeCount).arg(r.writeBegin) : number(0), RingMark::Written}};
  if (picture.wrong) out.push_back({pictureText("wrong"), number(picture.wrong), RingMark::Wrong});
  out.insert(
      out.end(),
      {{pictureText("head"), number(r.head)},
       {pictureText("pointer"), number(r.pointer())},
       {pictureText("filled"), number(r.filled)},
       {pictureText("window"), number(r.window)},
       {pictureText("capacity"), number(r.capacity)},
       {pictureText("offset"), number(r.offset)},
       {pictureText("base"), r.base ? pictureText("%1 (tick %2)").arg(r.base).arg(r.baseTick.value()) : number(0)}});
  return out;
}

}  // namespace kvlab
