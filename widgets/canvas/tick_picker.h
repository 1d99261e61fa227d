// SPDX-License-Identifier: GPL-3.0-or-later
// A strip with one column per tick of the history. A click, drag or key goes to a tick. Subclasses define place and
// look of the columns. GUI thread.
#pragma once
#include <QWidget>
#include <optional>

#include "core/api/ids.h"
#include "widgets/base/theme.h"

namespace kvlab {

class TickPicker : public QWidget {
  Q_OBJECT
 public:
  explicit TickPicker(QWidget* parent);
  /// The tick under a point; empty outside the columns.
  std::optional<Tick> tickAt(const QPointF& point) const;

 signals:
  void picked(kvlab::Tick tick);

 protected:
  virtual int count() const = 0;
  virtual Tick tickOf(int place) const = 0;
  virtual QString describe(int place) const = 0;
  /// Index of the column under a point, -1 outside the columns.
  virtual int placeAt(const QPointF& point) const = 0;

  /// Index of the tick that the window shows; -1 = not in this strip.
  int shown() const { return m_shown; }
  /// Must be called after every change of the columns.
  void setShown(Tick tick);
  void step(int by);
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  void pickAt(const QPointF& point);

  int m_shown = -1;
};

/// A strip that shows a range of its columns, including the shown tick; the wheel scrolls.
class ScrolledTicks : public TickPicker {
  Q_OBJECT
 public:
  using TickPicker::TickPicker;

 protected:
  static constexpr int kSide = Theme::kMedium;  // room left and right of the columns
  virtual double columnWidth() const = 0;
  int placeAt(const QPointF& point) const override;
  /// First visible column, and the one after the last visible column.
  int first() const { return m_first; }
  int end() const { return std::min(count(), m_first + capacity()); }
  double leftOf(int place) const { return kSide + (place - m_first) * columnWidth(); }
  /// Scrolls to the shown tick, or to the last column if it is not in this strip.
  void reveal();
  void resizeEvent(QResizeEvent*) override { reveal(); }
  void wheelEvent(QWheelEvent* event) override;

 private:
  int capacity() const;
  void scrollTo(int first);

  int m_first = 0;
};

}  // namespace kvlab
