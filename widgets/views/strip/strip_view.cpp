// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/strip/strip_view.h"

#include <QClipboard>
#include <QGuiApplication>
#include <algorithm>
#include <cmath>

#include "widgets/base/alignment_lamp.h"
#include "widgets/base/button_use.h"
#include "widgets/base/finding_marks.h"
#include "widgets/base/format.h"
#include "widgets/base/row_actions.h"
#include "widgets/base/view_registry.h"

namespace kvlab {
namespace {
/// Findings of checks on the rows of a token, else on any rows.
QString wrongAt(const Snapshot& s, const Chip* chip) {
  if (chip && chip->wrong) return "   " + FindingMarks(s).text(chip->ledger).replace('\n', QStringLiteral("   "));
  const AlignmentLamp lamp = alignmentLamp(s);
  return lamp.state == AlignmentLamp::State::Wrong ? "   " + lamp.text : QString();
}

QString spaced(const QString& text) { return text.isEmpty() ? text : "   " + text; }
}  // namespace

StripView::StripView(InspectorContext& context, QWidget* parent)
    : InspectorView(context, parent), m_tiles(context, "strip", this), m_text(new TokenText(context, this)) {
  makeStrip();
  setContent(m_text);
  setMainControl(m_text);
  m_readout = readoutLine();
  QAction* copy =
      addViewAction(tr("Copy text"), tr("Copy the selected tokens as text (Ctrl+C)"), [this] { copySelection(); });
  setObstacle(copy, [this] { return hasRows() ? QString() : tr("the context is empty"); });
  for (const auto changed : {&InspectorContext::quantityChanged, &InspectorContext::scaleChanged})
    connect(&context, changed, this, &StripView::takeAgain);
  connect(&m_tiles, &TileCache::arrived, this, &StripView::take);
  connect(&context, &InspectorContext::selectionChanged, this, &StripView::sayReadout);
  connect(m_text, &TokenText::clicked, this, [this](int chip, InspectorContext::Choice choice) {
    const Chip& c = m_text->chips()[at(chip)];
    c.position >= 0 ? clickPosition(Position(c.position), choice) : clickLedger(c.ledger);
  });
  connect(m_text, &TokenText::dragged, this, &StripView::saySelection);
  connect(m_text, &TokenText::pointed, this,
          [this](Position position) { pointAt(this->context().focus().layer, position); });
  addRowActions(*m_text, [this](Position row) { return placeOf(row); });
  connect(m_text, &TokenText::opened, rowActions()->action("replace"), &QAction::trigger);
  connect(m_text, &TokenText::textDropped, rowActions(), &RowActions::insertText);
}

void StripView::makeStrip() {
  stripLabel(tr("Colour"));
  auto* box = new QuantityBox(context(), this);
  strip()->addWidget(box);
  connect(box, &QuantityBox::chosen, this, [this] { sayOption("quantity"); });
  addOption(quantityOption(context()));
  m_layers = stripChoice({tr("Worst of all layers"), tr("Focused layer")}, tr("Layers"),
                         tr("Show each token's maximum over layers, or one layer"));
  addOption("layers", {"worst", "focus"}, m_layers, [this] { take(); });
  m_ghosts = stripCheck(tr("Ghosts"), tr("Show ghosts"),
                        tr("Also show tokens that have left the context, the newest 2 048, at their old places"));
  m_ghosts->setChecked(true);
  addOption("ghosts", m_ghosts, [this] { take(); });
  m_transcript = stripCheck(tr("Transcript"), tr("Show as transcript"),
                            tr("Running text with its spaces and line breaks, a line below each token in its colour; "
                               "clicks, keys and the selection work as on the tokens"));
  addOption("transcript", m_transcript, [this] { m_text->setTranscript(m_transcript->isChecked()); });
  m_legend = new LegendBar(this);
  m_legend->show({scalesFor(context().quantity(), {}, 0, {})});
  strip()->addWidget(m_legend, 1);
  m_planned = new GhostLegend(*strip(), this);
}

void StripView::onSnapshot() {
  if (!hasRows()) {
    m_legend->show({scalesFor(context().quantity(), {}, 0, {})});
    return setEmpty(tr("The text that the cache remembers, coloured like the map"),
                    shown() ? promptHow() : noSessionHow());
  }
  setEmpty(QString());
  m_tiles.request(context().quantity());
  if (!m_tiles.atNewest()) take();
}

void StripView::colour(std::vector<Chip>& chips, const Tile& tile, const MaxPyramid& cells) const {
  const bool one = m_layers->currentIndex() == 1;
  const int first = one ? std::clamp(context().focus().layer.value(), 0, std::max(0, tile.layers - 1)) : 0;
  const int last = one ? std::min(first + 1, tile.layers) : tile.layers;
  for (Chip& chip : chips) {
    if (chip.position < 0 || chip.position >= tile.positions) continue;
    for (int l = first; l < last; ++l) {
      const std::uint8_t index = cells.at(l, chip.position);
      if (index <= chip.index) continue;
      chip.index = index;
      chip.value = tile.values[at(l) * at(tile.positions) + at(chip.position)];
    }
  }
}

void StripView::take() {
  if (!shown()) return;
  m_layer = context().focus().layer;
  const auto [tile, snapshot] = m_tiles.best(context().quantity());
  PlanGhosts planned = planGhosts(*snapshot);
  std::vector<Chip> chips = chipsOf(*snapshot, planned, m_ghosts->isChecked());
  if (tile) {
    const MatrixColours colours = tileColours(*tile, *snapshot, context().scale(tile->request.quantity));
    m_legend->show({colours.scales, onlyValue(tile->values), colours.gone, colours.unmeasured});
    colour(chips, *tile, colours.cells);
  }
  const bool one = m_layers->currentIndex() == 1;
  if (!one) planned.evicted.clear();  // the strip shows the rows of all layers as one
  m_planned->setGhosts(planned);
  m_text->setChips(snapshot, std::move(chips), std::move(planned), context().quantity(),
                   one ? std::optional(m_layer) : std::nullopt);
  sayReadout();
}

void StripView::onFocus() {
  if (m_layers->currentIndex() == 1 && m_layer != context().focus().layer) take();
  m_text->reveal(context().focus().position);
  m_text->viewport()->update();
  sayReadout();
}

void StripView::onHover() {
  m_text->viewport()->update();
  sayReadout();
}

/// Text of the readout, without the tick of its values.
QString StripView::readout() const {
  const SnapshotPtr s = shown();
  if (!s || s->length() == 0) return {};
  if (!context().selection().empty())
    return tr("%1 selected: Return replaces, Del deletes, Ctrl+C copies the text, a right click shows all")
        .arg(counted(static_cast<qint64>(context().chosenRows().size()), tr("token"), tr("tokens")));
  const Position at = context().hovered().value() >= 0 ? context().hovered() : context().focus().position;
  for (const Chip& chip : m_text->chips())
    if (chip.position >= 0 && chip.position == at.value())
      return QStringList{at == context().hovered() ? tr("under pointer") : tr("focus"),
                         tr("position %1").arg(at.value()), tokenText(*s, chip.ledger),
                         tr("ledger %1").arg(chip.ledger.value()), m_text->valueOf(chip)}
                 .join("   ") +
          spaced(m_text->queuedText(chip)) + wrongAt(*s, &chip);
  if (const QString ghost = ghostText(*s, context().focus()); !ghost.isEmpty()) return ghost;
  std::size_t ghosts = 0;
  for (const Chip& chip : m_text->chips()) ghosts += chip.isGhost();
  return tr("%1, %2 shown")
             .arg(counted(s->length(), tr("token"), tr("tokens")),
                  counted(static_cast<qint64>(ghosts), tr("ghost"), tr("ghosts"))) +
      wrongAt(*s, nullptr);
}

void StripView::sayReadout() {
  const QString note = m_tiles.note();
  m_readout->setText(note.isEmpty() ? readout() : readout() + "   " + note);
}

QRect StripView::placeOf(Position row) const {
  const auto& chips = m_text->chips();
  const auto chip =
      std::find_if(chips.begin(), chips.end(), [row](const Chip& c) { return c.position == row.value(); });
  if (chip == chips.end()) return m_text->geometry();
  return m_text->chipRect(static_cast<int>(chip - chips.begin())).translated(m_text->pos());
}

void StripView::copySelection() {
  if (m_text->selectedText().isEmpty()) return InspectorView::copySelection();
  QGuiApplication::clipboard()->setText(m_text->selectedText());
}

QString StripView::dump() const {
  if (isEmpty() || !shown()) return "strip: empty\n";
  QString out = QString("strip: %1, tick %2\n").arg(name(context().quantity()).data()).arg(shown()->tick.value());
  if (m_text->isTranscript()) return out + m_text->transcript() + QChar('\n');
  for (const Chip& chip : m_text->chips()) {
    if (chip.isPlanned()) {
      out += QString("+ %1 queued\n").arg(tokenText(*shown()->info, chip.planned));
      continue;
    }
    const QString queued = chip.position >= 0 ? m_text->queuedText(chip) : QString();
    out += QString("%1 %2 %3%4%5\n")
               .arg(chip.position >= 0 ? QString::number(chip.position) : QStringLiteral("-"),
                    tokenText(*shown(), chip.ledger),
                    chip.position < 0            ? QString::fromUtf8(name(shown()->ledger[chip.ledger].state).data())
                        : std::isnan(chip.value) ? m_text->valueOf(chip)
                                                 : valueText(context().quantity(), chip.value),
                    chip.wrong ? QStringLiteral(" WRONG") : QString(),
                    queued.isEmpty() ? QString() : QStringLiteral(" (%1)").arg(queued));
  }
  return out;
}

QString StripView::tsv() const {
  if (!shown()) return {};
  QString out = tsvLine({"position", "ledger", "token", "value"});
  for (const Chip& chip : m_text->chips())
    if (!chip.isPlanned())
      out += tsvLine({chip.position >= 0 ? QString::number(chip.position) : QString(),
                      QString::number(chip.ledger.value()), tokenText(*shown(), chip.ledger),
                      std::isnan(chip.value) ? QString() : QString::number(static_cast<double>(chip.value))});
  return out;
}

}  // namespace kvlab

KVLAB_DEFINE_VIEW(StripView)
