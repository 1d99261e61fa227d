// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/rings/rings_view.h"

#include <QCheckBox>
#include <QToolButton>
#include <algorithm>

#include "widgets/base/button_use.h"
#include "widgets/base/panes.h"
#include "widgets/base/view_registry.h"

namespace kvlab {
namespace {
constexpr auto kLayout = "ring_fused";  // the layout that the button sets
}

RingsView::RingsView(InspectorContext& context, QWidget* parent)
    : InspectorView(context, parent), m_tiles(context, "rings", this) {
  makeStrip();
  auto* content = new QWidget(this);
  auto* column = tightColumn(content);
  m_canvas = new RingCanvas(context, content);
  m_ticks = new WrapStrip(content);
  column->addWidget(m_canvas, 1);
  column->addWidget(m_ticks);
  setContent(content);
  setMainControl(m_canvas);
  connect(m_canvas, &RingCanvas::clicked, this, &RingsView::clickCell);
  connect(m_canvas, &RingCanvas::groupChosen, this, &RingsView::clickLayer);
  connect(m_ticks, &WrapStrip::picked, this, &RingsView::clickTick);
  for (const auto changed : {&InspectorContext::quantityChanged, &InspectorContext::scaleChanged})
    connect(&context, changed, this, &RingsView::takeAgain);
  connect(&m_tiles, &TileCache::arrived, this, &RingsView::takeValues);
}

void RingsView::makeStrip() {
  m_asMap =
      stripCheck(tr("As map"), tr("Inner band as the map"),
                 tr("Colour the rows in the inner band by the quantity that colours the map, else by their order"));
  addOption("as_map", m_asMap, [this] { takeAgain(); });
  m_legend = new LegendBar(this);
  strip()->addWidget(m_legend);
  m_state = stripLabel({}, 1);
  stripTickLimits();
  m_before =
      stripButton(tr("◀ Wrap"), tr("Previous wrap"), tr("Go to the previous tick in which the pointer passed slot 0"));
  m_after = stripButton(tr("Wrap ▶"), tr("Next wrap"), tr("Go to the next tick in which the pointer passed slot 0"));
  m_use = stripButton(tr("Use %1").arg(kLayout), tr("Use %1 in all layers").arg(kLayout),
                      tr("Store the rows of every layer in a ring that attention reads in place; the content is kept"),
                      "storage_layout");
  for (QToolButton* one : {m_before, m_after, m_use}) one->setAutoRaise(true);
  setOwn({m_before, m_after});
  connect(m_before, &QToolButton::clicked, this, [this] { toWrap(false); });
  connect(m_after, &QToolButton::clicked, this, [this] { toWrap(true); });
  connect(m_use, &QToolButton::clicked, this, [this] {
    context().runCommand(QStringLiteral("storage_layout"), {{"layout", kLayout}});
  });
}

void RingsView::takeValues() {
  std::optional<TileRows> values;
  if (m_asMap->isChecked() && !isEmpty()) {
    const ShownTile best = m_tiles.best(context().quantity());
    values = TileRows(context().quantity(), best, context().scale(context().quantity()));
    m_legend->show(values->legend());
  }
  m_legend->setVisible(values.has_value());
  m_state->setVisible(!values);  // the legend takes its room
  m_canvas->setValues(std::move(values));
}

void RingsView::toWrap(bool after) {
  if (const auto tick = m_ticks->wrapBeside(after)) clickTick(*tick);
}

void RingsView::onSnapshot() {
  std::vector<RingCanvas::Entry> entries;
  bool any = false;
  if (const SnapshotPtr s = shown())
    for (StorageGroup& group : storageGroups(*s)) {
      auto ring = ringPicture(s, group);
      any = any || ring;
      entries.push_back({std::move(group), std::move(ring)});
    }
  m_canvas->setEntries(std::move(entries), shown() ? FindingMarks(*shown()) : FindingMarks());
  const QString how = !shown()
      ? noSessionHow()
      : tr("No layer keeps its rows in a ring now. “Use %1” above, or s.settings({layout: \"%1\"}) in "
           "the console, stores them in one; "
           "the content stays.")
            .arg(kLayout);
  setEmpty(any ? QString() : tr("Slots around a circle: oldest row, write pointer, wrap"), how);
  m_use->setVisible(shown() && !any);
  m_asMap->setVisible(any);
  if (any && m_asMap->isChecked()) m_tiles.request(context().quantity());
  takeValues();
  sayState();
}

void RingsView::sayState() {
  const int entry = m_canvas->selected();
  const bool any = entry >= 0 && !isEmpty();
  const CacheLayer layer = any ? m_canvas->entries()[at(entry)].group.layers.front() : CacheLayer(0);
  m_ticks->show(context().historyInLimits(), layer, shown() ? shown()->tick : Tick(-1));
  for (QToolButton* one : {m_before, m_after}) one->setVisible(any);
  m_before->setEnabled(m_ticks->wrapBeside(false).has_value());
  m_after->setEnabled(m_ticks->wrapBeside(true).has_value());
  if (!any) return m_state->clear();
  const StorageGroup& group = m_canvas->entries()[at(entry)].group;
  m_state->setText(
      QStringList{group.name(), QString::fromStdString(group.storage->layout), tr("tick %1").arg(shown()->tick.value())}
          .join(QStringLiteral("  ·  ")));
  m_canvas->setAccessibleDescription(m_canvas->readout());
}

QString RingsView::dump() const {
  if (isEmpty() || !shown()) return QStringLiteral("rings: none\n");
  QString out = QStringLiteral("rings: tick %1\n").arg(shown()->tick.value());
  for (const RingCanvas::Entry& entry : m_canvas->entries()) {
    out += QStringLiteral("%1: %2\n").arg(entry.group.name(), QString::fromStdString(entry.group.storage->layout));
    if (!entry.ring) continue;
    for (const RingFigure& figure : ringFigures(*entry.ring))
      out += QStringLiteral("  %1: %2\n").arg(figure.name, figure.value);
  }
  return out + m_canvas->readout() + QLatin1Char('\n');
}

/// One line per slot of the focused layer's ring.
QString RingsView::tsv() const {
  const RingPicture* ring = isEmpty() ? nullptr : m_canvas->ring();
  if (!ring) return {};
  QString out = tsvLine({tr("slot"), tr("index"), tr("position"), tr("ledger"), tr("token"), tr("holds")});
  for (int slot = 0; slot < ring->slotCount(); ++slot) {
    const int row = ring->rowAt[at(slot)];
    QStringList cells{QString::number(slot)};
    if (row >= 0) {
      const LedgerId id = ring->group.map->ledger[at(ring->indexOf(row))];
      cells << QString::number(ring->indexOf(row)) << QString::number(ring->positionOf[at(row)])
            << QString::number(id.value()) << tokenText(*ring->snapshot, id);
    } else {
      cells << QString() << QString() << QString() << QString();
    }
    out += tsvLine(cells << ring->describe(slot).section(QStringLiteral("   "), 1));
  }
  return out;
}

}  // namespace kvlab

KVLAB_DEFINE_VIEW(RingsView)
