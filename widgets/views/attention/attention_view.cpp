// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/attention/attention_view.h"

#include <QCheckBox>
#include <QComboBox>
#include <QSignalBlocker>
#include <QToolButton>
#include <algorithm>
#include <cmath>

#include "core/api/read_json.h"
#include "widgets/base/button_use.h"
#include "widgets/base/format.h"
#include "widgets/base/layer_text.h"
#include "widgets/base/scale_menu.h"
#include "widgets/base/view_registry.h"

namespace kvlab {
namespace {
/// Other views ask about the query of a single row.
bool ofNewest(const Result<nlohmann::json>& reply) {
  return !reply || memberOr(*reply, "end", 0) == memberOr(*reply, "length", 0);
}
}  // namespace

AttentionView::AttentionView(InspectorContext& context, QWidget* parent)
    : InspectorView(context, parent), m_canvas(new AttentionCanvas(context, this)), m_ask(context, this, "attention") {
  makeStrip();
  setContent(m_canvas);
  setMainControl(m_canvas);
  addRowActions(*m_canvas, [this](Position row) { return m_canvas->rowRect(row).translated(m_canvas->pos()); });
  connect(m_canvas, &AxisCanvas::chosen, this, &AttentionView::choose);
  connect(m_canvas, &AxisCanvas::menuOver, this, [this](CanvasCell cell) {
    const Snapshot& of = *m_canvas->picture()->of;
    if (shown() && cell.item < shown()->length() && shown()->context[at(cell.item)] == of.context[at(cell.item)])
      pointAt(m_canvas->picture()->layer, Position(cell.item));
  });
  connect(&context, &InspectorContext::commandReplied, this, [this](const CommandReply& command) {
    if (m_ask.waiting() || command.id != QLatin1String("attention_measure") || !ofNewest(command.reply)) return;
    m_refused.reset();
    take(command.reply);
  });
  connect(&context, &InspectorContext::progressed, this, [this](const QString&, qint64 done, qint64 total) {
    if (!m_ask.waiting()) return;
    m_progress = total > 1 ? tr(", query %1 of %2").arg(std::min(done + 1, total)).arg(total) : QString();
    showState();
  });
}

void AttentionView::makeStrip() {
  stripLabel(tr("Lines"));
  m_mode = stripChoice({tr("heads"), tr("queries")}, tr("Lines of the matrix"),
                       tr("heads: every query head of the newest token. queries: the last queries of one head, each "
                          "asked again over the rows that the layer holds now"));
  addOption("lines", {"heads", "queries"}, m_mode, [this] {
    showState();
    measureIfWanted();
  });
  stripLabel(tr("Head"));
  m_head = stripChoice({}, tr("Query head"), tr("The query head that the views share"));
  makeHeads();
  m_countLabel = stripLabel(tr("Last"));
  m_count = stripChoice({"16", "64", "256"}, tr("Number of queries"),
                        tr("Queries that are asked; each is a pass over the layers"));
  m_count->setCurrentIndex(1);
  addOption("last", {"16", "64", "256"}, m_count, [this] { measureIfWanted(); });
  m_legend = new LegendBar(this);
  m_legend->setMinimumWidth(300);
  strip()->addWidget(m_legend);
  m_scale = stripScale([] { return std::string(name(Quantity::Attention)); }, tr("line"));
  connect(&context(), &InspectorContext::scaleChanged, this, [this] {
    m_canvas->setScale(context().scale(Quantity::Attention));
    showColours();
  });
  m_state = stripLabel({}, 1);
  m_stale = stripLabel({});
  m_stale->setObjectName("warning");
  m_stale->setFont(theme()->smallStrong);
  m_follow = stripCheck(tr("Follow"), tr("Measure every tick"),
                        tr("Measure again after every tick and in every layer that is focused"));
  addOption("follow", m_follow, [this] { measureIfWanted(); });
  m_measure = stripButton(tr("Measure"), tr("Measure attention by head"), {});
  setCommand(m_measure, "attention_measure");
  connect(m_measure, &QToolButton::clicked, this, [this] { measure(true); });
}

/// The head is that of the shared focus; the control and scripts set the head there.
void AttentionView::makeHeads() {
  connect(m_head, &QComboBox::activated, this, [this](int head) {
    chooseHead(head);
    sayOption("head");
  });
  const auto set = [this](const nlohmann::json& value) -> std::string {
    const int most = std::max(0, heads() - 1);
    if (const int head = jsonOr(value, -1); head < 0 || head > most)
      return "use a head from 0 to " + std::to_string(most);
    chooseHead(jsonOr(value, 0));
    return {};
  };
  addOption({"head", [this] { return nlohmann::json(context().focus().head.value()); }, set});
}

void AttentionView::chooseHead(int head) {
  Focus to = context().focus();
  to.head = Head(head);
  context().setFocus(to);
}

int AttentionView::heads() const {
  if (!shown() || !shown()->info) return 1;
  return std::max(1, shown()->info->heads / shown()->info->cacheLayers.perLayer);
}

CacheLayer AttentionView::layer() const {
  const int layers = shown() ? static_cast<int>(shown()->layers.size()) : 1;
  return CacheLayer(std::clamp(context().focus().layer.value(), 0, std::max(0, layers - 1)));
}

bool AttentionView::wantsQueries() const { return m_mode->currentIndex() == 1; }

/// The picture shows the newest tick, the focused layer and the choices of the controls.
bool AttentionView::current() const {
  const AttentionPicturePtr& picture = m_canvas->picture();
  if (!picture || context().history().empty()) return false;
  const bool alike = picture->of->tick == context().history().back()->tick && picture->layer == layer();
  if (!wantsQueries()) return alike && !picture->byQuery();
  const int wanted = std::min(m_count->currentText().toInt(), picture->length());
  return alike && picture->queries == wanted && picture->heads.size() == 1 &&
      picture->heads[0] == context().focus().head.value();
}

/// Measures the newest state, whichever is shown. A command, so that the passes run in order and can be cancelled.
void AttentionView::measure(bool byHand) {
  if (!hasRows() || m_ask.waiting()) return;
  m_refused.reset();
  m_progress.clear();
  const auto arrived = [this](const Result<nlohmann::json>& reply) {
    take(reply);
    measureIfWanted();
  };
  nlohmann::json args = withLayer(*shown(), layer());
  if (wantsQueries()) {
    args["head"] = std::min(context().focus().head.value(), heads() - 1);
    args["begin"] = std::max(0, context().history().back()->length() - m_count->currentText().toInt());
  }
  if (byHand) return m_ask.run(QStringLiteral("attention_measure"), args, arrived), showState();
  args["packed"] = true;
  m_ask.submit("attentionMatrix", args, arrived);
  showState();
}

/// Does not repeat a refused measurement automatically.
void AttentionView::measureIfWanted() {
  if (!m_follow->isChecked() || m_refused || !inUse() || context().history().empty()) return;
  if (!current()) measure(false);
}

void AttentionView::take(const Result<nlohmann::json>& reply) {
  if (!reply) {
    m_refused = reply.error();
    return showState();
  }
  Result<AttentionPicturePtr> picture = attentionPicture(*reply, context().history());
  if (picture) {
    m_canvas->show(*picture);
    showColours();
    m_canvas->revealFocus();
  } else {
    m_refused = picture.error();
  }
  showState();
}

void AttentionView::onSession() {
  m_canvas->show(nullptr);
  m_refused.reset();
  showState();
}

void AttentionView::onSnapshot() {
  m_canvas->setFindings(shown() ? FindingMarks(*shown()) : FindingMarks());
  measureIfWanted();
  showState();
}

void AttentionView::onFocus() {
  measureIfWanted();
  showState();
  m_canvas->revealFocus();
}

void AttentionView::choose(CanvasCell cell, InspectorContext::Choice choice) {
  const auto [line, row] = cell;
  const AttentionPicture& picture = *m_canvas->picture();
  if (line >= 0 && !picture.byQuery() && picture.headOf(line) != context().focus().head.value()) {
    chooseHead(picture.headOf(line));
    sayOption("head");
  }
  const LedgerId id = picture.of->context[at(row)];
  if (row < shown()->length() && shown()->context[at(row)] == id)
    return clickCell(picture.layer, Position(row), choice);
  clickLedger(picture.layer, id);
}

QString AttentionView::why() const {
  if (!shown()) return noSessionHow();
  if (!hasRows()) return promptHow();
  if (m_ask.waiting())
    return tr("Asking the queries over the rows that the layer holds") + m_progress + QStringLiteral(" …");
  if (m_refused) return sentence(*m_refused);
  return tr(
      "“Measure” above asks the newest token's query, or the last queries of one head, over the rows that the focused "
      "layer holds; “Follow” does so after every tick.");
}

QString AttentionView::staleText() const {
  const AttentionPicturePtr& picture = m_canvas->picture();
  if (!picture || !shown()) return {};
  if (picture->of->tick != shown()->tick)
    return tr("⚠ tick %1, shown is %2").arg(picture->of->tick.value()).arg(shown()->tick.value());
  if (picture->layer != layer())
    return tr("⚠ layer %1, focused is %2").arg(layerText(*picture->of, picture->layer), layerText(*shown(), layer()));
  return {};
}

QString AttentionView::summary() const {
  const AttentionPicturePtr& picture = m_canvas->picture();
  if (!picture) return {};
  QStringList out{tr("tick %1").arg(picture->of->tick.value()),
                  tr("layer %1").arg(layerText(*picture->of, picture->layer)),
                  tr("over %1 resident rows of %2 tokens")
                      .arg(picture->of->layers[at(picture->layer)]->resident())
                      .arg(picture->length())};
  if (picture->byQuery()) out.insert(2, tr("head %1").arg(picture->heads[0]));
  if (m_ask.waiting()) out.prepend(tr("measuring") + m_progress);
  if (m_refused) out.prepend(QString::fromStdString(m_refused->text()));
  return out.join(QStringLiteral("  ·  "));
}

void AttentionView::showHeads() {
  const QSignalBlocker quiet(m_head);
  if (m_head->count() != heads()) {
    m_head->clear();
    for (int head = 0; head < heads(); ++head) m_head->addItem(QString::number(head));
  }
  m_head->setCurrentIndex(std::clamp(context().focus().head.value(), 0, heads() - 1));
  m_countLabel->setVisible(wantsQueries());
  m_count->setVisible(wantsQueries());
}

void AttentionView::showColours() {
  if (!m_canvas->picture()) return;
  const auto& [scales, cells, gone, unmeasured] = m_canvas->colours();
  m_legend->show({scales, onlyValue(m_canvas->picture()->values), gone, unmeasured});
  m_scale->setEnds(scales.first().low, scales.first().high);
}

void AttentionView::showState() {
  showHeads();
  const bool some = m_canvas->picture() != nullptr && shown();
  m_legend->setVisible(some);
  setEmpty(some                                ? QString()
               : m_refused && !m_ask.waiting() ? tr("Attention was not measured")
               : m_ask.waiting()               ? tr("Measuring")
                                               : tr("What each query head attends to, row by row"),
           why());
  m_measure->setEnabled(hasRows() && !m_ask.waiting());
  m_measure->setToolTip(m_ask.waiting() ? tr("A measurement is under way; Cancel (Esc) stops it")
                            : hasRows() ? tr("Ask the queries of the newest tick over the rows of the focused layer; "
                                             "the session does not change")
                                        : tr("There is no row to attend to"));
  m_stale->setText(staleText());
  m_stale->setVisible(!m_stale->text().isEmpty());
  m_stale->setToolTip(tr("“Measure” measures the newest tick in the focused layer"));
  m_state->setText(summary());
}

QString AttentionView::dump() const {
  const AttentionPicturePtr& picture = m_canvas->picture();
  if (!picture)
    return QStringLiteral("attention: not measured\n") + (m_refused ? why() + QLatin1Char('\n') : QString());
  QString out = QStringLiteral("attention: %1\n").arg(m_state->text());
  if (m_stale->isVisibleTo(this)) out += m_stale->text() + QLatin1Char('\n');
  for (int line = 0; line < picture->lines(); ++line) {
    const int best = picture->strongest(line);
    out += m_canvas->lineText(line) + tr(": sum %1").arg(figureText(picture->sum(line)));
    if (best >= 0) out += tr(", most %1 at position %2").arg(figureText(double(picture->value(line, best)))).arg(best);
    out += QLatin1Char('\n');
  }
  return out + m_canvas->readout() + QLatin1Char('\n');
}

QString AttentionView::tsv() const {
  return m_canvas->tsv([this](int line) { return m_canvas->lineText(line); },
                       [this](CanvasCell cell) { return m_canvas->picture()->value(cell.line, cell.item); });
}

}  // namespace kvlab

KVLAB_DEFINE_VIEW(AttentionView)
