// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/save_file.h"

#include <QSaveFile>

namespace kvlab {

Status saveFile(const QString& path, const QByteArray& bytes, const std::string& what) {
  QSaveFile file(path);
  if (file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size() && file.commit()) return ok();
  return Error("io", what + " was not written", file.errorString().toStdString(),
               "choose a folder that can be written to", "path", path.toStdString());
}

Status savePicture(const QString& path, const QImage& picture) {
  if (picture.save(path)) return ok();
  return Error("io", "no picture was written to " + path.toStdString(),
               "the file cannot be written or has no known picture suffix",
               "name a .png in a folder that can be written", "path", path.toStdString());
}

}  // namespace kvlab
