// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/base/resources.h"

#include <QDir>
#include <QFileInfo>
#include <QtGlobal>

static void initAppFiles() { Q_INIT_RESOURCE(app); }  // must be outside any namespace

namespace kvlab {

/// The folder of the program. Subcommands without a window have no application object that could tell it.
static QString programFolder() {
  const QString file = QFile::symLinkTarget(QStringLiteral("/proc/self/exe"));
  return file.isEmpty() ? file : QFileInfo(file).path();
}

QStringList resourcePlaces() {
  const QString chosen = qEnvironmentVariable("KVLAB_RESOURCES");
  if (!chosen.isEmpty()) return {chosen};
  QStringList places;
  // An installed program must not use the source tree it was built from.
  const QString program = programFolder();
  const bool installed = QDir::cleanPath(program).endsWith("/bin");
  if (!program.isEmpty()) places << QDir::cleanPath(program + "/../share/kvlab");
  if (!installed) places.prepend(KVLAB_SOURCE_RESOURCES);
  places << KVLAB_INSTALL_RESOURCES;
  return places;
}

QString resourceRoot() {
  for (const QString& place : resourcePlaces())
    if (QDir(place + "/scripts").exists()) return place;
  return {};
}

QString resourcePath(const QString& path) {
  const QString scheme = QStringLiteral("resource:");
  return path.startsWith(scheme) ? resourceRoot() + '/' + path.mid(scheme.size()) : path;
}

void loadAppFiles() { initAppFiles(); }

}  // namespace kvlab
