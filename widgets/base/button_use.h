// SPDX-License-Identifier: GPL-3.0-or-later
// What a click on a button does: it runs a command of the registry, or it changes nothing but its view. Every button
// of a view says which, so that a test can ask all buttons. GUI thread.
#pragma once
#include <initializer_list>

#include "widgets/base/inspector_context.h"

class QAbstractButton;
class QPushButton;

namespace kvlab {

/// A click runs the command, at once or through the button's menu; the view sees to it.
void setCommand(QAbstractButton* button, const char* id);
/// The same, and a click without a menu needs no more than this.
void runsCommand(QAbstractButton* button, InspectorContext& context, const char* id);
/// A click changes what the view shows, the focus, or a draft; or it copies or saves what the view shows.
void setOwn(std::initializer_list<QAbstractButton*> buttons);

/// A button with a name for screen readers.
QPushButton* pushButton(const QString& text, const QString& tip, QWidget* parent);

/// Empty where the button has none.
QString commandOf(const QAbstractButton& button);
bool isOwn(const QAbstractButton& button);

}  // namespace kvlab
