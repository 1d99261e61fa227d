// SPDX-License-Identifier: GPL-3.0-or-later
// Mouse and keys for scripts: events take the way through the window that those of a person take, so that shortcuts,
// focus, menus and drags work as they do by hand. Owned by WindowViews. GUI thread.
#pragma once
#include <QPointer>
#include <QWidget>

#include "app/script/ports.h"

namespace kvlab {

class PersonInput {
 public:
  /// A click or a drag at places of `widget`; false if a place lies outside of it.
  bool mouse(QWidget& widget, const MouseAct& act);
  /// Keys for the widget, or for its child with the keyboard focus; an open menu takes them first.
  void keys(QWidget& widget, const QKeySequence& keys);
  void type(QWidget& widget, const QString& text);

 private:
  void send(QWidget& widget, QPointF at, QEvent::Type type, const MouseAct& act);

  int m_time = 0;  // time of the last event, in ms; events lie apart, so that two clicks are no double click
};

}  // namespace kvlab
