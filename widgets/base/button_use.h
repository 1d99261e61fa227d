// SPDX-License-Identifier: GPL-3.0-or-later
// Records for each button of a view the effect of a click: it runs a command of the registry, or changes only the view.
// A test checks all buttons. GUI thread.
#pragma once
#include <initializer_list>

#include "widgets/base/inspector_context.h"

class QAbstractButton;
class QPushButton;

namespace kvlab {

/// A click runs the command, at once or through the button's menu; the view connects the click.
void setCommand(QAbstractButton* button, const char* id);
/// setCommand(), and connects the click to the command. For buttons without a menu.
void runsCommand(QAbstractButton* button, InspectorContext& context, const char* id);
/// A click changes only what the view shows, the focus or a draft, or it copies or saves the view's content.
void setOwn(std::initializer_list<QAbstractButton*> buttons);

/// A button whose text is its accessible name.
QPushButton* pushButton(const QString& text, const QString& tip, QWidget* parent);

/// Command of a button; empty if it has none.
QString commandOf(const QAbstractButton& button);
bool isOwn(const QAbstractButton& button);

}  // namespace kvlab
