// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/map/map_view.h"

#include <QPointer>
#include <QThreadPool>
#include <QToolButton>
#include <algorithm>

#include "widgets/base/alignment_lamp.h"
#include "widgets/base/button_use.h"
#include "widgets/base/format.h"
#include "widgets/base/layer_text.h"
#include "widgets/base/scale_menu.h"
#include "widgets/base/tokens.h"
#include "widgets/base/view_registry.h"
#include "widgets/canvas/measured_by.h"

namespace kvlab {
namespace {
constexpr std::size_t kBigTile = 1u << 18;  // values from which a pool thread makes the picture
}  // namespace

MapView::MapView(InspectorContext& context, QWidget* parent)
    : InspectorView(context, parent), m_tiles(context, "map", this), m_canvas(new MapCanvas(context, this)) {
  makeStrip();
  setContent(m_canvas);
  setMainControl(m_canvas);
  addRowActions(*m_canvas, [this](Position row) { return m_canvas->rowRect(row).translated(m_canvas->pos()); });
  makeActions();
  for (const auto changed : {&InspectorContext::quantityChanged, &InspectorContext::scaleChanged})
    connect(&context, changed, this, &MapView::takeAgain);
  connect(&m_tiles, &TileCache::arrived, this, &MapView::take);
  connect(m_canvas, &AxisCanvas::chosen, this, [this](CanvasCell cell, InspectorContext::Choice choice) {
    clickCell(CacheLayer(cell.line), Position(cell.item), choice);
  });
  connect(m_canvas, &AxisCanvas::menuOver, this,
          [this](CanvasCell cell) { pointAt(CacheLayer(std::max(0, cell.line)), Position(cell.item)); });
}

void MapView::makeStrip() {
  stripLabel(tr("Colour"));
  auto* box = new QuantityBox(context(), this);
  strip()->addWidget(box);
  connect(box, &QuantityBox::chosen, this, [this] { sayOption("quantity"); });
  addOption(quantityOption(context()));
  m_legend = new LegendBar(this);
  m_legend->show({scalesFor(context().quantity(), {}, 0, {})});
  strip()->addWidget(m_legend, 1);
  m_scale = stripScale([this] { return std::string(name(context().quantity())); }, tr("layer"));
  m_ghosts = new GhostLegend(*strip(), this);
  m_received = stripButton(tr("Show received"), tr("Show received attention"),
                           tr("Colour the rows by the attention that they received from the prompt's queries"));
  m_received->setObjectName("received");
  m_received->hide();
  setOwn({m_received});
  connect(m_received, &QToolButton::clicked, this, [this] {
    context().setQuantity(Quantity::Received);
    sayOption("quantity");
  });
}

void MapView::makeActions() {
  const auto add = [this](const QString& text, const QString& tip, const char* sign, auto slot) {
    auto* button = new QToolButton(this);
    button->setDefaultAction(addViewAction(text, tip, slot));
    button->setText(QString::fromUtf8(sign));
    button->setAccessibleName(text);
    button->setAutoRaise(true);
    setOwn({button});
    button->setFocusPolicy(Qt::TabFocus);
    strip()->addWidget(button);
  };
  add(tr("Zoom out"), tr("Zoom out (-)"), "−", [this] { m_canvas->zoomBy(1 / 1.5), m_canvas->sayRange(); });
  add(tr("Zoom in"), tr("Zoom in around the focus (+)"), "+", [this] { m_canvas->zoomBy(1.5), m_canvas->sayRange(); });
  add(tr("Show all"), tr("Show the whole context (0, or double click)"), "Fit",
      [this] { m_canvas->fit(), m_canvas->sayRange(); });
  connect(m_canvas, &AxisCanvas::ranged, this, [this] { sayOptions({"from", "to"}); });
  for (ViewOption& option : m_canvas->rangeOptions("position")) addOption(std::move(option));
}

void MapView::onSnapshot() {
  if (!hasRows()) {
    m_legend->show({scalesFor(context().quantity(), {}, 0, {})});
    m_received->hide();
    return setEmpty(tr("Every row of the cache, layer by position"), shown() ? promptHow() : noSessionHow());
  }
  setEmpty(QString());
  m_tiles.request(context().quantity());
  if (!m_tiles.atNewest()) take();
}

void MapView::take() {
  if (!shown()) return;
  const Quantity quantity = context().quantity();
  const ShownTile best = m_tiles.best(quantity);
  const SnapshotPtr snapshot = best.snapshot;
  std::shared_ptr<const Tile> tile = best.tile;
  if (!tile) tile = tileFromSnapshot(*snapshot, quantity);
  m_canvas->setNote(m_tiles.note());
  if (!tile && !m_tiles.atNewest() && (tile = tileFromSnapshot(*snapshot, Quantity::Residency)))
    m_canvas->setNote((m_tiles.waiting() ? tr("residency of tick %1, until its values come")
                                         : tr("values of tick %1 are not known: residency shown"))
                          .arg(snapshot->tick.value()));
  if (const AlignmentLamp lamp = alignmentLamp(*snapshot); lamp.state == AlignmentLamp::State::Wrong)
    m_canvas->setNote(lamp.text);
  if (!tile) return;
  const quint64 job = ++m_job;
  const ScaleChoice choice = context().scale(tile->request.quantity);
  if (tile->values.size() < kBigTile) {
    m_done = job;
    return showPicture(makeMapPicture(snapshot, tile, choice));
  }
  QThreadPool::globalInstance()->start([self = QPointer<MapView>(this), app = qApp, job, snapshot, tile, choice] {
    auto picture = makeMapPicture(snapshot, tile, choice);
    QMetaObject::invokeMethod(app, [self, job, picture] {
      if (!self || job != self->m_job) return;
      self->m_done = job;
      self->showPicture(picture);
    });
  });
}

void MapView::showPicture(std::shared_ptr<const MapPicture> picture) {
  const MatrixColours& colours = picture->colours;
  m_legend->show({colours.scales, onlyValue(picture->tile->values), colours.gone, colours.unmeasured});
  if (const QString how = measuredBy(picture->quantity());
      colours.unmeasured && !how.isEmpty() && m_canvas->note().isEmpty())
    m_canvas->setNote(tr("not measured: %1").arg(how));
  m_scale->setEnds(colours.scales.first().low, colours.scales.first().high);
  m_ghosts->setGhosts(picture->ghosts);
  m_received->setVisible(picture->quantity() == Quantity::Brightness &&
                         m_legend->plain());  // before the first generated token all rows are equally bright
  m_canvas->setPicture(std::move(picture));
  m_canvas->revealFocus();
}

QString MapView::dump() const {
  const MapPicture* picture = m_canvas->picture();
  if (!picture || !hasRows()) return "map: empty\n";
  const Tile& tile = *picture->tile;
  QString out = QString("map: %1, tick %2, %3 layers, %4 positions\n")
                    .arg(wordOf(name(tile.request.quantity)))
                    .arg(tile.tick.value())
                    .arg(tile.layers)
                    .arg(tile.positions);
  out += QString("scale: %1\n").arg(m_legend->accessibleDescription());
  for (int l = 0; l < tile.layers; ++l) {
    QStringList cells;
    for (int p = 0; p < std::min(tile.positions, 256); ++p)
      cells << QString("%1").arg(picture->colours.cells.at(l, p), 2, 16, QChar('0'));
    out += QString("layer %1: %2\n").arg(layerText(*picture->snapshot, CacheLayer(l)), cells.join(' '));
  }
  const auto list = [](const std::vector<std::int32_t>& positions) {
    QStringList texts;
    for (std::int32_t p : positions) texts << QString::number(p);
    return texts.isEmpty() ? QStringLiteral("none") : texts.join(' ');
  };
  for (const PlanGhosts::Evicted& one : picture->ghosts.evicted)
    out +=
        QString("queued: layer %1 loses position %2\n").arg(layerText(*picture->snapshot, one.layer)).arg(one.position);
  for (const PlanGhosts::Added& one : picture->ghosts.added)
    out += QString("queued: “%1” before position %2\n").arg(textOf(*picture->snapshot, one.tokens)).arg(one.before);
  for (const PositionRun& one : picture->ghosts.stale)
    out += QString("queued: positions %1 to %2 go stale\n").arg(one.begin).arg(one.end - 1);
  for (const FindingMark& one : picture->findings.all())
    out += QString("wrong: layer %1, position %2\n")
               .arg(one.layer ? layerText(*picture->snapshot, *one.layer) : QStringLiteral("any"))
               .arg(one.position);
  out += "edited: " + list(picture->edited) + "\nqueued: " + list(picture->ghosts.leaving) + " leave\n" +
      m_canvas->readout() + "\n";
  return out;
}

QString MapView::tsv() const {
  return m_canvas->tsv(
      [this](int line) { return QString("layer %1").arg(layerText(*m_canvas->picture()->snapshot, CacheLayer(line))); },
      [this](CanvasCell cell) { return m_canvas->picture()->value(cell.line, cell.item); });
}

}  // namespace kvlab

KVLAB_DEFINE_VIEW(MapView)
