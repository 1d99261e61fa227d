// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/inspector_context.h"

#include <QGuiApplication>
#include <QStyleHints>
#include <algorithm>

namespace kvlab {

std::optional<Error> refusalOf(const Result<nlohmann::json>& reply) {
  if (!reply) return reply.error();
  if (!reply->is_object()) return {};
  const nlohmann::json& report = reply->contains("report") ? (*reply)["report"] : *reply;
  if (!report.is_object() || report.value("ok", true) || !report.contains("error")) return {};
  return Error::fromJson(report["error"]);
}

void InspectorContext::setFocus(const Focus& focus) {
  if (focus == m_focus) return;
  m_focus = focus;
  emit focusChanged();
}

void InspectorContext::focusPosition(Position position) {
  Focus next = m_focus;
  const SnapshotPtr shown = snapshot();
  const bool inside = shown && position.value() >= 0 && position.value() < shown->length();
  next.position = inside ? position : Position(-1);
  next.ledger = inside ? shown->context[at(position.value())] : LedgerId(-1);
  if (shown) next.tick = shown->tick;
  setFocus(next);
}

void InspectorContext::focusLedger(LedgerId ledger) {
  Focus next = m_focus;
  const SnapshotPtr shown = snapshot();
  next.ledger = ledger;
  next.position = Position(-1);
  if (shown) {
    const auto found = std::find(shown->context.begin(), shown->context.end(), ledger);
    if (found != shown->context.end())
      next.position = Position(static_cast<std::int32_t>(found - shown->context.begin()));
  }
  setFocus(next);
}

void InspectorContext::focusLayer(CacheLayer layer) {
  Focus next = m_focus;
  next.layer = layer;
  setFocus(next);
}

void InspectorContext::freezeClock() {
  m_clockFrozen = true;
  QGuiApplication::styleHints()->setCursorFlashTime(0);
}

QDateTime InspectorContext::now() const {
  return m_clockFrozen ? QDate(2000, 1, 1).startOfDay() : QDateTime::currentDateTime();
}

void InspectorContext::meetSession() {
  ++m_sessionNumber;
  emit sessionChanged();
}

void InspectorContext::setHovered(Position position) {
  if (position == m_hovered) return;
  m_hovered = position;
  emit hoverChanged();
}

void InspectorContext::setQuantity(Quantity quantity) {
  if (quantity == m_quantity) return;
  m_quantity = quantity;
  emit quantityChanged();
}

}  // namespace kvlab
