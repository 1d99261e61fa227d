// SPDX-License-Identifier: GPL-3.0-or-later
// Item models whose columns are defined in one place. A ColumnSpec holds everything about a column: id, title, width,
// order of hiding, and functions for text, tone and tool tip of a line. ColumnModel serves such columns as an item
// model; LineModel also stores the lines. Owned by a view. GUI thread.
#pragma once
#include <QAbstractTableModel>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "widgets/table/data_table.h"

namespace kvlab {

struct ColumnRoom {
  ColumnRoom(const char* text, int place = 0) : width(QString::fromUtf8(text)), gives(place) {}
  ColumnRoom(QString text = {}, int place = 0) : width(std::move(text)), gives(place) {}
  QString width;  // a sample text that sets the width
  int gives;      // 1 = first column to hide if the table is narrow, 0 = never hidden
};

/// Properties of a column that do not depend on its cells.
struct ColumnHead {
  QString id;          // name in options and tests
  QString title, tip;  // title and tool tip of the header
  ColumnRoom room;
  int align = Qt::AlignLeft | Qt::AlignVCenter;
  bool mono = true;
};

/// `Arg` is the parameter type for a line: a const reference, or a small value.
template <class Arg>
struct ColumnSpec : ColumnHead {
  using Text = std::function<QString(Arg)>;
  using Cell = std::function<QVariant(Arg)>;

  ColumnSpec(ColumnHead head, Text cell) : ColumnHead(std::move(head)), text(std::move(cell)) {}
  ColumnSpec& left() { return align = Qt::AlignLeft | Qt::AlignVCenter, *this; }
  ColumnSpec& right() { return align = Qt::AlignRight | Qt::AlignVCenter, *this; }
  ColumnSpec& words() { return mono = false, *this; }  // uses the window's font
  ColumnSpec& with(int role, Cell cell) { return cells[role] = std::move(cell), *this; }
  ColumnSpec& in(Tone tone) {
    return with(kToneRole, [tone](Arg) { return static_cast<int>(tone); });
  }
  ColumnSpec& toned(std::function<Tone(Arg)> tone) {
    return with(kToneRole, [tone = std::move(tone)](Arg line) { return static_cast<int>(tone(line)); });
  }
  /// Sets the tool tip of cells; empty = none.
  ColumnSpec& tips(Text said) {
    return with(Qt::ToolTipRole, [said = std::move(said)](Arg line) {
      const QString words = said(line);
      return words.isEmpty() ? QVariant() : QVariant(words);
    });
  }
  /// Sets the sort key; lines without a key come first.
  ColumnSpec& key(Cell cell) { return with(kKeyRole, std::move(cell)); }

  Text text;
  std::map<int, Cell> cells;  // by role
};

/// The part of the model that does not depend on the line type.
class HeadedModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  using QAbstractTableModel::QAbstractTableModel;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  /// -1 = no column has this id.
  int columnOf(const QString& id) const;

 protected:
  virtual const ColumnHead& head(int column) const = 0;
  /// Emits that all cells changed; the set of lines is the same.
  void changed();
};

template <class Arg>
class ColumnModel : public HeadedModel {
 public:
  using Column = ColumnSpec<Arg>;
  using Cell = typename Column::Cell;

  using HeadedModel::HeadedModel;
  int rowCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : count(); }
  int columnCount(const QModelIndex& parent = {}) const override {
    return parent.isValid() ? 0 : static_cast<int>(m_columns.size());
  }
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override {
    if (!index.isValid() || index.row() >= count()) return {};
    const Column& column = m_columns[static_cast<std::size_t>(index.column())];
    for (const auto* cells : {&column.cells, &m_lineCells})
      if (const auto cell = cells->find(role); cell != cells->end()) return cell->second(line(index.row()));
    switch (role) {
      case Qt::DisplayRole:
      case Qt::AccessibleTextRole: return column.text(line(index.row()));
      case Qt::TextAlignmentRole: return column.align;
      case kMonoRole: return column.mono;
      default: return {};
    }
  }

 protected:
  virtual int count() const = 0;
  virtual Arg line(int row) const = 0;
  const ColumnHead& head(int column) const override { return m_columns[static_cast<std::size_t>(column)]; }
  /// Adds a column; for constructors.
  Column& add(const char* id, const QString& title, const QString& tip, ColumnRoom room, typename Column::Text text) {
    return m_columns.emplace_back(ColumnHead{QLatin1String(id), title, tip, std::move(room)}, std::move(text));
  }
  Column& addNumber(const char* id, const QString& title, const QString& tip, ColumnRoom room,
                    typename Column::Text text) {
    return add(id, title, tip, std::move(room), std::move(text)).right();
  }
  /// Adds a role that all columns have.
  void withLines(int role, Cell cell) { m_lineCells[role] = std::move(cell); }
  /// Sets the tone of columns that define none.
  void withTone(std::function<Tone(Arg)> tone) {
    withLines(kToneRole, [tone = std::move(tone)](Arg line) { return static_cast<int>(tone(line)); });
  }
  std::vector<Column>& columns() { return m_columns; }

 private:
  std::vector<Column> m_columns;
  std::map<int, Cell> m_lineCells;
};

template <class Line>
class LineModel : public ColumnModel<const Line&> {
 public:
  using ColumnModel<const Line&>::ColumnModel;
  const std::vector<Line>& lines() const { return m_lines; }
  const Line& at(const QModelIndex& index) const { return line(index.row()); }

 protected:
  int count() const override { return static_cast<int>(m_lines.size()); }
  const Line& line(int row) const override { return m_lines[static_cast<std::size_t>(row)]; }
  /// Replaces the lines. same: only figures changed, which keeps the selection.
  void replace(std::vector<Line> lines, bool same = false) {
    if (!same) this->beginResetModel();
    m_lines = std::move(lines);
    if (same) this->changed();
    else this->endResetModel();
  }
  /// Row of the first line for which `fits` holds, -1 = none.
  template <class Fits>
  int find(Fits fits) const {
    for (int row = 0; row < count(); ++row)
      if (fits(line(row))) return row;
    return -1;
  }

  std::vector<Line> m_lines;
};

}  // namespace kvlab
