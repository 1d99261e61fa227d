// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/save_file.h"

#include <QBuffer>
#include <QFile>
#include <QFileInfo>
#include <QPainter>
#include <QSvgGenerator>

#include "core/api/part_file.h"

namespace kvlab {

Status saveFile(const QString& path, const QByteArray& bytes, const std::string& what) {
  const Status written =
      writeWhole(QFile::encodeName(path).toStdString(), {bytes.data(), static_cast<std::size_t>(bytes.size())});
  if (written) return ok();
  return Error("io", what + " was not written", written.error().why, "choose a folder that can be written to", "path",
               path.toStdString());
}

Result<QByteArray> pictureBytes(const QString& path, const QImage& picture) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  if (picture.save(&buffer, QFileInfo(path).suffix().toLatin1().constData())) return bytes;
  return Error("io", "no picture was written to " + path.toStdString(), "the file has no known picture suffix",
               "name a .png in a folder that can be written", "path", path.toStdString());
}

Status savePicture(const QString& path, const QImage& picture) {
  const QByteArray bytes = KV_TRY(pictureBytes(path, picture));
  return saveFile(path, bytes, "the picture " + path.toStdString());
}

Status saveDrawing(const QString& path, QWidget& widget) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  QSvgGenerator svg;
  svg.setOutputDevice(&buffer);
  svg.setSize(widget.size());
  svg.setViewBox(widget.rect());
  QPainter painter(&svg);
  widget.render(&painter);
  painter.end();
  return saveFile(path, bytes, "the picture " + path.toStdString());
}

}  // namespace kvlab
