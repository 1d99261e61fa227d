// SPDX-License-Identifier: GPL-3.0-or-later
// Controls in one line that breaks into more where the view is narrow, so that no control is ever cut
// off. In a line every item has the width it asks for; items with a stretch begin at their least width
// and share what is left. Owned by the widget it lays out. GUI thread; device-independent pixels.
#pragma once
#include <QLayout>
#include <vector>

namespace kvlab {

class StripLayout : public QLayout {
  Q_OBJECT
 public:
  /// Lines are `lineHeight` apart; 0 = as tall as their tallest item, with the spacing between them.
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
