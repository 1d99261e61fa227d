// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/history/history_view.h"

#include <QComboBox>
#include <QPainter>
#include <QToolButton>
#include <algorithm>
#include <array>
#include <cmath>

#include "core/api/read_json.h"
#include "widgets/base/button_use.h"
#include "widgets/base/finding_marks.h"
#include "widgets/base/format.h"
#include "widgets/base/layer_text.h"
#include "widgets/base/panes.h"
#include "widgets/base/strip_layout.h"
#include "widgets/base/view_registry.h"
#include "widgets/table/data_table.h"

namespace kvlab {
namespace {
QString wordIn(const nlohmann::json& row, const char* key) {
  return QString::fromStdString(memberOr(row, key, std::string()));
}

/// "slot 12, phase 9; inject": where a chapter of a story left the row, and the verb that did it.
QString chapterText(const nlohmann::json& row) {
  QStringList parts;
  if (QString detail = wordIn(row, "detail"); !detail.isEmpty()) parts << detail.replace('_', ' ');
  if (const int slot = memberOr(row, "slot", -1); slot >= 0 && memberOr(row, "wrote", false))
    parts << HistoryView::tr("slot %1, phase %2").arg(slot).arg(memberOr(row, "phase", 0.0));
  if (const QString verb = wordIn(row, "verb"); !verb.isEmpty()) parts << verb;
  return parts.join("; ");
}

/// Lists that the view offers: tables of the session.
constexpr std::array kTables = {"history", "story", "reads", "decisions"};

/// "read": 12.3 % of the newest query's attention.
HistoryEvent readEvent(const nlohmann::json& row, const QString& layer) {
  return {Tick(memberOr(row, "tick", std::int64_t{0})), HistoryView::tr("read"), layer,
          shareText(memberOr(row, "mass", 0.0))};
}

QString layerText(const nlohmann::json& row) {
  const nlohmann::json& layer = member(row, "layer");
  return layer.is_number() ? QString::number(jsonOr(layer, 0)) : QString::fromStdString(jsonOr(layer, std::string()));
}
}  // namespace

HistoryModel::HistoryModel(QObject* parent) : LineModel(parent) {
  using Past = const HistoryEvent&;
  const auto tone = [this](Tone past) { return [=, this](Past e) { return e.tick > m_shown ? Tone::Ghost : past; }; };
  addNumber("tick", tr("tick"), tr("Tick of the event"), "       131",
            [](Past e) { return QString::number(e.tick.value()); })
      .with(kFirstOfTick, [](Past e) { return e.first; })
      .with(kShownTick, [this](Past e) { return e.tick == m_shown; })
      .with(kEventTone, [](Past e) { return static_cast<int>(toneOfEvent(e.event)); });
  add("event", tr("event"), tr("Event"), "context edited", [](Past e) { return e.event; })
      .words()
      .toned(tone(Tone::Normal));
  addNumber("layer", tr("layer"), tr("Layer of the event; empty = all layers"), {"layer", 1},
            [](Past e) { return e.layer; });
  add("detail", tr("detail"), tr("Cause or details of the event"), QString(10, 'x'), [](Past e) {
    return e.detail;
  }).words();
  withTone(tone(Tone::Muted));
}

void HistoryModel::set(std::vector<HistoryEvent> events) {
  for (std::size_t i = 1; i < events.size(); ++i) events[i].first = events[i].tick != events[i - 1].tick;
  replace(std::move(events));
}

void HistoryModel::setShownTick(Tick tick) {
  if (m_shown == tick) return;
  m_shown = tick;
  changed();
}

namespace {
/// Paints the rail and the dots of the timeline next to the tick.
class RailDelegate : public DataDelegate {
 public:
  using DataDelegate::DataDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    const auto theme = Theme::current();
    DataDelegate::paint(painter, option, index);
    const QColor colour = toneColour(static_cast<Tone>(index.data(HistoryModel::kEventTone).toInt()), *theme);
    const double x = option.rect.left() + 15.5, y = option.rect.center().y() + 0.5;
    const bool top = index.row() == 0, bottom = index.row() + 1 == index.model()->rowCount();
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    painter->setPen(QPen(theme->border, 2));
    painter->drawLine(QPointF(x, top ? y : option.rect.top()), QPointF(x, bottom ? y : option.rect.bottom() + 1));
    const double radius = index.data(HistoryModel::kFirstOfTick).toBool() ? 4.5 : 3;
    painter->setPen(QPen(theme->surface, 2));
    painter->setBrush(colour);
    painter->drawEllipse(QPointF(x, y), radius + 1, radius + 1);
    if (index.data(HistoryModel::kShownTick).toBool()) {
      painter->setBrush(Qt::NoBrush);
      painter->setPen(QPen(theme->accent, 1.5));
      painter->drawEllipse(QPointF(x, y), radius + 3, radius + 3);
    }
    painter->restore();
  }
};
}  // namespace

RowCard::RowCard(QWidget* parent)
    : QWidget(parent), m_token(new QLabel(this)), m_facts(new QLabel(this)), m_family(new QHBoxLayout) {
  setObjectName("card");
  setAttribute(Qt::WA_StyledBackground);
  auto* lines = new QVBoxLayout(this);
  lines->setContentsMargins(Theme::kLarge, Theme::kMedium, Theme::kLarge, Theme::kMedium);
  lines->setSpacing(Theme::kSmall);
  lines->addWidget(m_token);
  lines->addWidget(m_facts);
  lines->addLayout(m_family);
  m_family->setSpacing(Theme::kSmall);
  m_token->setObjectName("cardTitle");
  m_token->setTextFormat(Qt::PlainText);
  m_token->setTextInteractionFlags(Qt::TextSelectableByMouse);
  m_facts->setTextFormat(Qt::PlainText);
  m_facts->setWordWrap(true);
  m_token->setFont(Theme::current()->strong);
  m_facts->setFont(Theme::current()->small);
}

void RowCard::clearFamily() {
  while (QLayoutItem* item = m_family->takeAt(0)) {
    delete item->widget();
    delete item;
  }
}

void RowCard::family(const Snapshot& snapshot, const QString& title, const std::vector<LedgerId>& ids) {
  if (ids.empty()) return;
  auto* label = new QLabel(title, this);
  label->setFont(Theme::current()->small);
  m_family->addWidget(label);
  QStringList names;
  for (LedgerId id : ids) {
    auto* button = new QToolButton(this);
    button->setText(QString("%1  %2").arg(id.value()).arg(tokenText(snapshot, id)));
    button->setAccessibleName(tr("Ledger row %1").arg(id.value()));
    button->setToolTip(tr("Focus ledger row %1").arg(id.value()));
    button->setFocusPolicy(Qt::TabFocus);
    setOwn({button});
    connect(button, &QToolButton::clicked, this, [this, id] { emit chosen(id); });
    m_family->addWidget(button);
    names << button->text();
  }
  m_lines << title + " " + names.join(", ");
}

void RowCard::showRow(const Snapshot& s, LedgerId id) {
  const LedgerRow& row = s.ledger[id];
  const int position = placeIn(s, id, -1);
  const QString place = position >= 0 ? tr("position %1").arg(position) : tr("not in the context");
  int resident = 0;
  for (const auto& layer : s.layers)
    resident += std::find(layer->ledger.begin() + layer->first, layer->ledger.end(), id) != layer->ledger.end();
  m_token->setText(tr("%1   ledger %2").arg(tokenText(s, id)).arg(id.value()));
  QStringList facts{
      wordOf(name(row.state)) + (row.pinned ? tr(", pinned") : QString()), place,
      (s.info && s.info->cacheLayers.byHead() ? tr("resident in %1 of %2 KV heads") : tr("resident in %1 of %2 layers"))
          .arg(resident)
          .arg(s.layers.size()),
      tr("from %1 in tick %2").arg(wordOf(name(row.source))).arg(row.born.value())};
  if (row.state != RowState::Live) facts << tr("%1 in tick %2").arg(wordOf(name(row.state))).arg(row.changed.value());
  m_facts->setText(facts.join(QStringLiteral("  ·  ")));
  m_lines = {m_token->text(), m_facts->text()};
  clearFamily();
  family(s, tr("replaces"), row.parents);
  family(s, tr("replaced by"), row.children);
  m_family->addStretch(1);
}

HistoryView::HistoryView(InspectorContext& context, QWidget* parent)
    : InspectorView(context, parent), m_model(new HistoryModel(this)), m_ask(context, this, "history") {
  stripLabel(tr("Show"));
  m_which = stripChoice(
      {tr("Token"), tr("Row in the layer"), tr("Reads in the layer"), tr("Choices in the layer")}, tr("What is listed"),
      tr("Token: what happened to the token in all layers, as far as history keeps it. Row in the layer: "
         "every write, turn and loss of its row in the focused layer, and when it became stale. Reads in "
         "the layer: the attention that the row received from the newest query of each tick. Choices in the "
         "layer: what its policy decided about the row in each tick, at which score and rank. Dropped ticks "
         "are executed again for the last three"));
  addOption("rows", {"token", "layer", "reads", "choices"}, m_which, [this] {
    m_asked = LedgerId(-1);
    ask();
  });
  strip()->addStretch(1);
  stripTickLimits();
  connect(&context, &InspectorContext::ticksLimited, this, &HistoryView::showEvents);
  connect(&context, &InspectorContext::busyChanged, this, [this] {  // a story waits until the engine rests
    if (m_which->currentIndex() != 0 && inUse()) ask();
  });
  auto* page = new QWidget(this);
  m_card = new RowCard(page);
  m_table = new DataTable(page);
  auto* lines = tightColumn(page);
  m_course = new RowCourse(page);
  lines->addWidget(m_card);
  lines->addWidget(m_course);
  lines->addWidget(m_table, 1);
  setContent(page);
  setMainControl(m_table);
  m_table->setModel(m_model);
  m_table->setItemDelegateForColumn(m_table->columnOf("tick"), new RailDelegate(m_table));
  m_table->setAccessibleName(tr("History of the focused row"));
  m_table->setToolTip(tr("Click a line to show all views at that tick"));
  connect(m_card, &RowCard::chosen, this, qOverload<LedgerId>(&HistoryView::clickLedger));
  connect(m_table, &DataTable::chosen, this, [this](const QModelIndex& index) { clickTick(m_model->at(index).tick); });
}

void HistoryView::onSnapshot() {
  if (shown()) m_model->setShownTick(shown()->tick);
  ask();
}

void HistoryView::ask() {
  const SnapshotPtr s = shown();
  const LedgerId row = context().focus().ledger;
  if (!s || !s->ledger.contains(row)) {
    m_asked = LedgerId(-1);
    m_ask.forget();
    m_events.clear();
    showEvents();
    const QString how = !s ? noSessionHow()
        : s->ledger.size() ? tr("Click a token in the map, the strip, the mirror or the ledger.")
                           : promptHow();
    return setEmpty(tr("Everything that ever happened to one token"), how);
  }
  setEmpty(QString());
  m_card->showRow(*s, row);
  const auto& history = context().history();
  const std::uint64_t newest = history.empty() ? s->serial : history.back()->serial;
  const std::string table = kTables[static_cast<std::size_t>(std::max(0, m_which->currentIndex()))];
  const bool again = m_which->currentIndex() > 0;
  const CacheLayer layer = again ? context().focus().layer : m_askedLayer;
  if (row == m_asked && layer == m_askedLayer && (newest == m_askedSerial || (again && context().busy()))) return;
  m_asked = row;
  m_askedLayer = layer;
  m_askedSerial = newest;
  nlohmann::json args{{"ledger", row.value()}};
  if (again) args = withLayer(*s, layer, std::move(args));
  if (table == "reads") args.erase("kvHead");
  m_ask.query("table", tableArgs(table, args), [this](const Result<nlohmann::json>& reply) { take(reply); });
}

/// A finding tells itself between which ticks the damage came: a check that found nothing says no more beside it.
void HistoryView::take(const Result<nlohmann::json>& reply) {
  m_events.clear();
  std::vector<RowCourse::Point> course;
  m_refused = !reply;
  if (!reply)
    m_events.push_back(
        {shown() ? shown()->tick : Tick(0), tr("refused"), {}, QString::fromStdString(reply.error().text())});
  if (reply)
    for (const auto& row : recordsOf(*reply)) {
      if (row.contains("mass")) {
        m_events.push_back(readEvent(row, shown() ? layerText(*shown(), m_askedLayer) : QString()));
        course.push_back({m_events.back().tick, memberOr(row, "mass", NAN), NAN});
        continue;
      }
      const bool chapter = row.contains("wrote");  // part of a story
      const QString layer = chapter && shown() ? layerText(*shown(), m_askedLayer) : layerText(row);
      m_events.push_back({Tick(memberOr(row, "tick", std::int64_t{0})), wordIn(row, "event").replace('_', ' '), layer,
                          chapter ? chapterText(row) : wordIn(row, "detail")});
      if (member(row, "score").is_number())
        course.push_back({m_events.back().tick, memberOr(row, "score", NAN), memberOr(row, "threshold", NAN)});
    }
  m_course->show(m_which->currentIndex() == 2 ? tr("attention") : tr("score"), course);
  showEvents();
}

/// Shows the events within the limits of the ticks.
void HistoryView::showEvents() {
  std::vector<HistoryEvent> events = m_events;
  if (const auto& limits = context().tickLimits())
    std::erase_if(events, [&](const HistoryEvent& one) { return !m_refused && !limits->has(one.tick); });
  m_model->set(std::move(events));
}

QString HistoryView::dump() const {
  if (isEmpty()) return "history: empty\n";
  return "history: " + m_card->text() + "\n" + m_table->tsv();
}

}  // namespace kvlab

KVLAB_DEFINE_VIEW(HistoryView)
