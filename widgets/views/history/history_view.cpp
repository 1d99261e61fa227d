// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/history/history_view.h"

#include <QPainter>

#include "widgets/base/view_registry.h"

namespace kvlab {
namespace {
Tone toneOf(const QString& event) {
  if (event == "born" || event == "restored" || event == "expanded" || event == "lit") return Tone::Ok;
  if (event == "evicted" || event == "left layer" || event == "collapsed" || event == "moved") return Tone::Accent;
  if (event == "replaced" || event == "deleted" || event == "parent" || event == "edited") return Tone::Warning;
  if (event == "aborted" || event == "fault") return Tone::Error;
  return Tone::Muted;
}

QString layerText(const nlohmann::json& row) {
  if (!row.contains("layer") || row["layer"].is_null()) return {};
  return row["layer"].is_string() ? QString::fromStdString(row["layer"].get<std::string>())
                                  : QString::number(row["layer"].get<int>());
}
}  // namespace

void HistoryModel::set(std::vector<HistoryEvent> events) {
  beginResetModel();
  m_events = std::move(events);
  endResetModel();
}

void HistoryModel::setShownTick(Tick tick) {
  if (m_shown == tick) return;
  m_shown = tick;
  if (rowCount()) emit dataChanged(index(0, 0), index(rowCount() - 1, kColumns - 1));
}

int HistoryModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(m_events.size());
}

QVariant HistoryModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const auto row = static_cast<std::size_t>(index.row());
  const HistoryEvent& e = m_events[row];
  const bool first = row == 0 || m_events[row - 1].tick != e.tick;
  switch (role) {
    case Qt::DisplayRole:
      return index.column() == kTick ? QString::number(e.tick.value())
          : index.column() == kEvent ? e.event
          : index.column() == kLayer ? e.layer
                                     : e.detail;
    case Qt::TextAlignmentRole:
      return static_cast<int>(index.column() == kTick || index.column() == kLayer ? Qt::AlignRight : Qt::AlignLeft);
    case kMonoRole: return index.column() == kTick || index.column() == kLayer;
    case kToneRole:
      if (e.tick > m_shown) return static_cast<int>(Tone::Ghost);
      return static_cast<int>(index.column() == kEvent ? Tone::Normal : Tone::Muted);
    case kFirstOfTick: return first;
    case kShownTick: return e.tick == m_shown;
    case kEventTone: return static_cast<int>(toneOf(e.event));
    default: return {};
  }
}

QVariant HistoryModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section >= kColumns) return {};
  if (role == Qt::DisplayRole) return QStringList{tr("tick"), tr("event"), tr("layer"), tr("detail")}.at(section);
  if (role == Qt::ToolTipRole)
    return QStringList{tr("When it happened"), tr("What happened to the token"), tr("In which layer; empty = in all"),
                       tr("By what, or with what")}
        .at(section);
  if (role == Qt::TextAlignmentRole)
    return static_cast<int>((section == kTick || section == kLayer ? Qt::AlignRight : Qt::AlignLeft) |
                            Qt::AlignVCenter);
  return {};
}

void RailDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  const auto theme = Theme::current();
  QStyleOptionViewItem inner = option;
  DataDelegate::paint(painter, inner, index);
  const QColor tones[] = {theme->text,   theme->muted, theme->faint,   theme->ghost,
                          theme->accent, theme->ok,    theme->warning, theme->error};
  const QColor colour = tones[static_cast<std::size_t>(index.data(HistoryModel::kEventTone).toInt())];
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
  auto* lines = new QVBoxLayout(m_page);
  lines->setContentsMargins(0, 0, 0, 0);
  lines->setSpacing(0);
  lines->addWidget(m_card);
  lines->addWidget(m_table, 1);
  setContent(m_page);
  setMainControl(m_table);
  m_table->setModel(m_model);
  m_table->setItemDelegateForColumn(HistoryModel::kTick, new RailDelegate(m_table));
  m_table->setWidths({"       131", "context edited", "layer", QString(10, 'x')});
  m_table->setShedding({HistoryModel::kLayer});
  m_table->setAccessibleName(tr("History of the focused row"));
  m_table->setToolTip(tr("Click shows all views as they were at that tick"));
  connect(m_card, &RowCard::chosen, this, &HistoryView::clickLedger);
  connect(m_table, &DataTable::chosen, this, [this](const QModelIndex& index) {
    clickTick(m_model->events()[static_cast<std::size_t>(index.row())].tick);
  });
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
