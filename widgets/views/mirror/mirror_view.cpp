// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/mirror/mirror_view.h"

#include <QHeaderView>
#include <QScrollBar>
#include <algorithm>
#include <map>

#include "core/api/read_json.h"
#include "widgets/base/alignment_lamp.h"
#include "widgets/base/button_use.h"
#include "widgets/base/layer_text.h"
#include "widgets/base/view_registry.h"

namespace kvlab {

MirrorView::MirrorView(InspectorContext& context, QWidget* parent)
    : InspectorView(context, parent),
      m_model(new MirrorModel(this)),
      m_table(new DataTable(this)),
      m_ask(context, this, "mirror:") {
  makeStrip();
  setContent(m_table);
  setMainControl(m_table);
  m_state = wrappedReadout();
  m_state->setAccessibleName(tr("State of the mirror"));
  m_table->setModel(m_model);
  m_table->setAccessibleName(tr("Cache and mirror, line by line"));
  m_table->setToolTip(tr("Click focuses the row; in red lines cache and context do not match"));
  m_askTags.setSingleShot(true);
  connect(&m_askTags, &QTimer::timeout, this, &MirrorView::askTags);
  connect(m_table->verticalScrollBar(), &QScrollBar::valueChanged, this, [this] { m_askTags.start(30); });
  connect(m_table->verticalScrollBar(), &QScrollBar::rangeChanged, this, [this] { m_askTags.start(0); });
  const auto go = [this](const QModelIndex& index) {
    if (const auto p = m_model->positionOf(index.row()); p >= 0) clickPosition(Position(p));
  };
  connect(m_table, &DataTable::chosen, this, go);
  connect(m_table, &DataTable::hovered, this, [this](const QModelIndex& index) {
    this->context().setHovered(Position(index.isValid() ? m_model->positionOf(index.row()) : -1));
  });
}

void MirrorView::makeStrip() {
  stripLabel(tr("Cache of"));
  m_which = stripChoice({tr("focused layer"), tr("all layers")}, tr("Layers"),
                        tr("Layers whose residency maps are shown next to the context"));
  addOption("layers", {"focus", "all"}, m_which, [this] { fill(); });
  m_onlyBad = stripCheck(tr("Only wrong lines"), tr("Only wrong lines"), tr("Hide the lines without an error"));
  addOption("wrong", m_onlyBad, [this] { fill(); });
  strip()->addStretch(1);
  m_next =
      stripButton(tr("Next wrong"), tr("Next wrong"), tr("Focus the next line that is wrong, in whichever layer (N)"));
  setOwn({m_next});
  connect(m_next, &QToolButton::clicked, this, &MirrorView::goToNextBad);
  QAction* next = addViewAction(
      tr("Next wrong line"), m_next->toolTip(), [this] { goToNextBad(); }, Qt::Key_N);
  setObstacle(next, [this] { return m_next->isEnabled() ? QString() : tr("no line is wrong"); });
}

std::vector<CacheLayer> MirrorView::chosenLayers() const {
  const int count = shown() && shown()->info ? shown()->info->cacheLayers.count() : 0;
  std::vector<CacheLayer> out;
  if (m_which->currentIndex() == 0)
    return {CacheLayer(std::clamp(context().focus().layer.value(), 0, std::max(0, count - 1)))};
  for (int l = 0; l < std::min(count, kMostLayers); ++l) out.push_back(CacheLayer(l));
  return out;
}

void MirrorView::onSnapshot() {
  if (!hasRows()) {
    m_next->setEnabled(false);
    m_state->clear();
    return setEmpty(tr("Cache and mirror side by side, one line per position"), shown() ? promptHow() : noSessionHow());
  }
  setEmpty(QString());
  fill();
}

void MirrorView::fill() {
  if (!hasRows()) return;
  m_layer = context().focus().layer;
  const int scrolled = m_table->verticalScrollBar()->value();
  m_model->set(shown(), chosenLayers(), m_onlyBad->isChecked());
  m_table->takeColumns();
  m_table->verticalScrollBar()->setValue(scrolled);
  sayState();
  m_askTags.start(0);
}

void MirrorView::askTags() {
  const SnapshotPtr snapshot = shown();
  m_ask.forget();
  if (!snapshot || isEmpty()) return;
  const int first = std::max(0, m_table->rowAt(0));
  const int last = first + m_table->viewport()->height() / Theme::kRow + 1;
  for (std::size_t l = 0; l < m_model->layers().size(); ++l) {
    const CacheLayer layer = m_model->layers()[l];
    const auto [begin, end] = m_model->indices(l, first, last);
    if (begin >= end) continue;
    m_ask.alsoQueryShown(
        std::to_string(layer.value()), "table",
        tableArgs("rows", withLayer(*snapshot, layer, {{"begin", begin}, {"end", end}}), {"index", "tag"}),
        [this, layer, snapshot](const Result<nlohmann::json>& reply) {
          std::map<std::int32_t, std::uint64_t> tags;
          if (reply && snapshot == shown())
            for (const auto& row : recordsOf(*reply))
              if (member(row, "tag").is_number_integer())
                tags[memberOr(row, "index", -1)] = memberOr(row, "tag", std::uint64_t{0});
          m_model->setTags(layer, tags);
          sayState();
        });
  }
}

/// The first known finding that has a line here, or that has none; null where there is none.
const Finding* MirrorView::known(bool here) const {
  const SnapshotPtr s = shown();
  if (!s) return nullptr;
  const auto& layers = m_model->layers();
  for (const Finding& one : s->alignment.findings) {
    const bool inSight = one.violation.index && one.violation.layer &&
        std::find(layers.begin(), layers.end(), *one.violation.layer) != layers.end();
    if (inSight == here) return &one;
  }
  return nullptr;
}

/// Lines of the shown layers, then the known findings of all layers.
void MirrorView::sayState() {
  const SnapshotPtr s = shown();
  if (!s || !hasRows()) return;
  const auto look = theme();
  const int bad = m_model->badCount();
  const AlignmentLamp lamp = alignmentLamp(*s);
  const int row = m_model->rowOf(context().focus().position.value());
  const QString here = row >= 0 ? m_model->findingsOf(row) : QString();
  QStringList parts;
  if (bad == 1) parts << tr("✕ one line is wrong");
  if (bad > 1) parts << tr("✕ %1 lines are wrong").arg(bad);
  if (const Finding* first = bad && here.isEmpty() ? known(true) : nullptr)
    parts.back() +=
        tr(", broken %1: %2")
            .arg(QString::fromStdString(intervalText(first->since())), QString::fromStdString(first->blame));
  const bool more = lamp.state == AlignmentLamp::State::Wrong && (bad == 0 || known(false));
  if (bad == 0 || more) parts << (bad ? tr("of all: ") : QString()) + lamp.text.mid(bad ? 2 : 0);
  if (!here.isEmpty()) parts << tr("position %1: ").arg(m_model->positionOf(row)) + here;
  m_state->setText(parts.join(bad || more ? QStringLiteral("\n") : QStringLiteral("   ")));
  const QColor colour = bad ? look->error : lamp.colour(*look);
  m_state->setStyleSheet(QString("#readout { color: %1; }").arg(colour.name()));
  m_state->setToolTip(here.isEmpty() ? lamp.tip : here);
  m_next->setEnabled(bad > 0 || more);
}

/// The finding that has no line here and whose layer comes next; behind the last layer, the first one.
const Finding* MirrorView::elsewhere() const {
  const auto& layers = m_model->layers();
  const Finding* next = known(false);
  for (const Finding& one : shown()->alignment.findings) {
    const auto layer = one.violation.layer;
    if (layer && *layer > context().focus().layer && std::ranges::find(layers, *layer) == layers.end()) return &one;
  }
  return next;
}

/// The next wrong line; behind the last one, the next finding of a layer that is not shown.
void MirrorView::goToNextBad() {
  if (!hasRows()) return;
  const int from = m_table->currentIndex().row(), row = m_model->nextBad(from);
  if (const Finding* other = row <= from || row < 0 ? elsewhere() : nullptr) {
    const CacheLayer layer = other->violation.layer.value_or(context().focus().layer);
    const std::int32_t position = findingPosition(*shown(), *other);
    return position >= 0 ? clickCell(layer, Position(position)) : clickLayer(layer);
  }
  if (row < 0) return;
  m_table->showRow(row);
  if (const auto p = m_model->positionOf(row); p >= 0) clickPosition(Position(p));
}

void MirrorView::onFocus() {
  if (m_which->currentIndex() == 0 && m_layer != context().focus().layer) fill();
  m_table->showRow(m_model->rowOf(context().focus().position.value()));
  sayState();
}

QString MirrorView::dump() const {
  if (isEmpty() || !shown()) return "mirror: empty\n";
  const QString state = QString(m_state->text()).replace(QLatin1Char('\n'), QStringLiteral("   "));
  return QString("mirror: tick %1, %2\n").arg(shown()->tick.value()).arg(state) + m_table->tsv();
}

}  // namespace kvlab

KVLAB_DEFINE_VIEW(MirrorView)
