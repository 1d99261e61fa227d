// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/table/data_table.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QHeaderView>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QLabel>
#include <QMouseEvent>
#include <QPainter>
#include <QScopedValueRollback>
#include <QToolTip>

#include "widgets/base/inspector_view.h"
#include "widgets/base/panes.h"

namespace kvlab {
namespace {
void paintSign(QPainter& painter, QPointF c, double r, bool good) {
  if (good) {
    painter.drawPolyline(QPolygonF(
        {c + QPointF(-0.45 * r, 0.05 * r), c + QPointF(-0.1 * r, 0.42 * r), c + QPointF(0.5 * r, -0.38 * r)}));
    return;
  }
  painter.drawLine(c + QPointF(-0.33 * r, -0.33 * r), c + QPointF(0.33 * r, 0.33 * r));
  painter.drawLine(c + QPointF(0.33 * r, -0.33 * r), c + QPointF(-0.33 * r, 0.33 * r));
}

constexpr int kMoreWidth = 22;  // width of the mark that counts hidden columns

/// On the background of a selected line faint text is shown one step stronger.
Tone shownTone(const QModelIndex& index, bool selected) {
  const auto tone = static_cast<Tone>(index.data(kToneRole).toInt());
  return selected && (tone == Tone::Faint || tone == Tone::Ghost) ? Tone::Muted : tone;
}

/// Draws text of any font on the baseline of the window's font in this line.
void drawCell(QPainter& painter, const QRect& area, int align, const QString& text, const Theme& theme) {
  const QFontMetrics line(theme.ui), metrics = painter.fontMetrics();
  int wide = metrics.horizontalAdvance(text);
  QString shown = text;
  if (wide >= area.width()) {  // shaping a text takes longer than painting it
    shown = metrics.elidedText(text, Qt::ElideRight, area.width());
    wide = metrics.horizontalAdvance(shown);
  }
  const int free = area.width() - wide;
  const int x = area.left() + (align & Qt::AlignRight ? free : align & Qt::AlignHCenter ? free / 2 : 0);
  painter.drawText(x, area.top() + (area.height() - line.height()) / 2 + line.ascent(), shown);
}

/// A header that leaves room for the mark of hidden columns.
class ShedHeader : public QHeaderView {
 public:
  explicit ShedHeader(DataTable* table) : QHeaderView(Qt::Horizontal, table), m_table(*table) {
    setSectionsClickable(true);
  }

 protected:
  void paintSection(QPainter* painter, const QRect& rect, int column) const override {
    QHeaderView::paintSection(painter, rect.adjusted(0, 0, -m_table.reservedOf(column), 0), column);
  }

 private:
  const DataTable& m_table;
};
}  // namespace

void paintRing(QPainter& painter, QPointF centre, const Theme& theme) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(theme.muted, 1.5));
  painter.setBrush(Qt::NoBrush);
  painter.drawEllipse(centre, 5, 5);
  painter.restore();
}

void paintLamp(QPainter& painter, QPointF centre, double radius, bool good, const Theme& theme) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(good ? theme.ok : theme.error);
  if (good) painter.drawEllipse(centre, radius, radius);
  else {
    const double r = radius * 1.2;
    painter.drawPolygon(
        QPolygonF({centre + QPointF(0, -r), centre + QPointF(r, 0), centre + QPointF(0, r), centre + QPointF(-r, 0)}));
  }
  painter.setBrush(Qt::NoBrush);
  painter.setPen(
      QPen(theme.dark ? theme.sunken : theme.surface, radius / 3.4, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
  paintSign(painter, centre, radius, good);
  painter.restore();
}

Tone toneOfEvent(const QString& event) {
  static const std::pair<Tone, QStringList> kTones[] = {
      {Tone::Ok, {"born", "restored", "expanded", "lit", "verified", "loaded", "computed", "rebuilt", "became exact"}},
      {Tone::Accent, {"evicted", "left layer", "collapsed", "moved", "turned", "copied", "converted", "left"}},
      {Tone::Warning, {"replaced", "deleted", "parent", "edited", "became stale"}},
      {Tone::Error, {"aborted", "fault", "damage found", "damaged"}}};
  for (const auto& [tone, events] : kTones)
    if (events.contains(event)) return tone;
  return Tone::Muted;
}

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

void paintBack(QPainter& painter, const QStyleOptionViewItem& option, const QModelIndex& index, const Theme& theme) {
  const bool bad = index.data(kBadRole).toBool();
  if (bad) painter.fillRect(option.rect, Theme::mix(theme.surface, theme.error, 0.16));
  if (option.state & QStyle::State_Selected)
    painter.fillRect(option.rect,
                     bad ? Theme::mix(theme.surface, theme.error, theme.dark ? 0.34 : 0.3) : theme.selection);
  else if (option.state & QStyle::State_MouseOver) painter.fillRect(option.rect, Theme::faded(theme.accent, 28));
  const auto fill = index.data(kFillRole).value<QColor>();
  if (fill.isValid()) painter.fillRect(option.rect, fill);
  if (bad && index.column() == 0)
    painter.fillRect(QRect(option.rect.left(), option.rect.top(), 3, option.rect.height()), theme.error);
  if (index.data(kRuleRole).toBool())
    painter.fillRect(QRect(option.rect.left(), option.rect.top(), 1, option.rect.height()), theme.border);
}

void DataDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  const auto theme = Theme::current();
  painter->save();
  paintBack(*painter, option, index, *theme);
  const auto* table = qobject_cast<const DataTable*>(option.widget);
  QRect inner = option.rect.adjusted(7, 0, -7 - (table ? table->reservedOf(index.column()) : 0), 0);
  const auto swatch = index.data(kSwatchRole).value<QColor>();
  if (swatch.isValid()) {
    painter->fillRect(QRect(inner.left(), inner.center().y() - 4, 10, 10), swatch);
    inner.setLeft(inner.left() + 16);
  }
  if (const QVariant share = index.data(kBarRole); share.isValid()) {
    const bool warns = index.data(kToneRole).toInt() == static_cast<int>(Tone::Warning);
    const QRectF room = QRectF(inner).adjusted(-4, 3, 4, -3);
    painter->fillRect(QRectF(room.left(), room.top(), std::max(1.0, room.width() * share.toDouble()), room.height()),
                      Theme::faded(warns ? theme->warning : theme->accent, theme->dark ? 80 : 60));
  }
  painter->setFont(index.data(kMonoRole).toBool() ? theme->mono : theme->ui);
  painter->setPen(toneColour(shownTone(index, option.state & QStyle::State_Selected), *theme));
  const QVariant aligned = index.data(Qt::TextAlignmentRole);
  const int align = aligned.isValid() ? aligned.toInt() : static_cast<int>(Qt::AlignLeft);
  drawCell(*painter, inner, align, index.data(Qt::DisplayRole).toString(), *theme);
  painter->restore();
}

QSize DataDelegate::sizeHint(const QStyleOptionViewItem&, const QModelIndex&) const { return {60, Theme::kRow}; }

bool DataDelegate::helpEvent(QHelpEvent* event, QAbstractItemView* view, const QStyleOptionViewItem& option,
                             const QModelIndex& index) {
  if (event->type() != QEvent::ToolTip) return QStyledItemDelegate::helpEvent(event, view, option, index);
  const QString text = index.data(Qt::DisplayRole).toString();
  const auto theme = Theme::current();
  const QFontMetrics metrics(index.data(kMonoRole).toBool() ? theme->mono : theme->ui);
  const auto* table = qobject_cast<DataTable*>(view);
  QStringList lines = table ? table->shedTexts(index.row()) : QStringList();
  const QString own = index.data(Qt::ToolTipRole).toString();
  if (!own.isEmpty()) lines.prepend(own);
  else if (metrics.horizontalAdvance(text) > option.rect.width() - 14) lines.prepend(text);
  if (lines.isEmpty()) return QStyledItemDelegate::helpEvent(event, view, option, index);
  QToolTip::showText(event->globalPos(), lines.join('\n'), view);
  return true;
}

DataTable::DataTable(QWidget* parent) : QTableView(parent) {
  setHorizontalHeader(new ShedHeader(this));
  m_more = new QLabel(horizontalHeader());
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
  m_more->setObjectName("more");
  m_more->setAlignment(Qt::AlignCenter);
  m_more->hide();
  connect(this, &QTableView::entered, this, &DataTable::hovered);
  connect(this, &QTableView::activated, this, &DataTable::chosen);
}

DataTable::DataTable(QWidget* parent, QAbstractItemModel* model, const QString& name, const QString& tip)
    : DataTable(parent) {
  setModel(model);
  settleBars(this);
  setAccessibleName(name);
  setToolTip(tip);
}

void DataTable::stretch(std::initializer_list<const char*> ids) {
  horizontalHeader()->setStretchLastSection(false);
  for (const char* id : ids) horizontalHeader()->setSectionResizeMode(columnOf(id), QHeaderView::Stretch);
}

void DataTable::setModel(QAbstractItemModel* model) {
  QTableView::setModel(model);
  takeColumns();
}

void DataTable::takeColumns() {
  const QFontMetrics metrics(Theme::current()->mono);
  const QFontMetrics header(Theme::current()->small);
  const auto head = [this](int column, int role) { return model()->headerData(column, Qt::Horizontal, role); };
  m_widths.clear();
  m_order.clear();
  for (int column = 0; column < model()->columnCount(); ++column) {
    const QVariant sample = head(column, kWidthRole);
    if (!sample.isValid()) return;
    int wide = metrics.horizontalAdvance(sample.toString());
    for (const QString& line : head(column, Qt::DisplayRole).toString().split('\n'))
      wide = std::max(wide, header.horizontalAdvance(line));
    m_widths << wide + 16;
    setColumnWidth(column, m_widths.last());
    if (head(column, kGivesRole).toInt() > 0) m_order << column;
  }
  std::stable_sort(m_order.begin(), m_order.end(),
                   [&](int a, int b) { return head(a, kGivesRole).toInt() < head(b, kGivesRole).toInt(); });
  fitColumns();
}

int DataTable::columnOf(const QString& id) const {
  for (int column = 0; column < model()->columnCount(); ++column)
    if (model()->headerData(column, Qt::Horizontal, kIdRole) == id) return column;
  return -1;
}

QString DataTable::titleOf(int column) const {
  return model()->headerData(column, Qt::Horizontal).toString().replace('\n', ' ');
}

QStringList DataTable::shedTexts(int row) const {
  QStringList texts;
  for (int column : m_shed)
    if (const QString text = model()->index(row, column).data().toString(); !text.isEmpty())
      texts << titleOf(column) + ": " + text;
  return texts;
}

int DataTable::reservedOf(int column) const { return column == m_reserved ? kMoreWidth : 0; }

/// The last visible column, whose title ends next to the mark.
int DataTable::reservedFor(const QList<int>& shed) const {
  int last = static_cast<int>(m_widths.size()) - 1;
  while (last >= 0 && (shed.contains(last) || (isColumnHidden(last) && !m_shed.contains(last)))) --last;
  const bool right =
      last >= 0 && model()->headerData(last, Qt::Horizontal, Qt::TextAlignmentRole).toInt() & Qt::AlignRight;
  return right && !shed.isEmpty() ? last : -1;
}

void DataTable::fitColumns() {
  if (!model() || m_order.isEmpty()) return;
  int wide = 0;
  for (int column = 0; column < m_widths.size(); ++column)
    if (!isColumnHidden(column) || m_shed.contains(column)) wide += m_widths[column];
  QList<int> shed;
  for (int column : m_order) {
    if (wide + (shed.isEmpty() ? 0 : kMoreWidth) <= viewport()->width()) break;
    if (column >= m_widths.size()) continue;
    shed << column;
    wide -= m_widths[column];
  }
  const int reserved = m_reserved;
  m_reserved = reservedFor(shed);
  bool changed = shed != m_shed || reserved != m_reserved;  // or the model's reset has reset the columns
  for (int column : m_order) changed = changed || isColumnHidden(column) != shed.contains(column);
  if (changed) {
    for (int column : m_order) setColumnHidden(column, shed.contains(column));
    m_shed = shed;
    for (int column = 0; column < m_widths.size(); ++column)  // the formerly last column may still be stretched
      if (!isColumnHidden(column)) setColumnWidth(column, m_widths[column] + reservedOf(column));
    QStringList titles;
    for (int column : m_shed) titles << titleOf(column);
    m_more->setText(QString("+%1").arg(m_shed.size()));
    m_more->setToolTip(
        tr("No room for these columns: %1. The tool tip of each line shows them.").arg(titles.join(", ")));
  }
  m_more->setVisible(!m_shed.isEmpty() && horizontalHeader()->isVisibleTo(this));
  m_more->setGeometry(viewport()->width() - kMoreWidth, 0, kMoreWidth, horizontalHeader()->height());
}

/// A bar that comes or goes at once (settleBars) changes the viewport while the header is being placed.
void DataTable::updateGeometries() {
  QTableView::updateGeometries();
  if (horizontalHeader()->width() != viewport()->width()) QTableView::updateGeometries();
}

void DataTable::resizeEvent(QResizeEvent* event) {
  QTableView::resizeEvent(event);
  fitColumns();
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
    for (int c = 0; c < model()->columnCount(); ++c) cells.append(cell(c).toString());  // also hidden columns
    return tsvLine(cells);
  };
  QString text = line([this](int c) { return model()->headerData(c, Qt::Horizontal); });
  for (int row : rows) text += line([this, row](int c) { return model()->index(row, c).data(); });
  return text;
}

int DataTable::tallFor(int lines) const { return horizontalHeader()->sizeHint().height() + lines * Theme::kRow + 2; }

void DataTable::copy() const { QGuiApplication::clipboard()->setText(tsv()); }

void DataTable::showRow(int row) {
  if (!model() || row >= model()->rowCount()) return;
  if (row < 0) clearSelection();
  else if (currentIndex().row() != row || !selectionModel()->isRowSelected(row)) {
    executeDelayedItemsLayout();
    updateGeometries();                                     // the header may be of another height by now
    const QRect line = visualRect(model()->index(row, 0));  // before selectRow, which scrolls
    selectRow(row);
    if (line.top() < 0 || line.bottom() > viewport()->height()) scrollTo(model()->index(row, 0), PositionAtCenter);
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
