// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/history/history_view.h"

#include <QPainter>

#include "widgets/base/tight_column.h"
#include "widgets/base/view_registry.h"

namespace kvlab {
namespace {
Tone toneOf(const QString& event) {
  if (event == "born" || event == "restored" || event == "expanded" || event == "lit" || event == "verified")
    return Tone::Ok;
  if (event == "evicted" || event == "left layer" || event == "collapsed" || event == "moved") return Tone::Accent;
  if (event == "replaced" || event == "deleted" || event == "parent" || event == "edited") return Tone::Warning;
  if (event == "aborted" || event == "fault" || event == "damage found") return Tone::Error;
  return Tone::Muted;
}

QString layerText(const nlohmann::json& row) {
  if (!row.contains("layer") || row["layer"].is_null()) return {};
  return row["layer"].is_string() ? QString::fromStdString(row["layer"].get<std::string>())
                                  : QString::number(row["layer"].get<int>());
}
}  // namespace

HistoryModel::HistoryModel(QObject* parent) : LineModel(parent) {
  using Past = const HistoryEvent&;
  const auto tone = [this](Tone past) { return [=, this](Past e) { return e.tick > m_shown ? Tone::Ghost : past; }; };
  addNumber("tick", tr("tick"), tr("Tick of the event"), "       131",
            [](Past e) { return QString::number(e.tick.value()); })
      .with(kFirstOfTick, [](Past e) { return e.first; })
      .with(kShownTick, [this](Past e) { return e.tick == m_shown; })
      .with(kEventTone, [](Past e) { return static_cast<int>(toneOf(e.event)); });
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

void RailDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  const auto theme = Theme::current();
  QStyleOptionViewItem inner = option;
  DataDelegate::paint(painter, inner, index);
  const QColor tones[] = {theme->text,   theme->muted, theme->faint,   theme->ghost,
                          theme->accent, theme->ok,    theme->warning, theme->error};
  const QColor colour = tones[at(index.data(HistoryModel::kEventTone).toInt())];
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

HistoryView::HistoryView(InspectorContext& context, QWidget* parent)
    : InspectorView(context, parent),
      m_page(new QWidget(this)),
      m_card(new RowCard(m_page)),
      m_model(new HistoryModel(this)),
      m_table(new DataTable(m_page)),
      m_ask(context, this, "history") {
  auto* lines = tightColumn(m_page);
  lines->addWidget(m_card);
  lines->addWidget(m_table, 1);
  setContent(m_page);
  setMainControl(m_table);
  m_table->setModel(m_model);
  m_table->setItemDelegateForColumn(m_table->columnOf("tick"), new RailDelegate(m_table));
  m_table->setAccessibleName(tr("History of the focused row"));
  m_table->setToolTip(tr("Click a line to show all views at that tick"));
  connect(m_card, &RowCard::chosen, this, qOverload<LedgerId>(&HistoryView::clickLedger));
  connect(m_table, &DataTable::chosen, this, [this](const QModelIndex& index) { clickTick(m_model->at(index).tick); });
}

bool HistoryView::ready() const { return InspectorView::ready() && !m_ask.waiting(); }

void HistoryView::onSnapshot() {
  if (shown()) m_model->setShownTick(shown()->tick);
  ask();
}

void HistoryView::onFocus() { ask(); }

void HistoryView::ask() {
  const SnapshotPtr s = shown();
  const LedgerId row = context().focus().ledger;
  if (!s || !s->ledger.contains(row)) {
    m_asked = LedgerId(-1);
    m_ask.forget();
    m_model->set({});
    const QString how = !s ? noSessionHow()
        : s->ledger.size() ? tr("Click a token in the map, the strip, the mirror or the ledger.")
                           : promptHow();
    return setEmpty(tr("Everything that ever happened to one token"), how);
  }
  setEmpty(QString());
  m_card->showRow(*s, row);
  const auto& history = context().history();
  const std::uint64_t newest = history.empty() ? s->serial : history.back()->serial;
  if (row == m_asked && newest == m_askedSerial) return;
  m_asked = row;
  m_askedSerial = newest;
  m_ask.query("history", {{"ledger", row.value()}}, [this](const Result<nlohmann::json>& reply) { take(reply); });
}

void HistoryView::take(const Result<nlohmann::json>& reply) {
  std::vector<HistoryEvent> events;
  if (!reply)
    events.push_back(
        {shown() ? shown()->tick : Tick(0), tr("refused"), {}, QString::fromStdString(reply.error().text())});
  else if (reply->is_array())
    for (const auto& row : *reply)
      events.push_back({Tick(row.value("tick", std::int64_t{0})),
                        QString::fromStdString(row.value("event", "")).replace('_', ' '), layerText(row),
                        row.contains("detail") && row["detail"].is_string()
                            ? QString::fromStdString(row["detail"].get<std::string>())
                            : QString()});
  m_model->set(std::move(events));
  emit readyChanged();
}

QString HistoryView::dump() const {
  if (isEmpty()) return "history: empty\n";
  return "history: " + m_card->text() + "\n" + m_table->tsv();
}

}  // namespace kvlab

KVLAB_DEFINE_VIEW(HistoryView)
