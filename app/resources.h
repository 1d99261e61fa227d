// SPDX-License-Identifier: GPL-3.0-or-later
// Where the files that come with the program are. Any thread.
#pragma once
#include <QString>
#include <QStringList>

namespace kvlab {

/// KVLAB_RESOURCES if set, else the source tree of an uninstalled build, else the installed data
/// directory (also relative to the program, so that a moved installation works); empty = none.
QString resourceRoot();
/// The places resourceRoot() looked at, for error messages.
QStringList resourcePlaces();

}  // namespace kvlab
