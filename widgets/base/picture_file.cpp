// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/picture_file.h"

#include <QBuffer>
#include <QFileInfo>
#include <QWidget>

#include "widgets/base/save_file.h"
#include "widgets/base/theme.h"
#include "widgets/figure/figure.h"

namespace kvlab {

QImage pixelsOf(QWidget& widget, double dpr) {
  QImage image((QSizeF(widget.size()) * dpr).toSize(), QImage::Format_RGB32);
  image.setDevicePixelRatio(dpr);
  image.fill(Theme::current()->surface);
  widget.render(&image);
  return image;
}

Result<PictureFile> pictureFile(const QString& path, QWidget& widget, double dpr) {
  const QString suffix = QFileInfo(path).suffix().toLower();
  const QColor ground = Theme::current()->surface;
  if (suffix == QLatin1String("svg")) return PictureFile{svgOf(widget, ground), widget.size()};
  if (suffix == QLatin1String("pdf")) return PictureFile{pdfOf(widget, ground), widget.size()};
  if (suffix != QLatin1String("png"))
    return Error("bad_argument", "no picture was written to " + path.toStdString(),
                 suffix.isEmpty() ? "the name has no suffix" : "no picture has the suffix ." + suffix.toStdString(),
                 "end the name with .png, .svg or .pdf", "path", path.toStdString());
  PictureFile out;
  QBuffer buffer(&out.bytes);
  buffer.open(QIODevice::WriteOnly);
  const QImage image = pixelsOf(widget, dpr);
  image.save(&buffer, "PNG");
  out.size = image.size();
  return out;
}

Status savePicture(const QString& path, const PictureFile& picture) {
  return saveFile(path, picture.bytes, "the picture " + path.toStdString());
}

}  // namespace kvlab
