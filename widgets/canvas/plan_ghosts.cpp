// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/canvas/plan_ghosts.h"

#include <algorithm>

#include "widgets/base/tokens.h"
#include "widgets/canvas/colour_map.h"

namespace kvlab {
namespace {

bool turnsTree(const Action& action) {
  return std::holds_alternative<Expand>(action) || std::holds_alternative<Collapse>(action);
}

void addEdit(PlanGhosts& out, const PlannedAction& edit, const Action& action) {
  for (Position p : edit.removed) out.leaving.push_back(p.value());
  std::vector<TokenId> tokens = tokensOf(action);
  if (!tokens.empty() || turnsTree(action)) out.added.push_back({edit.anchor.value(), std::move(tokens)});
}

/// Positions of ledger rows; -1 = not in the context. [ledger]
std::vector<std::int32_t> positionsOf(const Snapshot& s) {
  std::vector<std::int32_t> out(s.ledger.size(), -1);
  for (std::int32_t p = 0; p < s.length(); ++p)
    if (s.ledger.contains(s.context[at(p)])) out[at(s.context[at(p)].value())] = p;
  return out;
}

void addEvictions(PlanGhosts& out, const std::vector<PlannedEviction>& evictions, const Snapshot& s) {
  if (evictions.empty()) return;
  const std::vector<std::int32_t> positions = positionsOf(s);
  for (const PlannedEviction& eviction : evictions)
    for (LedgerId id : eviction.ledger)
      if (s.ledger.contains(id) && positions[at(id.value())] >= 0)
        out.evicted.push_back({eviction.layer, positions[at(id.value())]});
}

/// What policies have decided in a tick that is open before it happens.
std::vector<PlannedEviction> decidedEvictions(const Snapshot& s) {
  std::vector<PlannedEviction> out;
  if (!s.stage || s.stage->stage != Stage::Prune || !s.info) return out;
  for (const Action& action : s.stage->actions) {
    const auto* evict = std::get_if<Evict>(&action);
    if (!evict) continue;
    for (const CacheLayer layer : s.info->cacheLayers.of(evict->layer))
      if (!evict->kvHead || evict->kvHead->value() == s.info->cacheLayers.partOf(layer))
        out.push_back({layer, evict->ledger});
  }
  return out;
}

/// The part of the run that is exact now.
void addStale(PlanGhosts& out, PositionRun run, const Snapshot& s) {
  const auto exact = [&s](std::int32_t p) {
    return !s.exactness || at(p) >= s.exactness->size() || (*s.exactness)[at(p)] == Exactness::Exact;
  };
  for (std::int32_t p = run.begin; p < std::min(run.end, s.length()); ++p) {
    if (!exact(p)) continue;
    if (!out.stale.empty() && out.stale.back().end == p) ++out.stale.back().end;
    else out.stale.push_back({p, p + 1});
  }
}

}  // namespace

bool PlanGhosts::has(GhostKind kind) const {
  switch (kind) {
    case GhostKind::New: return !added.empty();
    case GhostKind::Leaving: return !leaving.empty();
    case GhostKind::LeavingLayer: return !evicted.empty();
    case GhostKind::Stale: return !stale.empty();
  }
  return false;
}

bool PlanGhosts::leaves(std::int32_t position) const {
  return std::binary_search(leaving.begin(), leaving.end(), position);
}

bool PlanGhosts::leavesLayer(CacheLayer layer, std::int32_t position) const {
  return std::any_of(evicted.begin(), evicted.end(),
                     [&](const Evicted& one) { return one.layer == layer && one.position == position; });
}

bool PlanGhosts::goesStale(std::int32_t position) const {
  const auto run = std::partition_point(stale.begin(), stale.end(),
                                        [position](const PositionRun& one) { return one.end <= position; });
  return run != stale.end() && run->begin <= position;
}

QString PlanGhosts::text(const Snapshot& snapshot, CacheLayer layer, std::int32_t position) const {
  QStringList parts;
  if (leaves(position)) parts << GhostLegend::tr("it goes");
  if (leavesLayer(layer, position)) parts << GhostLegend::tr("this layer loses it");
  if (goesStale(position)) parts << GhostLegend::tr("it goes stale");
  for (const Added& one : added)
    if (one.before == position)
      parts << (one.tokens.empty() ? GhostLegend::tr("new rows come before it")
                                   : GhostLegend::tr("“%1” comes before it").arg(textOf(snapshot, one.tokens)));
  const bool decided = snapshot.stage && snapshot.stage->stage == Stage::Prune;
  return parts.isEmpty()
      ? QString()
      : (decided ? GhostLegend::tr("decided: ") : GhostLegend::tr("queued: ")) + parts.join(QStringLiteral(", "));
}

PlanGhosts planGhosts(const Snapshot& s) {
  PlanGhosts out;
  addEvictions(out, decidedEvictions(s), s);
  if (!s.plan) return out;
  for (const PlannedAction& edit : s.plan->edits)
    if (edit.place >= 0 && at(edit.place) < s.pending.size()) addEdit(out, edit, s.pending[at(edit.place)]);
  addEvictions(out, s.plan->evictions, s);
  for (const PositionRun& run : s.plan->stale) addStale(out, run, s);
  std::sort(out.leaving.begin(), out.leaving.end());
  std::stable_sort(out.added.begin(), out.added.end(),
                   [](const auto& a, const auto& b) { return a.before < b.before; });
  return out;
}

void paintStrike(QPainter& painter, const QLineF& line, const Theme& theme) {
  painter.setPen(QPen(theme.dark ? QColor(0, 0, 0, 190) : QColor(255, 255, 255, 220), 4, Qt::SolidLine, Qt::FlatCap));
  painter.drawLine(line);
  painter.setPen(QPen(theme.text, 2, Qt::SolidLine, Qt::FlatCap));
  painter.drawLine(line);
}

void paintNew(QPainter& painter, const QRectF& box, const Theme& theme) {
  painter.setBrush(Theme::faded(theme.surface, 150));
  painter.setPen(QPen(theme.dark ? QColor(0, 0, 0, 190) : QColor(255, 255, 255, 220), 3.5));
  painter.drawRoundedRect(box, 2, 2);
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(theme.accent, 1.5));
  painter.drawRoundedRect(box, 2, 2);
}

void paintHatch(QPainter& painter, const QRectF& box, const Theme& theme) {
  constexpr double kStep = 5;
  const ColourScale scale = scaleFor(Quantity::Staleness, {});
  const QColor colour(
      colourTable(Quantity::Staleness, theme)[scale.index(static_cast<float>(Exactness::ContextEdited))]);
  painter.save();
  painter.setClipRect(box, Qt::IntersectClip);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(colour, 1.6));
  const double first = std::floor((box.left() - box.height()) / kStep) * kStep;  // joins the hatch of its neighbour
  for (double x = first; x < box.right(); x += kStep)
    painter.drawLine(QPointF(x, box.bottom()), QPointF(x + box.height(), box.top()));
  painter.restore();
}

namespace {
/// A mark and its words.
class GhostEntry : public QWidget {
 public:
  GhostEntry(GhostKind kind, const QString& words, QWidget* parent) : QWidget(parent), m_kind(kind), m_words(words) {
    setAccessibleName(words);
    setToolTip(GhostLegend::tr("What the queued actions would do: %1").arg(words));
    hide();
  }
  QSize sizeHint() const override {
    const QFontMetrics metrics(Theme::current()->small);
    return {kSwatch + Theme::kSmall + metrics.horizontalAdvance(m_words) + Theme::kSmall, Theme::kStrip - 12};
  }
  QSize minimumSizeHint() const override { return sizeHint(); }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    const auto theme = Theme::current();
    const QRectF box(2.5, (height() - kSwatchHeight) / 2 + 0.5, kSwatch - 5, kSwatchHeight - 1);
    const auto strike = [&] {
      paintStrike(painter, {box.left() - 2, box.center().y(), box.right() + 2, box.center().y()}, *theme);
    };
    painter.setRenderHint(QPainter::Antialiasing);
    switch (m_kind) {
      case GhostKind::New: paintNew(painter, box, *theme); break;
      case GhostKind::Leaving:
        painter.fillRect(box, theme->faint);
        strike();
        break;
      case GhostKind::LeavingLayer:
        for (const double y : {box.top() - 2, box.bottom() - 1})  // the layers above and below keep it
          painter.fillRect(QRectF(box.left(), y, box.width(), 3), theme->faint);
        strike();
        break;
      case GhostKind::Stale: paintHatch(painter, box, *theme); break;
    }
    painter.setFont(theme->small);
    painter.setPen(theme->muted);
    painter.drawText(rect().adjusted(kSwatch + Theme::kSmall, 0, 0, 0), Qt::AlignVCenter, m_words);
  }

 private:
  static constexpr int kSwatch = 16, kSwatchHeight = 10;
  const GhostKind m_kind;
  const QString m_words;
};
}  // namespace

GhostLegend::GhostLegend(StripLayout& strip, QWidget* view) : QObject(view), m_head(new QLabel(tr("Queue"), view)) {
  m_head->setForegroundRole(QPalette::PlaceholderText);
  m_head->hide();
  strip.addWidget(m_head);
  const QString words[kGhostKinds] = {tr("new"), tr("goes"), tr("leaves a layer"), tr("goes stale")};
  for (int i = 0; i < kGhostKinds; ++i) {
    m_entries.push_back(new GhostEntry(static_cast<GhostKind>(i), words[i], view));
    strip.addWidget(m_entries.back());
  }
}

void GhostLegend::setGhosts(const PlanGhosts& ghosts) {
  bool any = false;
  for (int i = 0; i < kGhostKinds; ++i) {
    const bool there = ghosts.has(static_cast<GhostKind>(i));
    m_entries[at(i)]->setVisible(there);
    any = any || there;
  }
  m_head->setVisible(any);
}

}  // namespace kvlab
