// SPDX-License-Identifier: GPL-3.0-or-later
// Finds the files that come with the program: those in a folder, and those compiled into the library (prelude, icons).
// Any thread.
#pragma once
#include <QString>
#include <QStringList>

namespace kvlab {

/// KVLAB_RESOURCES if set; else the source tree for an uninstalled build; else the installed data directory (also
/// relative to the program, so that a moved installation works). Empty = none.
QString resourceRoot();
/// "resource:NAME" as the path of that file; other paths as they are.
QString resourcePath(const QString& path);
/// The places that resourceRoot() searched, for error messages.
QStringList resourcePlaces();
/// Makes the files of the library available under :/kvlab; needed because the library is static.
void loadAppFiles();

}  // namespace kvlab
