// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/numbers/series_model.h"

#include <QMouseEvent>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "widgets/base/theme.h"

namespace kvlab {
namespace {
// Each stands for a whole group of series: every step of a tick, every watch.
const QString kSteps = QStringLiteral("us.*"), kWatched = QStringLiteral("watch.*");

/// The group that a series is in; empty = none.
QString groupOf(const QString& id) {
  if (id.startsWith(QLatin1String("watch."))) return kWatched;
  return id.startsWith(QLatin1String("us.")) && id != QLatin1String("us.total") ? kSteps : QString();
}

std::vector<SeriesLine> linesOf(const TickSeries& series, int cursor) {
  std::vector<SeriesLine> lines;
  for (int p = 0; p < kPanels; ++p) {
    const auto panel = static_cast<Panel>(p);
    std::vector<SeriesLine> known;
    int pen = 0;
    for (const Series& one : series.series()) {
      if (one.panel != panel) continue;
      const bool any = std::any_of(one.values.begin(), one.values.end(), [](double v) { return !std::isnan(v); });
      const double value = cursor < 0 ? std::nan("") : one.values[at(cursor)];
      if (any) known.push_back({one.id, one.title, formatIn(panel, value), pen});
      ++pen;
    }
    if (known.empty()) continue;
    lines.push_back({{}, title(panel), unit(panel)});
    lines.insert(lines.end(), known.begin(), known.end());
  }
  return lines;
}

}  // namespace

SeriesModel::SeriesModel(QObject* parent)
    : LineModel(parent),
      m_on{kSteps, kWatched, QStringLiteral("rows.length"), QStringLiteral("rows.stale"), QStringLiteral("model.kl")} {
  using Line = const SeriesLine&;
  add("series", tr("Series"), {}, {}, [](Line line) { return line.title; }).with(Qt::CheckStateRole, [this](Line line) {
    return line.id.isEmpty() ? QVariant() : QVariant(static_cast<int>(on(line) ? Qt::Checked : Qt::Unchecked));
  });
  addNumber("value", tr("Value"), {}, {}, [](Line line) { return line.value; });
  withLines(IdRole, [](Line line) { return line.id; });
  withLines(HeadingRole, [](Line line) { return line.id.isEmpty(); });
  withLines(OnRole, [this](Line line) { return on(line); });
  withLines(PenRole, [](Line line) { return line.pen; });
}

bool SeriesModel::on(const SeriesLine& line) const {
  return m_on.count(line.id) > 0 || m_on.count(groupOf(line.id)) > 0;
}

void SeriesModel::show(const TickSeries& series, int cursor) {
  std::vector<SeriesLine> given = linesOf(series, cursor);
  const bool same = std::equal(given.begin(), given.end(), lines().begin(), lines().end(),
                               [](const auto& a, const auto& b) { return a.id == b.id && a.title == b.title; });
  replace(std::move(given), same);
}

std::vector<QString> SeriesModel::chosen() const {
  std::vector<QString> ids;
  for (const SeriesLine& line : lines())
    if (!line.id.isEmpty() && on(line)) ids.push_back(line.id);
  return ids;
}

void SeriesModel::setOn(const QString& id, bool wanted) {
  const QString group = groupOf(id);
  if (m_on.erase(group))  // from now on its series are chosen one by one
    for (const SeriesLine& line : lines())
      if (groupOf(line.id) == group) m_on.insert(line.id);
  wanted ? static_cast<void>(m_on.insert(id)) : static_cast<void>(m_on.erase(id));
  changed();
  emit chosenChanged();
}

bool SeriesModel::setData(const QModelIndex& index, const QVariant& value, int role) {
  if (!index.isValid() || role != Qt::CheckStateRole || index.column() != columnOf("series")) return false;
  const QString id = at(index).id;
  if (id.isEmpty()) return false;
  setOn(id, value.toInt() == Qt::Checked);
  return true;
}

Qt::ItemFlags SeriesModel::flags(const QModelIndex& index) const {
  if (!index.isValid()) return Qt::NoItemFlags;
  if (at(index).id.isEmpty()) return Qt::ItemIsEnabled;
  const Qt::ItemFlags flags = Qt::ItemIsEnabled | Qt::ItemIsSelectable;
  return index.column() == columnOf("series") ? flags | Qt::ItemIsUserCheckable : flags;
}

namespace {
void paintBox(QPainter& painter, const QRectF& box, bool on, const QColor& colour, const Theme& theme) {
  painter.setPen(QPen(on ? colour : theme.faint, 1));
  painter.setBrush(on ? colour : QColor(Qt::transparent));
  painter.drawRoundedRect(box, 2, 2);
  if (!on) return;
  painter.setPen(QPen(theme.dark ? theme.sunken : theme.surface, 1.6, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
  painter.drawPolyline(QPolygonF(
      {box.topLeft() + QPointF(2.4, 5.6), box.topLeft() + QPointF(4.6, 7.9), box.topLeft() + QPointF(8.6, 3)}));
}

void paintSeries(QPainter& painter, const QRect& rect, const QModelIndex& index, const Theme& theme) {
  const bool on = index.data(SeriesModel::OnRole).toBool();
  const int pen = index.data(SeriesModel::PenRole).toInt();
  const double middle = rect.center().y() + 0.5;
  painter.setRenderHint(QPainter::Antialiasing);
  paintBox(painter, QRectF(rect.left() + 10, middle - 5.5, 11, 11), on, seriesColour(pen, theme.dark), theme);
  painter.setPen(on ? seriesPen(pen, theme.dark, 2) : QPen(theme.border, 2));
  painter.drawLine(QPointF(rect.left() + 29, middle), QPointF(rect.left() + 51, middle));
  painter.setRenderHint(QPainter::Antialiasing, false);
  painter.setFont(theme.ui);
  painter.setPen(on ? theme.text : theme.muted);
  painter.drawText(rect.adjusted(59, 0, 0, 0), Qt::AlignVCenter,
                   painter.fontMetrics().elidedText(index.data().toString(), Qt::ElideRight, rect.width() - 61));
}
}  // namespace

void SeriesDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  const auto theme = Theme::current();
  painter->save();
  const bool heading = index.data(SeriesModel::HeadingRole).toBool();
  const bool value = index.column() > 0;
  if (heading) painter->fillRect(option.rect, theme->raised);
  else if (option.state & QStyle::State_Selected) painter->fillRect(option.rect, theme->selection);
  else if (option.state & QStyle::State_MouseOver) painter->fillRect(option.rect, Theme::faded(theme->accent, 28));
  if (heading || value) {
    painter->setFont(heading ? (value ? theme->small : theme->smallStrong) : theme->mono);
    painter->setPen(heading ? theme->muted : index.data(SeriesModel::OnRole).toBool() ? theme->text : theme->faint);
    painter->drawText(option.rect.adjusted(8, 0, -8, 0), (value ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter,
                      index.data().toString());
  } else {
    paintSeries(*painter, option.rect, index, *theme);
  }
  painter->restore();
}

bool SeriesDelegate::editorEvent(QEvent* event, QAbstractItemModel* model, const QStyleOptionViewItem&,
                                 const QModelIndex& index) {
  const bool clicked =
      event->type() == QEvent::MouseButtonRelease && static_cast<QMouseEvent*>(event)->button() == Qt::LeftButton;
  const bool space = event->type() == QEvent::KeyPress && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Space;
  const QModelIndex name = index.siblingAtColumn(0);
  if (!(clicked || space) || !(name.flags() & Qt::ItemIsUserCheckable)) return false;
  const bool on = name.data(SeriesModel::OnRole).toBool();
  return model->setData(name, static_cast<int>(on ? Qt::Unchecked : Qt::Checked), Qt::CheckStateRole);
}

}  // namespace kvlab
