// SPDX-License-Identifier: GPL-3.0-or-later
// The notices of a view about itself: it is empty, or it shows only some of the ticks. Owned by the view. GUI
// thread.
#pragma once
#include <QToolButton>
#include <QWidget>

#include "widgets/base/inspector_context.h"

namespace kvlab {

/// A notice that replaces an empty view: it says what the view would show, and how to get there.
class EmptyNotice : public QWidget {
  Q_OBJECT
 public:
  explicit EmptyNotice(QWidget* parent);
  void say(const QString& title, const QString& how);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  QString m_title, m_how;
};

/// A button that says to which ticks views are limited; a click shows all ticks again. Hidden while there is no limit.
class TickLimitNote : public QToolButton {
  Q_OBJECT
 public:
  TickLimitNote(InspectorContext& context, QWidget* parent);

 private:
  void follow();

  InspectorContext& m_context;
};

}  // namespace kvlab
