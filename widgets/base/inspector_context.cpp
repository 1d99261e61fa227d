// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/inspector_context.h"

#include <QGuiApplication>
#include <QStyleHints>
#include <algorithm>

#include "core/api/read_json.h"
#include "widgets/base/storage_groups.h"

namespace kvlab {

std::optional<Error> refusalOf(const Result<nlohmann::json>& reply) {
  if (!reply) return reply.error();
  const nlohmann::json& inside = member(*reply, "report");
  const nlohmann::json& report = inside.is_null() ? *reply : inside;
  if (memberOr(report, "ok", true) || !member(report, "error").is_object()) return {};
  return Error::fromJson(member(report, "error"));
}

InspectorContext::Choice choiceOf(Qt::KeyboardModifiers held) {
  if (held & Qt::ShiftModifier) return InspectorContext::Choice::Extend;
  return held & Qt::ControlModifier ? InspectorContext::Choice::Toggle : InspectorContext::Choice::Only;
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
  m_anchor = next.ledger;
  select({});
  setFocus(next);
}

void InspectorContext::focusLedger(LedgerId ledger) {
  Focus next = m_focus;
  const SnapshotPtr shown = snapshot();
  next.ledger = ledger;
  next.position = Position(shown ? placeIn(*shown, ledger, -1) : -1);
  m_anchor = ledger;
  select({});
  setFocus(next);
}

void InspectorContext::focusLayer(CacheLayer layer) {
  Focus next = m_focus;
  next.layer = layer;
  setFocus(next);
}

bool InspectorContext::selected(LedgerId row) const {
  return std::binary_search(m_selection.begin(), m_selection.end(), row);
}

void InspectorContext::select(std::vector<LedgerId> rows) {
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  if (rows == m_selection) return;
  m_selection = std::move(rows);
  emit selectionChanged();
}

void InspectorContext::choose(Position position, Choice choice) {
  const SnapshotPtr shown = snapshot();
  if (!shown || position.value() < 0 || position.value() >= shown->length()) return;
  const auto& context = shown->context;
  const LedgerId row = context[at(position.value())], anchor = m_anchor;
  const auto from = std::find(context.begin(), context.end(), anchor);
  if (choice == Choice::Only || (choice == Choice::Extend && from == context.end())) return focusPosition(position);
  std::vector<LedgerId> rows;
  if (choice == Choice::Extend) {
    const auto to = context.begin() + position.value();
    rows.assign(std::min(from, to), std::max(from, to) + 1);
  } else {
    rows = m_selection;
    if (rows.empty() && m_focus.position.value() >= 0) rows.push_back(m_focus.ledger);
    const auto old = std::find(rows.begin(), rows.end(), row);
    if (old != rows.end() && rows.size() > 1) rows.erase(old);
    else if (old == rows.end()) rows.push_back(row);
  }
  if (rows.size() == 1) return focusLedger(rows.front());
  focusPosition(position);
  if (choice == Choice::Extend) m_anchor = anchor;
  select(std::move(rows));
}

std::vector<Position> InspectorContext::chosenRows() const {
  std::vector<Position> found;
  const SnapshotPtr shown = snapshot();
  if (!shown) return found;
  for (std::int32_t p = 0; p < shown->length() && !m_selection.empty(); ++p)
    if (selected(shown->context[at(p)]) && shown->ledger.contains(shown->context[at(p)])) found.push_back(Position(p));
  const std::int32_t focused = m_focus.position.value();
  const bool inside = focused >= 0 && focused < shown->length();
  if (found.empty() && inside && shown->ledger.contains(shown->context[at(focused)])) found.push_back(m_focus.position);
  return found;
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
  m_anchor = LedgerId(-1);
  select({});
  limitTicks({});
  emit sessionChanged();
}

void InspectorContext::limitTicks(std::optional<TickRange> range) {
  if (range == m_tickLimits) return;
  m_tickLimits = range;
  emit ticksLimited();
}

std::span<const SnapshotPtr> InspectorContext::historyInLimits() const {
  const std::span<const SnapshotPtr> all = history();
  if (!m_tickLimits) return all;
  const auto tickOf = [](const SnapshotPtr& one) { return one->tick; };
  const auto first = std::ranges::lower_bound(all, m_tickLimits->first, {}, tickOf);
  return {first, std::ranges::upper_bound(first, all.end(), m_tickLimits->last, {}, tickOf)};
}

void InspectorContext::setHovered(Position position) {
  if (position == m_hovered) return;
  m_hovered = position;
  emit hoverChanged();
}

const ScaleChoice& InspectorContext::scale(const std::string& of) const {
  static const ScaleChoice usual;
  const auto found = m_scales.find(of);
  return found == m_scales.end() ? usual : found->second;
}

void InspectorContext::setScale(const std::string& of, const ScaleChoice& choice) {
  if (choice == scale(of)) return;
  m_scales[of] = choice;
  emit scaleChanged();
}

void InspectorContext::setQuantity(Quantity quantity) {
  if (quantity == m_quantity) return;
  m_quantity = quantity;
  emit quantityChanged();
}

}  // namespace kvlab
