// SPDX-License-Identifier: GPL-3.0-or-later
// Files that a person or a script asks for are whole or absent, and go to the target of their name
// (core/api/part_file.h). Any thread.
#pragma once
#include <QByteArray>
#include <QImage>
#include <QString>
#include <QWidget>

#include "core/api/error.h"

namespace kvlab {

/// Error (code io): `what` was not written, and why; `value` is the path.
Status saveFile(const QString& path, const QByteArray& bytes, const std::string& what);
/// The bytes of a picture file; the suffix of the path names its form. Error (code io): Qt does not write that form.
Result<QByteArray> pictureBytes(const QString& path, const QImage& picture);
/// The same, in a file.
Status savePicture(const QString& path, const QImage& picture);
/// Saves the drawing of a widget as a vector file.
Status saveDrawing(const QString& path, QWidget& widget);

}  // namespace kvlab
