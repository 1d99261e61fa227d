// SPDX-License-Identifier: GPL-3.0-or-later
// A line of controls that wraps into several lines in narrow views, so that no control is cut off. Each item gets its
// preferred width. Items with a stretch start at their minimum width and share the rest. Owned by the widget that it
// lays out. GUI thread; device-independent pixels.
#pragma once
#include <QLayout>
#include <vector>

namespace kvlab {

class StripLayout : public QLayout {
  Q_OBJECT
 public:
  /// lineHeight: distance of lines; 0 = height of the tallest item plus the spacing.
  explicit StripLayout(int lineHeight = 0, QWidget* parent = nullptr);
  ~StripLayout() override;
  void addWidget(QWidget* widget, int stretch = 0);
  void addStretch(int stretch = 1);

  void addItem(QLayoutItem* item) override { m_cells.push_back({item, 0}); }
  int count() const override { return static_cast<int>(m_cells.size()); }
  QLayoutItem* itemAt(int index) const override;
  QLayoutItem* takeAt(int index) override;
  bool hasHeightForWidth() const override { return true; }
  int heightForWidth(int width) const override;
  QSize sizeHint() const override;
  QSize minimumSize() const override;
  Qt::Orientations expandingDirections() const override { return Qt::Horizontal; }
  void setGeometry(const QRect& area) override;

 private:
  struct Cell {
    QLayoutItem* item;
    int stretch;
  };
  using Line = std::vector<const Cell*>;
  std::vector<Line> lines(int width) const;
  int heightOf(const Line& line) const;
  int heightOf(const std::vector<Line>& lines) const;
  void place(const Line& line, QRect area) const;
  static int wanted(const Cell& cell);

  std::vector<Cell> m_cells;
  int m_lineHeight;
};

}  // namespace kvlab
