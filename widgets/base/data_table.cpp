// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/data_table.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QHeaderView>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScopedValueRollback>
#include <QToolTip>

#include "widgets/base/inspector_view.h"
#include "widgets/base/theme.h"

namespace kvlab {
namespace {
QColor toneColour(Tone tone, const Theme& theme) {
  switch (tone) {
    case Tone::Muted: return theme.muted;
    case Tone::Faint: return theme.faint;
    case Tone::Ghost: return theme.ghost;
    case Tone::Accent: return theme.accent;
    case Tone::Ok: return theme.ok;
    case Tone::Warning: return theme.warning;
    case Tone::Error: return theme.error;
    default: return theme.text;
  }
}

void paintBack(QPainter& painter, const QStyleOptionViewItem& option, const QModelIndex& index,
               const Theme& theme) {
  const bool bad = index.data(kBadRole).toBool();
  if (bad) painter.fillRect(option.rect, Theme::mix(theme.surface, theme.error, 0.16));
  if (option.state & QStyle::State_Selected)
    painter.fillRect(option.rect, bad ? Theme::mix(theme.surface, theme.error, theme.dark ? 0.34 : 0.3) : theme.selection);
  else if (option.state & QStyle::State_MouseOver)
    painter.fillRect(option.rect, Theme::faded(theme.accent, 28));
  const auto fill = index.data(kFillRole).value<QColor>();
  if (fill.isValid()) painter.fillRect(option.rect, fill);
  if (bad && index.column() == 0)
    painter.fillRect(QRect(option.rect.left(), option.rect.top(), 3, option.rect.height()), theme.error);
  if (index.data(kRuleRole).toBool())
    painter.fillRect(QRect(option.rect.left(), option.rect.top(), 1, option.rect.height()), theme.border);
}
}  // namespace

void DataDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                         const QModelIndex& index) const {
  const auto theme = Theme::current();
  painter->save();
  paintBack(*painter, option, index, *theme);
  QRect inner = option.rect.adjusted(7, 0, -7, 0);
  const auto swatch = index.data(kSwatchRole).value<QColor>();
  if (swatch.isValid()) {
    painter->fillRect(QRect(inner.left(), inner.center().y() - 4, 10, 10), swatch);
    inner.setLeft(inner.left() + 16);
  }
  painter->setFont(index.data(kMonoRole).toBool() ? theme->mono : theme->ui);
  painter->setPen(toneColour(static_cast<Tone>(index.data(kToneRole).toInt()), *theme));
  const QVariant aligned = index.data(Qt::TextAlignmentRole);
  const int align = aligned.isValid() ? aligned.toInt() : static_cast<int>(Qt::AlignLeft);
  const QString text = painter->fontMetrics().elidedText(index.data(Qt::DisplayRole).toString(),
                                                         Qt::ElideRight, inner.width());
  painter->drawText(inner, align | Qt::AlignVCenter | Qt::TextSingleLine, text);
  painter->restore();
}

QSize DataDelegate::sizeHint(const QStyleOptionViewItem&, const QModelIndex&) const {
  return {60, Theme::kRow};
}

bool DataDelegate::helpEvent(QHelpEvent* event, QAbstractItemView* view, const QStyleOptionViewItem& option,
                             const QModelIndex& index) {
  if (event->type() != QEvent::ToolTip || index.data(Qt::ToolTipRole).isValid())
    return QStyledItemDelegate::helpEvent(event, view, option, index);
  const QString text = index.data(Qt::DisplayRole).toString();
  const auto theme = Theme::current();
  const QFontMetrics metrics(index.data(kMonoRole).toBool() ? theme->mono : theme->ui);
  if (metrics.horizontalAdvance(text) <= option.rect.width() - 14)
    return QStyledItemDelegate::helpEvent(event, view, option, index);
  QToolTip::showText(event->globalPos(), text, view);
  return true;
}

DataTable::DataTable(QWidget* parent) : QTableView(parent) {
  setItemDelegate(new DataDelegate(this));
  setShowGrid(false);
  setWordWrap(false);
  setMouseTracking(true);
  setSelectionBehavior(SelectRows);
  setSelectionMode(ExtendedSelection);
  setHorizontalScrollMode(ScrollPerPixel);
  setTabKeyNavigation(false);
  verticalHeader()->hide();
  verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
  verticalHeader()->setMinimumSectionSize(Theme::kRow);
  verticalHeader()->setDefaultSectionSize(Theme::kRow);
  horizontalHeader()->setHighlightSections(false);
  horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  horizontalHeader()->setStretchLastSection(true);
  horizontalHeader()->setMinimumSectionSize(28);
  horizontalHeader()->setFont(Theme::current()->small);
  connect(this, &QTableView::entered, this, &DataTable::hovered);
  connect(this, &QTableView::activated, this, &DataTable::chosen);
}

void DataTable::setWidths(const QStringList& samples) {
  const QFontMetrics metrics(Theme::current()->mono);
  const QFontMetrics header(Theme::current()->small);
  for (int column = 0; column < samples.size(); ++column) {
    int wide = 0;
    const QString title = model() ? model()->headerData(column, Qt::Horizontal).toString() : QString();
    for (const QString& line : title.split('\n')) wide = std::max(wide, header.horizontalAdvance(line));
    setColumnWidth(column, std::max(metrics.horizontalAdvance(samples[column]), wide) + 16);
  }
}

QString DataTable::tsv(int limit) const {
  if (!model()) return {};
  QList<int> rows;
  const QModelIndexList selected = selectionModel() ? selectionModel()->selectedRows() : QModelIndexList();
  if (selected.size() > 1) {
    for (const QModelIndex& index : selected) rows.append(index.row());
    std::sort(rows.begin(), rows.end());
  } else {
    for (int row = 0; row < std::min(limit, model()->rowCount()); ++row) rows.append(row);
  }
  const auto line = [this](auto cell) {
    QStringList cells;
    for (int c = 0; c < model()->columnCount(); ++c) cells.append(cell(c).toString());  // hidden ones too
    return tsvLine(cells);
  };
  QString text = line([this](int c) { return model()->headerData(c, Qt::Horizontal); });
  for (int row : rows) text += line([this, row](int c) { return model()->index(row, c).data(); });
  return text;
}

void DataTable::copy() const { QGuiApplication::clipboard()->setText(tsv()); }

void DataTable::showRow(int row) {
  if (!model() || row >= model()->rowCount()) return;
  if (row < 0)
    clearSelection();
  else if (currentIndex().row() != row || !selectionModel()->isRowSelected(row)) {
    const QRect line = visualRect(model()->index(row, 0));  // before selectRow, which scrolls by itself
    selectRow(row);
    if (line.top() < 0 || line.bottom() > viewport()->height())
      scrollTo(model()->index(row, 0), PositionAtCenter);
  }
}

void DataTable::keyPressEvent(QKeyEvent* event) {
  if (event->matches(QKeySequence::Copy)) return copy();
  const QScopedValueRollback<bool> byHand(m_byHand, true);
  QTableView::keyPressEvent(event);
}

void DataTable::mousePressEvent(QMouseEvent* event) {
  const QScopedValueRollback<bool> byHand(m_byHand, true);
  const int before = currentIndex().row();
  QTableView::mousePressEvent(event);
  const QModelIndex at = indexAt(event->position().toPoint());
  if (event->button() == Qt::LeftButton && at.isValid() && at.row() == before) emit chosen(at);
}

void DataTable::currentChanged(const QModelIndex& current, const QModelIndex& previous) {
  QTableView::currentChanged(current, previous);
  if (m_byHand && current.isValid() && current.row() != previous.row()) emit chosen(current);
}

void DataTable::leaveEvent(QEvent* event) {
  QTableView::leaveEvent(event);
  emit hovered({});
}

void DataTable::changeEvent(QEvent* event) {
  QTableView::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) horizontalHeader()->setFont(Theme::current()->small);
}

}  // namespace kvlab
