// SPDX-License-Identifier: GPL-3.0-or-later
// A QTableView set up the way all tables of the window look: compact lines of one height (so that a
// million rows scroll at once), no row header, whole lines selected, Ctrl+C copies the selected
// lines as TSV. Owned by its view. GUI thread.
#pragma once
#include <QStyledItemDelegate>
#include <QTableView>

class QLabel;

namespace kvlab {

/// Roles that DataTable's delegate understands beside Qt's own.
enum DataRole {
  kMonoRole = Qt::UserRole + 1,  // bool: in the mono font
  kToneRole,                     // Tone of the text
  kFillRole,                     // QColor over the line's own background; invalid = none
  kRuleRole,                     // bool: a rule along the left side of the cell (a column group begins)
  kBadRole,                      // bool: the line is wrong; marked on the left side and tinted
  kSwatchRole,                   // QColor: a small square before the text
  kBarRole,  // double: a bar behind the text, as a share of the cell's width; in the tone of the text
  kKeyRole,  // what the column is ordered by
  // Of headers.
  kIdRole,     // the column's name in options
  kWidthRole,  // a text as wide as those of the column; invalid: the table keeps its widths
  kGivesRole,  // int: see ColumnRoom
};
enum class Tone { Normal, Muted, Faint, Ghost, Accent, Ok, Warning, Error };

class DataDelegate : public QStyledItemDelegate {
  Q_OBJECT
 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
  /// The whole text of a cell that shows only a part of it, unless the model has a tool tip of its own.
  bool helpEvent(QHelpEvent* event, QAbstractItemView* view, const QStyleOptionViewItem& option,
                 const QModelIndex& index) override;
};

class DataTable : public QTableView {
  Q_OBJECT
 public:
  explicit DataTable(QWidget* parent);
  /// With its model, for screen readers and people a name and what it is for, and scroll bars that settle at once.
  DataTable(QWidget* parent, QAbstractItemModel* model, const QString& name, const QString& tip);
  /// These columns share the room that is left, instead of the last one.
  void stretch(std::initializer_list<const char*> ids);
  /// Takes the columns' widths from the model's header, and the order in which they give way where the table is
  /// narrower than its columns. Their cells then stand in the tool tips of the line, and a mark in the header
  /// counts them. The last column stretches.
  void setModel(QAbstractItemModel* model) override;
  /// The same again, after the model's header has changed.
  void takeColumns();
  /// -1 = there is none of this id.
  int columnOf(const QString& id) const;
  QList<int> shedColumns() const { return m_shed; }
  /// Room at the right of a column's title and cells that the mark takes.
  int reservedOf(int column) const;
  /// The cells of the shed columns of a line, "title: text" each.
  QStringList shedTexts(int row) const;
  /// The selected lines, or all (at most `limit`) if fewer than two are selected, with the header.
  QString tsv(int limit = 200000) const;
  void copy() const;
  /// Makes `row` the current one and scrolls to it without telling anyone that it was clicked.
  void showRow(int row);

 signals:
  /// A line was chosen by click, Return or the arrow keys.
  void chosen(const QModelIndex& index);
  void hovered(const QModelIndex& index);  // invalid when the pointer leaves

 protected:
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
  bool m_byHand = false;  // a key or a click is being handled; all else moves the current line silently
};

}  // namespace kvlab
