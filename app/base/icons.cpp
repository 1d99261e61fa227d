// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/base/icons.h"

#include <QFile>
#include <QPainter>
#include <QPixmap>
#include <QSvgRenderer>

#include "app/base/app_files.h"

namespace kvlab {

namespace {

QPixmap drawn(QByteArray svg, const QColor& colour, int pixels) {
  svg.replace("#888888", colour.name().toLatin1());
  QSvgRenderer renderer(svg);
  QPixmap pixmap(pixels, pixels);
  pixmap.fill(Qt::transparent);
  QPainter painter(&pixmap);
  renderer.render(&painter);
  return pixmap;
}

}  // namespace

QIcon themedIcon(const QString& name, const QColor& colour, const QColor& faint) {
  loadAppFiles();
  QFile file(":/kvlab/icons/" + name + ".svg");
  if (name.isEmpty() || !file.open(QIODevice::ReadOnly)) return {};
  const QByteArray svg = file.readAll();
  QIcon icon;
  for (const int pixels : {16, 32, 48}) {
    icon.addPixmap(drawn(svg, colour, pixels), QIcon::Normal);
    icon.addPixmap(drawn(svg, faint, pixels), QIcon::Disabled);
  }
  return icon;
}

QIcon programIcon() {
  loadAppFiles();
  return QIcon(":/kvlab/icons/kvlab.svg");
}

}  // namespace kvlab
