// SPDX-License-Identifier: GPL-3.0-or-later
// Pictures of widgets as files: the suffix of a path names the form. GUI thread.
#pragma once
#include <QByteArray>
#include <QImage>
#include <QSize>
#include <QString>

#include "core/api/error.h"

class QWidget;

namespace kvlab {

struct PictureFile {
  QByteArray bytes;
  QSize size;  // in pixels; of a vector picture in device-independent ones
};

/// The forms, as a dialog that asks for a file names them.
inline constexpr const char* kPictureFilter = "Pictures (*.png *.svg *.pdf)";

/// A widget as it is laid out, `dpr` pixels for each device-independent one.
QImage pixelsOf(QWidget& widget, double dpr);
/// The same as the content of a file: .svg and .pdf hold shapes and texts (widgets/figure), whatever the dpr. Error
/// (code bad_argument): a path with another suffix; the error names the forms.
Result<PictureFile> pictureFile(const QString& path, QWidget& widget, double dpr);
/// Writes it. Error (code io): the path cannot be written.
Status savePicture(const QString& path, const PictureFile& picture);

}  // namespace kvlab
