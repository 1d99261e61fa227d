// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/save_file.h"

#include <QFile>

#include "core/api/part_file.h"

namespace kvlab {

Status saveFile(const QString& path, const QByteArray& bytes, const std::string& what) {
  const Status written =
      writeWhole(QFile::encodeName(path).toStdString(), {bytes.data(), static_cast<std::size_t>(bytes.size())});
  if (written) return ok();
  return Error("io", what + " was not written", written.error().why, "choose a folder that can be written to", "path",
               path.toStdString());
}

}  // namespace kvlab
