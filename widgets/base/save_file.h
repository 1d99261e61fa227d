// SPDX-License-Identifier: GPL-3.0-or-later
// Files that a person or a script asks for are there whole or not at all. Any thread.
#pragma once
#include <QByteArray>
#include <QImage>
#include <QString>

#include "core/api/error.h"

namespace kvlab {

/// Error (code io): `what` was not written, and why; `value` is the path.
Status saveFile(const QString& path, const QByteArray& bytes, const std::string& what);
/// The same for a picture; the suffix of the path names its form.
Status savePicture(const QString& path, const QImage& picture);

}  // namespace kvlab
