// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/quant/quant_view.h"

#include <QCheckBox>
#include <QComboBox>
#include <QGridLayout>
#include <QToolButton>
#include <algorithm>
#include <utility>

#include "core/api/manifest.h"
#include "widgets/base/button_use.h"
#include "widgets/base/elided_label.h"
#include "widgets/base/format.h"
#include "widgets/base/layer_text.h"
#include "widgets/base/panes.h"
#include "widgets/base/view_registry.h"

namespace kvlab {
namespace {
constexpr int kWide = 600,
              kTall = 440;     // rows are beside the table from this width on, below it from this height on
constexpr int kMostLines = 9;  // most lines of the table above them before it scrolls
}  // namespace

/// Details of a row: its token, and the errors of its key and value, one line each.
class QuantCard : public QWidget {
 public:
  explicit QuantCard(QWidget* parent) : QWidget(parent) {
    setObjectName("readout");
    setAttribute(Qt::WA_StyledBackground);
    auto* grid = new QGridLayout(this);
    grid->setContentsMargins(Theme::kMedium, Theme::kSmall, Theme::kMedium, Theme::kSmall);
    grid->setHorizontalSpacing(Theme::kLarge);
    grid->setVerticalSpacing(0);
    grid->setColumnStretch(0, 2);
    grid->setColumnStretch(1, 7);
    const auto label = [&](int row, int column, const QFont& font) {
      auto* made = new ElidedLabel(this);
      made->setTextFormat(Qt::PlainText);
      made->setFont(font);
      made->setFixedHeight(18);
      made->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
      grid->addWidget(made, row, column);
      return made;
    };
    const auto theme = Theme::current();
    m_token = label(0, 0, theme->strong), m_keys = label(0, 1, theme->monoSmall);
    m_place = label(1, 0, theme->small), m_values = label(1, 1, theme->monoSmall);
  }

  /// row: index in the measured context, -1 = none.
  void say(const QuantMeasure& measure, CacheLayer layer, int row, bool hovered) {
    const Snapshot& of = *measure.of;
    for (QLabel* one : {m_token, m_place, m_keys, m_values}) one->clear();
    if (row < 0 || row >= of.length())
      return m_keys->setText(QuantView::tr("no row of the measured context is focused"));
    const LedgerId id = of.context[at(row)];
    m_token->setText(tokenText(of, id));
    m_place->setText(QuantView::tr("%1 %2, ledger %3, layer %4")
                         .arg(hovered ? QuantView::tr("pointer at") : QuantView::tr("position"))
                         .arg(row)
                         .arg(id.value())
                         .arg(layerText(of, layer)));
    m_keys->setText(rowText(measure, layer, true, row));
    m_values->setText(rowText(measure, layer, false, row));
  }

  QString text() const {
    return QStringLiteral("%1, %2\n%3\n%4").arg(m_token->text(), m_place->text(), m_keys->text(), m_values->text());
  }

 private:
  QLabel *m_token, *m_place, *m_keys, *m_values;
};

QuantView::QuantView(InspectorContext& context, QWidget* parent)
    : InspectorView(context, parent), m_model(new QuantModel(this)), m_ask(context, this) {
  makeStrip();
  makeBody();
  makeActions();
  connect(&context, &InspectorContext::commandReplied, this, [this](const CommandReply& command) {
    if (m_ask.waiting() || command.id != QLatin1String("quantisation_measure")) return;
    m_refused.reset();
    take(command.reply);
    showMeasure();
  });
  connect(&context, &InspectorContext::progressed, this, [this](const QString&, qint64 done, qint64 total) {
    if (!m_ask.waiting()) return;
    m_progress = total > 0 ? tr(", layer %1 of %2").arg(std::min(done + 1, total)).arg(total) : QString();
    showState();
  });
}

void QuantView::makeStrip() {
  m_state = stripLabel({}, 1);
  m_stale = stripLabel({});
  m_stale->setObjectName("warning");
  m_stale->setFont(theme()->smallStrong);
  stripLabel(tr("Bars"));
  QStringList figures;
  std::vector<std::string> words;
  for (int i = 0; i < kQuantFigures; ++i) {
    figures << title(static_cast<QuantFigure>(i));
    words.emplace_back(name(static_cast<QuantFigure>(i)));
  }
  m_figure = stripChoice(figures, tr("Figure of the bars"),
                         tr("Figure shown by the bars; the strip below shows the scale of each row"));
  addOption("figure", words, m_figure, [this] { showRows(); });
  m_follow =
      stripCheck(tr("Follow"), tr("Measure every tick"),
                 tr("Measure again after every change of the rows; each measurement is a pass over the whole context"));
  addOption("follow", m_follow, [this] { measureIfWanted(); });
  QStringList types{tr("as stored")};
  std::vector<std::string> typeWords{"stored"};
  for (const std::string_view type : rowTypes()) {
    types << wordOf(type);
    typeWords.emplace_back(type);
  }
  stripLabel(tr("Try K"));
  m_tryK = stripChoice(types, tr("Type to try for K"), tr("Measure K as another type would hold it; the rows stay"));
  addOption("try_k", typeWords, m_tryK, [this] { measure(true); });
  stripLabel(tr("V"));
  m_tryV = stripChoice(types, tr("Type to try for V"), tr("Measure V as another type would hold it; the rows stay"));
  addOption("try_v", typeWords, m_tryV, [this] { measure(true); });
  m_measure = stripButton(tr("Measure"), tr("Measure quantisation"), {}, "quantisation_measure");
  connect(m_measure, &QToolButton::clicked, this, [this] { measure(true); });
}

void QuantView::makeBody() {
  const auto lines = [this](int height) {
    return std::min(height / 2, m_table->tallFor(std::clamp(m_model->rowCount(), 2, kMostLines)));
  };
  auto* split = new TurningSplitter(
      kWide, [](int width) { return width * 9 / 20; }, lines, this);
  split->setTallFrom(kTall);
  m_table = new SortedTable(
      split, m_model, tr("Quantisation by layers"),
      tr("Click a line to show the rows of the layer, a column title to sort by it; click again to reverse the order"));
  m_table->stretch({"k_worst", "v_worst", "logit"});
  connect(m_table, &SortedTable::sorted, this, &QuantView::onFocus);
  addOption(m_table->sortOption());
  connect(m_table, &SortedTable::sortedByUser, this, [this] { sayOption("sort"); });
  connect(m_table, &DataTable::chosen, this,
          [this](const QModelIndex& index) { clickLayer(CacheLayer(m_table->modelRow(index))); });
  m_canvas = new QuantCanvas(context(), split);
  connect(m_canvas, &AxisCanvas::chosen, this, [this](CanvasCell cell) { focusRow(CacheLayer(cell.line), cell.item); });
  split->addWidget(m_table);
  split->addWidget(m_canvas);
  setContent(split);
  setMainControl(m_canvas);
  m_card = new QuantCard(this);
  body()->addWidget(m_card);
}

void QuantView::makeActions() {
  QAction* worst = addViewAction(
      tr("Go to the worst row"),
      tr("Focus the row with the largest bar of the layer; press again for the other tensor"), [this] { focusWorst(); },
      QKeySequence(QStringLiteral("W")));
  setObstacle(worst, [this] { return m_measured ? QString() : tr("nothing is measured"); });
  addViewAction(
      tr("Order by the next column"), tr("Sort the layers by the next column of the table"),
      [this] { m_table->sortByNext(); }, QKeySequence(QStringLiteral("S")));
}

void QuantView::focusWorst() {
  if (!m_measured) return;
  const int keys = m_canvas->lanes()[0].bars.worst, values = m_canvas->lanes()[1].bars.worst;
  const int row = keys < 0 || m_canvas->focusRow() == keys ? values : keys;
  if (row >= 0) focusRow(layer(), row);
}

CacheLayer QuantView::layer() const {
  return CacheLayer(std::clamp(context().focus().layer.value(), 0, std::max(0, m_model->rowCount() - 1)));
}
QuantFigure QuantView::figure() const { return static_cast<QuantFigure>(m_figure->currentIndex()); }

nlohmann::json QuantView::types() const {
  nlohmann::json out = nlohmann::json::object();
  for (const auto& [side, box] : {std::pair{"k", m_tryK}, std::pair{"v", m_tryV}})
    if (box->currentIndex() > 0) out[side] = box->currentText().toStdString();
  return out;
}

/// Measures the newest state, whichever is shown. A command, so that it runs in order and can be cancelled.
void QuantView::measure(bool byHand) {
  if (!hasRows() || m_ask.waiting()) return;
  m_refused.reset();
  m_progress.clear();
  const auto arrived = [this](const Result<nlohmann::json>& reply) {
    take(reply);
    showMeasure();
    measureIfWanted();
  };
  nlohmann::json args = types();
  if (byHand) {
    m_ask.run(QStringLiteral("quantisation_measure"), args, arrived);
  } else {
    args.update({{"rows", true}, {"packed", true}});
    m_ask.submit("quantisation", args, arrived);
  }
  showState();
}

void QuantView::take(const Result<nlohmann::json>& reply) {
  if (!reply) {
    m_refused = reply.error();
    return;
  }
  Result<QuantMeasure> measured = quantMeasure(*reply, context().history());
  if (measured) m_measured = std::make_shared<const QuantMeasure>(measured.take());
  else m_refused = measured.error();
}

/// Does not repeat a refused measurement automatically.
void QuantView::measureIfWanted() {
  if (!m_follow->isChecked() || m_refused || context().history().empty()) return;
  if (!m_measured || !sameRows(*m_measured->of, *context().history().back())) measure(false);
}

void QuantView::onSession() {
  m_measured.reset();
  m_refused.reset();
  showMeasure();
}

void QuantView::onSnapshot() {
  const FindingMarks findings = shown() ? FindingMarks(*shown()) : FindingMarks();
  m_model->setFindings(findings);
  m_canvas->setFindings(findings);
  measureIfWanted();
  showState();
}

void QuantView::showMeasure() {
  m_model->show(m_measured);
  showRows();
  showState();
  onFocus();
}

QString QuantView::why() const {
  if (!shown()) return noSessionHow();
  if (!hasRows()) return promptHow();
  if (m_ask.waiting())
    return tr("Computing every row anew and comparing it with what is stored") + m_progress + QStringLiteral(" …");
  if (m_refused) return sentence(*m_refused);
  return tr(
      "“Measure” above computes every row anew and compares it with what its storage type holds; “Follow” does so "
      "after every tick. “Try” measures other types and leaves the rows as they are; “K” and “V” in Storage convert "
      "the "
      "rows.");
}

QString QuantView::staleText() const {
  if (!m_measured || !shown() || sameRows(*m_measured->of, *shown())) return {};
  const Tick then = m_measured->of->tick;
  return then == shown()->tick ? tr("⚠ rows have changed since")
                               : tr("⚠ tick %1, shown is %2").arg(then.value()).arg(shown()->tick.value());
}

void QuantView::showState() {
  m_card->setVisible(m_measured != nullptr);
  setEmpty(m_measured                          ? QString()
               : m_refused && !m_ask.waiting() ? tr("Quantisation was not measured")
               : m_ask.waiting()               ? tr("Measuring")
                                 : tr("The error of stored rows: relative, as a cosine and in logits, K and V apart"),
           why());
  m_measure->setEnabled(hasRows() && !m_ask.waiting());
  m_measure->setToolTip(m_ask.waiting() ? tr("A measurement is under way; Cancel (Esc) stops it")
                            : hasRows() ? tr("Compute every row of the newest tick again and compare it with the "
                                             "stored row; the session does not change")
                                        : tr("There is no row to measure"));
  m_figure->setEnabled(m_measured != nullptr);
  m_stale->setText(staleText());
  m_stale->setVisible(!m_stale->text().isEmpty());
  m_stale->setToolTip(tr("Other views show other rows; “Measure” measures the rows of the newest tick"));
  QStringList state;
  if (m_measured && m_ask.waiting()) state << tr("measuring") + m_progress;
  if (m_measured && m_refused) state << QString::fromStdString(m_refused->text());
  if (m_measured) {
    state << tr("tick %1").arg(m_measured->of->tick.value());
    if (m_measured->tried && !m_measured->layers.empty())
      state << tr("tried: K in %1, V in %2").arg(m_measured->layers[0].k.type, m_measured->layers[0].v.type);
    const auto worst = [&](const char* column, const QString& what) {
      if (const int at = m_model->worstIn(column); at >= 0)
        state << tr("%1 worst in layer %2").arg(what, layerText(*m_measured->of, CacheLayer(at)));
    };
    worst("k_worst", tr("K"));
    worst("v_worst", tr("V"));
    worst("logit", tr("logits"));
    for (const CacheLayer layer : idRange<CacheLayer>(0, m_model->rowCount()))
      if (m_measured->layers[at(layer)].spoilt())
        state << tr("⚠ values clipped in layer %1").arg(layerText(*m_measured->of, layer));
  }
  m_state->setText(state.join(QStringLiteral("  ·  ")));
  m_table->setAccessibleDescription(m_state->text());
}

void QuantView::showRows() {
  m_canvas->show(m_measured, layer(), figure());
  m_figure->setToolTip(figure() == QuantFigure::Scale
                           ? tr("Figure shown by the bars; the strip below shows the relative error of each row")
                           : tr("Figure shown by the bars; the strip below shows the scale of each row"));
  showRow();
}

void QuantView::focusRow(CacheLayer layer, int row) {
  const LedgerId id = m_measured->of->context[at(row)];
  if (row < shown()->length() && shown()->context[at(row)] == id) return clickCell(layer, Position(row));
  clickLedger(layer, id);
}

void QuantView::showRow() {
  if (!m_measured) return;
  const int hovered = m_canvas->hoveredRow();
  m_card->say(*m_measured, layer(), hovered >= 0 ? hovered : m_canvas->focusRow(), hovered >= 0);
  m_canvas->setAccessibleDescription(m_card->text());
}

void QuantView::onFocus() {
  if (!m_measured) return;
  m_table->showModelRow(layer().value());
  showRows();
  m_canvas->revealFocus();
}

QString QuantView::dump() const {
  if (!m_measured)
    return QStringLiteral("quantisation: not measured\n") + (m_refused ? why() + QLatin1Char('\n') : QString());
  QString out = QStringLiteral("quantisation: %1\n").arg(m_state->text());
  if (m_stale->isVisibleTo(this)) out += m_stale->text() + QLatin1Char('\n');
  out += tsv();
  for (const QuantLane& lane : m_canvas->lanes())
    out += QStringLiteral("%1 %2: mean %3, worst at %4\n")
               .arg(lane.keys ? "K" : "V", title(lane.bars.figure), figureText(lane.bars.mean))
               .arg(lane.bars.worst);
  return out + m_card->text() + QLatin1Char('\n');
}

QString QuantView::tsv() const { return m_measured ? m_table->plainTsv() : QString(); }

}  // namespace kvlab

KVLAB_DEFINE_VIEW(QuantView)
