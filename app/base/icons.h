// SPDX-License-Identifier: GPL-3.0-or-later
// Icons of commands, drawn in the theme's text colour. GUI thread.
#pragma once
#include <QColor>
#include <QIcon>
#include <QString>

namespace kvlab {

/// resources/icons/NAME.svg in `colour`, or in `faint` if disabled. Null if there is no such icon.
QIcon themedIcon(const QString& name, const QColor& colour, const QColor& faint);
QIcon programIcon();

}  // namespace kvlab
