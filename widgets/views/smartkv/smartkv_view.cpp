// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/smartkv/smartkv_view.h"

#include <QComboBox>
#include <QHeaderView>
#include <QScrollArea>
#include <QStackedWidget>
#include <QToolButton>
#include <algorithm>
#include <cmath>
#include <utility>

#include "widgets/base/button_use.h"
#include "widgets/base/elided_label.h"
#include "widgets/base/format.h"
#include "widgets/base/inspector_view.h"
#include "widgets/base/layer_text.h"
#include "widgets/base/panes.h"
#include "widgets/base/scale_menu.h"
#include "widgets/base/view_registry.h"

namespace kvlab {
namespace {
constexpr int kWide = 760;  // bands are beside the other parts from this width on
constexpr int kHeading = 26;
constexpr auto kGated = "smartkv";  // the policy that uses gates

QString r2Text(const HeadLifespans& head) {
  return std::isfinite(head.r2) ? QString::number(head.r2, 'f', 2) : QStringLiteral("–");
}

/// Reads [layers][length] from a tile, which may have another length.
std::vector<float> scoresFrom(const Tile& tile, std::int32_t length) {
  if (tile.positions == length) return tile.values;
  std::vector<float> out;
  for (int layer = 0; layer < tile.layers; ++layer)
    for (int p = 0; p < length; ++p)
      out.push_back(p < tile.positions ? tile.values[at(layer) * at(tile.positions) + at(p)] : NAN);
  return out;
}

/// A heading above a part of the view.
QLabel* heading(QWidget* parent) {
  auto* label = new ElidedLabel(parent);
  label->setObjectName("card");
  label->setFixedHeight(kHeading);
  label->setContentsMargins(Theme::kMedium, 0, Theme::kMedium, 0);
  label->setFont(Theme::current()->small);
  return label;
}

QString figure(float value) {
  return std::isnan(value) ? QStringLiteral("–") : QString::number(static_cast<double>(value), 'g', 3);
}
}  // namespace

SmartKvView::SmartKvView(InspectorContext& context, QWidget* parent)
    : InspectorView(context, parent),
      m_tiles(context, "smartkv", this),
      m_model(new ContestModel(this)),
      m_ask(context, this, "smartkv.lifespans") {
  makeStrip();
  auto* split = new TurningSplitter(
      kWide, [](int width) { return width * 11 / 20; }, [](int height) { return std::clamp(height / 4, 96, 340); },
      this);
  m_canvas = new BandCanvas(context, split);
  auto* room = new QScrollArea(split);  // parts that do not fit keep their sizes
  room->setWidgetResizable(true);
  room->setFrameShape(QFrame::NoFrame);
  room->setFocusPolicy(Qt::NoFocus);
  room->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  settleBars(room);
  auto* rest = new QSplitter(Qt::Vertical, room);
  rest->setHandleWidth(1);
  rest->setChildrenCollapsible(false);
  m_choice = new ChoicePart(context, this, rest);
  makeContests(rest);
  makeLifespans(rest);
  rest->setStretchFactor(0, 3);
  rest->setStretchFactor(1, 1);
  rest->setStretchFactor(2, 2);
  rest->setSizes({240, 110, 200});
  connect(m_choice, &ChoicePart::chosen, this, [this](CacheLayer layer) { clickLayer(layer); });
  split->addWidget(m_canvas);
  room->setWidget(rest);
  split->addWidget(room);
  setContent(split);
  setMainControl(m_canvas);
  m_readout = readoutLine();
  connect(m_canvas, &AxisCanvas::chosen, this, [this](CanvasCell cell, InspectorContext::Choice choice) {
    clickCell(CacheLayer(cell.line), Position(cell.item), choice);
  });
  connect(m_canvas, &BandCanvas::readoutChanged, this, [this] { m_readout->setText(m_canvas->readout()); });
  connect(&m_tiles, &TileCache::arrived, this, &SmartKvView::take);
  connect(&context, &InspectorContext::scaleChanged, this, &SmartKvView::takeAgain);
  connect(&context, &InspectorContext::busyChanged, this, [this] {
    if (!this->context().busy() && inUse() && !isEmpty()) {
      askLifespans();
      m_choice->ask();
    }
    showLifespans();
  });
}

void SmartKvView::makeStrip() {
  m_state = stripLabel({}, 1);
  m_before = stripButton(tr("◀"), tr("Previous competition"),
                         tr("Go to the previous tick in which rows of the focused layer competed"));
  m_after = stripButton(tr("▶"), tr("Next competition"),
                        tr("Go to the next tick in which rows of the focused layer competed"));
  for (QToolButton* one : {m_before, m_after}) one->setAutoRaise(true);
  connect(m_before, &QToolButton::clicked, this, [this] { stepTick(-1); });
  connect(m_after, &QToolButton::clicked, this, [this] { stepTick(1); });
  m_scale = stripScale([] { return std::string(name(Quantity::Score)); }, tr("layer"));
  m_measure = stripButton(tr("Measure lifespans"), tr("Measure lifespans"),
                          tr("Measure how long each row is used, and compare with its gate's prediction"));
  setOwn({m_before, m_after});
  runsCommand(m_measure, context(), "lifespans_measure");
}

void SmartKvView::makeContests(QWidget* into) {
  auto* part = new QWidget(into);
  auto* column = tightColumn(part);
  m_said = heading(part);
  m_contests = new DataTable(part, m_model, tr("Competition of the tick"),
                             tr("Rows that left the window in this tick; click selects the evicted row"));
  m_contests->setMinimumHeight(64);
  column->addWidget(m_said);
  column->addWidget(m_contests, 1);
  connect(m_contests, &DataTable::chosen, this, [this](const QModelIndex& index) {
    const ContestLine& line = m_model->at(index);
    clickLedger(line.layer, line.contest.loser);
  });
}

void SmartKvView::makeLifespans(QWidget* into) {
  auto* part = m_lifespanPart = new QWidget(into);
  auto* column = tightColumn(part);
  auto* bar = new QWidget(part);
  bar->setObjectName("card");
  bar->setAttribute(Qt::WA_StyledBackground);
  bar->setFixedHeight(30);
  auto* row = new QHBoxLayout(bar);
  row->setContentsMargins(Theme::kMedium, 0, Theme::kSmall, 0);
  m_fit = new ElidedLabel(bar);
  m_fit->setObjectName("cardTitle");
  m_fit->setFont(theme()->small);
  m_head = new QComboBox(bar);
  m_head->setAccessibleName(tr("KV head"));
  m_head->setToolTip(tr("KV head to plot, with the R² of its gate: 1 is perfect, 0 is no better than the mean"));
  m_head->setMinimumWidth(90);
  row->addWidget(m_fit, 1);
  row->addWidget(m_head);
  m_lifespans = new QStackedWidget(part);
  m_plot = new LifespanPlot(m_lifespans);
  m_noPlot = new EmptyNotice(m_lifespans);
  m_lifespans->addWidget(m_noPlot);
  m_lifespans->addWidget(m_plot);
  m_lifespans->setMinimumHeight(110);
  column->addWidget(bar);
  column->addWidget(m_lifespans, 1);
  connect(m_head, &QComboBox::activated, this, [this] {
    showLifespans();
    sayOption("head");
  });
  addOption({"head", [this] { return std::max(0, m_head->currentIndex()) - 1; },
             [this](const nlohmann::json& value) -> std::string {
               const int head = value.is_number_integer() ? value.get<int>() : -2;
               if (head < -1 || head + 1 >= std::max(1, m_head->count()))
                 return "use the number of a KV head whose lifespans were measured, or -1 for all";
               m_head->setCurrentIndex(head + 1);
               showLifespans();
               return {};
             }});
}

void SmartKvView::onSnapshot() {
  const bool measured = shown() && shown()->attentionErrors;  // of rows that are stored in few bits, say
  const bool any = shown() && (shown()->policies || measured) && shown()->length() > 0;
  setEmpty(any ? QString() : tr("Sinks, budget and window of each layer, and which rows compete for a place"),
           !shown() ? noSessionHow()
               : !shown()->policies && !measured
               ? tr("Every layer keeps all its rows now. s.settings({policy: \"smartkv:ratio=0.25\"}) in "
                    "the console or “Policy” in Audit sets a policy that chooses.")
               : promptHow());
  for (QWidget* one : std::initializer_list<QWidget*>{m_before, m_after, m_measure, m_readout}) one->setVisible(any);
  if (!any) return m_state->clear();
  m_canvas->setVisible(shown()->policies != nullptr);  // without policies there are no bands
  if (shown()->policies) m_tiles.request(Quantity::Score);
  take();
  if (!context().busy()) askLifespans();
}

void SmartKvView::take() {
  if (isEmpty() || !shown()) return;
  const auto tile = m_tiles.shown(Quantity::Score);
  const auto before = !tile && m_tiles.atNewest() && m_tiles.waiting() ? m_tiles.latest(Quantity::Score)
                                                                       : tile;  // new scores are on their way
  const std::vector<float> scores = before ? scoresFrom(*before, shown()->length()) : std::vector<float>();
  std::vector<BandRows> layers = bandRows(*shown(), before && shown()->policies ? &scores : nullptr);
  m_model->show(shown(), layers);
  m_canvas->show(shown(), std::move(layers), context().scale(Quantity::Score));
  m_scale->setEnds(m_canvas->scales().first().low, m_canvas->scales().first().high);
  say();
  onFocus();
}

QString SmartKvView::contestsSaid() const {
  if (!shown()->policies) return tr("Every layer keeps all its rows: nothing competes");
  const PolicyAudit& audit = *shown()->policies;
  if (audit.prefilling && shown()->stage && shown()->stage->stage == Stage::Prune)
    return tr("Policies have chosen at the end of the prompt; no row has left yet");
  if (audit.prefilling) return tr("The prompt is still coming in: nothing competes before it ends");
  const auto all = static_cast<qint64>(m_model->lines().size());
  const QString tick = tr("Competition of tick %1").arg(shown()->tick.value());
  if (all == 0) {
    std::int64_t pruned = 0;
    for (const LayerAudit& layer : audit.layers) pruned += audit.tick == shown()->tick ? layer.evicted : 0;
    return tick + QStringLiteral(":  ") +
        (pruned ? tr("%1 left at once, by score").arg(counted(pruned, tr("row"), tr("rows")))
                : tr("no row had to leave"));
  }
  return tick + QStringLiteral(":  ") +
      tr("%1 left a window; %2 won a place, %3 lost")
          .arg(counted(all, tr("row"), tr("rows")))
          .arg(m_model->won())
          .arg(all - m_model->won());
}

void SmartKvView::say() {
  const std::vector<BandRows>& layers = m_canvas->layers();
  const auto l = at(std::clamp(context().focus().layer.value(), 0, std::max(0, static_cast<int>(layers.size()) - 1)));
  m_said->setText(contestsSaid());
  const bool none = m_model->lines().empty();  // the choices above have the room of an empty table
  m_contests->setVisible(!none);
  m_contests->parentWidget()->setMaximumHeight(none ? kHeading : QWIDGETSIZE_MAX);
  if (layers.empty()) return m_state->clear();
  const BandRows& one = layers[l];
  QStringList state{tr("layer %1").arg(layerText(*shown(), one.layer))};
  if (one.bounded)
    state << tr("sinks %1/%2, budget %3/%4, window %5/%6")
                 .arg(one.there.sinks)
                 .arg(one.requested.sinks)
                 .arg(one.there.budget)
                 .arg(one.requested.budget)
                 .arg(one.there.window)
                 .arg(one.requested.window);
  else state << tr("keeps all");
  state << QString::fromStdString(one.policy);
  if (one.score.empty()) state << tr("no scores known");
  m_state->setText(state.join(QStringLiteral("  ·  ")));
}

void SmartKvView::onFocus() {
  if (isEmpty()) return;
  m_canvas->reveal();
  m_contests->showRow(m_model->rowOf(context().focus().layer));
  m_choice->show(m_canvas->layers());
  m_choice->ask();
  m_readout->setText(m_canvas->readout());
  say();
  showLifespans();
}

void SmartKvView::onTheme() {
  if (m_plot) m_plot->follow();
  if (m_choice) m_choice->follow();
}

/// Goes to the nearest tick of the history in which rows of the focused layer competed.
void SmartKvView::stepTick(int by) {
  const auto layer = at(std::max(0, context().focus().layer.value()));
  std::optional<Tick> to;
  for (const SnapshotPtr& s : context().history()) {
    if (!s->policies || layer >= s->policies->layers.size() || s->policies->layers[layer].contests.empty()) continue;
    if (by < 0 && s->tick < shown()->tick) to = s->tick;
    if (by > 0 && s->tick > shown()->tick && !to) to = s->tick;
  }
  if (to) clickTick(*to);
}

void SmartKvView::askLifespans() {
  if (!shown() || !shown()->policies) return;
  if (m_ask.waiting()) return;
  m_ask.query("lifespans", {{"since", m_measured ? m_measured->serial : 0}},
              [this](const Result<nlohmann::json>& reply) {
                if (reply && reply->is_null()) m_measured.reset();  // no measurement yet, or undone
                if (reply && reply->is_object() && reply->contains("layers")) {
                  Result<LifespanView> view = lifespanViewFromJson(*reply);
                  if (view) m_measured = view.take();
                }
                showLifespans();
              });
}

/// The layer of the model that is in focus, by itself or by one of its heads: lifespans are of all its heads.
Layer SmartKvView::layerMeasured() const {
  const CacheLayer focused = std::max(CacheLayer(0), context().focus().layer);
  return shown() ? shown()->info->cacheLayers.layerOf(focused) : Layer(0);
}

const std::vector<HeadLifespans>* SmartKvView::headsOfLayer() const {
  const std::size_t layer = at(layerMeasured());
  return m_measured && layer < m_measured->layers.size() && !m_measured->layers[layer].empty()
      ? &m_measured->layers[layer]
      : nullptr;
}

bool SmartKvView::gated() const {
  if (!shown() || !shown()->policies) return false;
  const auto& layers = shown()->policies->layers;
  return std::any_of(layers.begin(), layers.end(), [](const LayerAudit& layer) { return layer.policy == kGated; });
}

/// The reason why lifespans cannot be measured now; empty = they can.
QString SmartKvView::whyNoLifespans() const {
  if (!shown() || !shown()->policies) return tr("every layer keeps all its rows");
  if (!gated()) return tr("no layer's policy is smartkv, so that no gate predicts");
  return context().busy() ? tr("the engine is working") : QString();
}

void SmartKvView::showLifespans() {
  const QString why = whyNoLifespans();
  m_measure->setEnabled(why.isEmpty());
  m_measure->setToolTip(why.isEmpty() ? tr("Run a fresh pass over the whole context without eviction and record how "
                                           "long each row is used; the session does not change")
                                      : tr("Lifespans cannot be measured: %1").arg(why));
  const std::vector<HeadLifespans>* heads = headsOfLayer();
  m_lifespanPart->setVisible(m_measured || gated());  // without gates the bands need the room
  m_lifespans->setCurrentIndex(heads ? 1 : 0);
  m_head->setVisible(heads != nullptr);
  if (!heads) {
    m_fit->setText(tr("Predicted against actual lifespans"));
    m_noPlot->say(tr("How long rows are used, against what their gate predicted"),
                  m_measured          ? tr("No gate predicted for layer %1.").arg(layerMeasured().value())
                      : why.isEmpty() ? tr("“Measure lifespans” above measures them.")
                                      : tr("Not now: %1.").arg(why));
    return;
  }
  const int before = std::max(0, m_head->currentIndex());
  QStringList names{tr("all heads")};
  for (std::size_t h = 0; h < heads->size(); ++h) names << tr("head %1, R² %2").arg(h).arg(r2Text((*heads)[h]));
  m_head->clear();
  m_head->addItems(names);
  m_head->setCurrentIndex(before < names.size() ? before : 0);
  const int head = m_head->currentIndex() - 1;
  m_plot->show(*heads, head);
  qint64 rows = 0, censored = 0;
  double bias = 0;
  for (std::size_t h = 0; h < heads->size(); ++h) {
    if (head >= 0 && head != static_cast<int>(h)) continue;
    rows += (*heads)[h].rows, censored += (*heads)[h].censored;
    bias += std::isfinite((*heads)[h].bias) ? (*heads)[h].bias * ((*heads)[h].rows - (*heads)[h].censored) : 0;
  }
  QStringList said{tr("Layer %1").arg(layerMeasured().value()),
                   tr("%1, %2 still in use").arg(counted(rows, tr("row"), tr("rows"))).arg(censored)};
  if (rows > censored)
    said << tr("predicts %1 too %2")
                .arg(QString::number(std::abs(bias / static_cast<double>(rows - censored)), 'f', 2),
                     bias < 0 ? tr("short") : tr("long"));
  if (m_measured->tick != shown()->tick) said << tr("measured in tick %1").arg(m_measured->tick.value());
  m_fit->setText(said.join(QStringLiteral("  ·  ")));
}

QString SmartKvView::dump() const {
  if (isEmpty() || !shown()) return QStringLiteral("smartkv: every layer keeps all its rows\n");
  QString out = QStringLiteral("smartkv: tick %1, %2\n").arg(shown()->tick.value()).arg(m_state->text());
  for (const BandRows& one : m_canvas->layers())
    out += QStringLiteral("layer %1: %2, sinks %3, budget %4, window %5, lowest %6\n")
               .arg(layerText(*shown(), one.layer))
               .arg(QString::fromStdString(one.policy))
               .arg(one.there.sinks)
               .arg(one.there.budget)
               .arg(one.there.window)
               .arg(std::isnan(one.lowest) ? QStringLiteral("–")
                                           : QString::number(static_cast<double>(one.lowest), 'g', 3));
  out += m_choice->dump() + m_said->text() + QLatin1Char('\n') + m_contests->tsv() + m_fit->text() + QLatin1Char('\n');
  if (const auto* heads = headsOfLayer())
    for (std::size_t h = 0; h < heads->size(); ++h)
      out += QStringLiteral("head %1: R2 %2, bias %3, %4 rows, %5 still in use\n")
                 .arg(h)
                 .arg(r2Text((*heads)[h]))
                 .arg((*heads)[h].bias, 0, 'f', 2)
                 .arg((*heads)[h].rows)
                 .arg((*heads)[h].censored);
  return out + m_canvas->readout() + QLatin1Char('\n');
}

/// One line per layer and token of the context.
QString SmartKvView::tsv() const {
  if (isEmpty() || !shown()) return {};
  QString out = tsvLine({tr("layer"), tr("position"), tr("ledger"), tr("token"), tr("band"), tr("score")});
  for (const BandRows& one : m_canvas->layers())
    for (std::size_t p = 0; p < one.band.size(); ++p) {
      const bool known = !one.score.empty() && !std::isnan(one.score[p]);
      out += tsvLine({layerText(*shown(), one.layer), QString::number(p), QString::number(shown()->context[p].value()),
                      tokenText(*shown(), shown()->context[p]), title(one.band[p]),
                      known ? QString::number(static_cast<double>(one.score[p])) : QString()});
    }
  return out;
}

ContestModel::ContestModel(QObject* parent) : LineModel(parent) {
  using Line = const ContestLine&;
  const auto ledger = [](LedgerId id) { return tr("ledger %1").arg(id.value()); };
  addNumber("layer", tr("Layer"), tr("The layer"), {"999", 4},
            [this](Line line) { return layerText(*m_snapshot, line.layer); });
  add("challenger", tr("Challenger"), tr("The row that left the window"), QString(10, 'x'),
      [this](Line line) { return tokenText(*m_snapshot, line.contest.challenger); })
      .in(Tone::Normal)
      .tips([ledger](Line line) { return ledger(line.contest.challenger); });
  addNumber("score", tr("Score"), tr("Score of the row that left the window"), {"0.00999", 2},
            [](Line line) { return figure(line.contest.challengerScore); });
  add("outcome", tr("Outcome"), tr("Whether the challenger won a place in the budget"), QString(13, 'x'),
      [](Line line) { return line.won() ? tr("stays, out goes") : tr("lost, leaves"); })
      .words()
      .toned([](Line line) { return line.won() ? Tone::Ok : Tone::Warning; });
  add("out", tr("Out"), tr("The row that was evicted instead"), QString(10, 'x'),
      [this](Line line) { return line.won() ? tokenText(*m_snapshot, line.contest.loser) : QString(); })
      .in(Tone::Normal)
      .tips([ledger](Line line) { return line.won() ? ledger(line.contest.loser) : QString(); });
  addNumber("out_score", tr("Score"), tr("Its score"), {"0.00999", 1},
            [](Line line) { return line.won() ? figure(line.contest.loserScore) : QString(); });
  addNumber("by", tr("By"), tr("Score difference to the evicted row, or to the lowest row of the budget"),
            {"+0.00999", 3},
            [](Line line) { return (line.margin > 0 ? QStringLiteral("+") : QString()) + figure(line.margin); });
  withTone([](Line) { return Tone::Muted; });
}

void ContestModel::show(SnapshotPtr snapshot, const std::vector<BandRows>& layers) {
  m_snapshot = std::move(snapshot);
  std::vector<ContestLine> lines;
  for (const BandRows& layer : layers)
    for (const Contest& contest : layer.contests) {
      ContestLine line{layer.layer, contest, contest.challengerScore - contest.loserScore};
      if (!line.won()) line.margin = contest.challengerScore - layer.lowest;
      lines.push_back(line);
    }
  replace(std::move(lines));
}

int ContestModel::rowOf(CacheLayer layer) const {
  return find([&](const ContestLine& line) { return line.layer == layer; });
}

int ContestModel::won() const {
  return static_cast<int>(
      std::count_if(m_lines.begin(), m_lines.end(), [](const ContestLine& line) { return line.won(); }));
}

}  // namespace kvlab

KVLAB_DEFINE_VIEW(SmartKvView)
