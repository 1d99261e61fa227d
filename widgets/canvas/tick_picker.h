// SPDX-License-Identifier: GPL-3.0-or-later
// A strip with a column per tick of the history, to go to a tick by click, drag or keys; what a column looks like
// and where it is, the strips that derive from it say. GUI thread.
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
  /// The tick under a point; nothing outside of the columns.
  std::optional<Tick> tickAt(const QPointF& point) const;

 signals:
  void picked(kvlab::Tick tick);

 protected:
  virtual int count() const = 0;
  virtual Tick tickOf(int place) const = 0;
  virtual QString describe(int place) const = 0;
  /// The place of the column under a point, -1 outside of them.
  virtual int placeAt(const QPointF& point) const = 0;

  /// Place of the tick that the window shows; -1 = none of these.
  int shown() const { return m_shown; }
  /// To be called whenever the columns have changed.
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

/// A strip that shows a part of its columns, the shown one among them; the wheel scrolls.
class ScrolledTicks : public TickPicker {
  Q_OBJECT
 public:
  using TickPicker::TickPicker;

 protected:
  static constexpr int kSide = Theme::kMedium;  // room left and right of the columns
  virtual double columnWidth() const = 0;
  int placeAt(const QPointF& point) const override;
  /// The leftmost column in sight, and the one behind the last.
  int first() const { return m_first; }
  int end() const { return std::min(count(), m_first + capacity()); }
  double leftOf(int place) const { return kSide + (place - m_first) * columnWidth(); }
  /// Scrolls to the shown column, or where none is shown, to the last one.
  void reveal();
  void resizeEvent(QResizeEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;

 private:
  int capacity() const;
  void scrollTo(int first);

  int m_first = 0;
};

}  // namespace kvlab
