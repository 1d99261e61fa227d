// SPDX-License-Identifier: GPL-3.0-or-later
// Files that a person or a script asks for are whole or absent, and go to the target of their name
// (core/api/part_file.h). Any thread.
#pragma once
#include <QByteArray>
#include <QString>

#include "core/api/error.h"

namespace kvlab {

/// Error (code io): `what` was not written, and why; `value` is the path.
Status saveFile(const QString& path, const QByteArray& bytes, const std::string& what);

}  // namespace kvlab
