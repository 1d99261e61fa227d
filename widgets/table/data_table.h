// SPDX-License-Identifier: GPL-3.0-or-later
// A QTableView with the settings of all tables of the window: compact lines of one height (so that a million rows
// scroll fast), no row header, whole lines selected, Ctrl+C copies the selected lines as TSV. Owned by its view. GUI
// thread.
#pragma once
#include <QPointF>
#include <QStyledItemDelegate>
#include <QTableView>

#include "widgets/base/theme.h"

class QLabel;
class QPainter;

namespace kvlab {

/// Roles of DataTable's delegate, besides Qt's own.
enum DataRole {
  kMonoRole = Qt::UserRole + 1,  // bool: in the mono font
  kToneRole,                     // Tone of the text
  kFillRole,                     // QColor over the line's own background; invalid = none
  kRuleRole,                     // bool: a rule at the left of the cell (start of a column group)
  kBadRole,                      // bool: the line is wrong; it gets a mark at the left and a tint
  kSwatchRole,                   // QColor: a small square before the text
  kBarRole,                      // double: bar behind the text, as a share of the cell's width, in the text's tone
  kKeyRole,                      // sort key of the column
  // Header roles.
  kIdRole,     // the column's name in options
  kWidthRole,  // a sample text that sets the width; invalid: the table keeps its widths
  kGivesRole,  // int: see ColumnRoom
};
enum class Tone { Normal, Muted, Faint, Ghost, Accent, Ok, Warning, Error };
QColor toneColour(Tone tone, const Theme& theme);

/// The tone of an event in a row's life, by its name in the verbs `history` and `story`. Pure; any thread.
/// Ok: it came or became exact. Accent: it moved or left. Warning: it was edited or became stale. Error: damage. Muted:
/// all else.
Tone toneOfEvent(const QString& event);

/// Background of a cell: selected, hovered or wrong lines, and the fill and the marks of the cell itself.
void paintBack(QPainter& painter, const QStyleOptionViewItem& option, const QModelIndex& index, const Theme& theme);

class DataDelegate : public QStyledItemDelegate {
  Q_OBJECT
 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
  /// Shows the whole text of an elided cell, unless the model has a tool tip.
  bool helpEvent(QHelpEvent* event, QAbstractItemView* view, const QStyleOptionViewItem& option,
                 const QModelIndex& index) override;
};

class DataTable : public QTableView {
  Q_OBJECT
 public:
  explicit DataTable(QWidget* parent);
  /// Sets the model, an accessible name and a tool tip; scroll bars are updated at once.
  DataTable(QWidget* parent, QAbstractItemModel* model, const QString& name, const QString& tip);
  /// These columns share the remaining width, instead of the last column.
  void stretch(std::initializer_list<const char*> ids);
  /// Takes column widths and the order of hiding from the model's header. In narrow tables columns are hidden: their
  /// cells appear in the line's tool tip, and a mark in the header counts them. The last column stretches.
  void setModel(QAbstractItemModel* model) override;
  /// Takes the columns again after the model's header has changed.
  void takeColumns();
  /// -1 = no column has this id.
  int columnOf(const QString& id) const;
  QList<int> shedColumns() const { return m_shed; }
  /// Height of the header and of so many lines.
  int tallFor(int lines) const;
  /// Width that the mark takes from a column's title and cells.
  int reservedOf(int column) const;
  /// The hidden cells of a line, "title: text" each.
  QStringList shedTexts(int row) const;
  /// The selected lines with the header; all lines (at most `limit`) if fewer than two are selected.
  QString tsv(int limit = 200000) const;
  void copy() const;
  /// Makes `row` the current line and scrolls to it without emitting chosen().
  void showRow(int row);

 signals:
  /// A line was chosen by click, Return or arrow keys.
  void chosen(const QModelIndex& index);
  void hovered(const QModelIndex& index);  // invalid when the pointer leaves

 protected:
  void updateGeometries() override;
  void keyPressEvent(QKeyEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void currentChanged(const QModelIndex& current, const QModelIndex& previous) override;
  void leaveEvent(QEvent* event) override;
  void changeEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void fitColumns();
  int reservedFor(const QList<int>& shed) const;
  QString titleOf(int column) const;

  QList<int> m_widths, m_order, m_shed;
  QLabel* m_more = nullptr;
  int m_reserved = -1;    // the column whose right end the mark covers
  bool m_byHand = false;  // a key or click is being handled; other changes of the current line emit nothing
};

/// A lamp with a word: a disc with a tick mark for "holds", a square on its corner with a cross for "broken". Shape,
/// sign, word and colour have the same meaning.
void paintLamp(QPainter& painter, QPointF centre, double radius, bool good, const Theme& theme);
/// In place of a lamp: nothing is known yet, or there is nothing to do.
void paintRing(QPainter& painter, QPointF centre, const Theme& theme);

}  // namespace kvlab
