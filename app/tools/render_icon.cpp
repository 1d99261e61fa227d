// SPDX-License-Identifier: GPL-3.0-or-later
// Build tool: render_icon DRAWING.svg FOLDER SIZE... writes FOLDER/SIZE.png.
#include <QDir>
#include <QGuiApplication>
#include <QImage>
#include <QPainter>
#include <QSvgRenderer>

int main(int argc, char** argv) {
  const QGuiApplication application(argc, argv);
  const QStringList args = QGuiApplication::arguments();
  if (args.size() < 4) return qCritical("usage: render_icon DRAWING.svg FOLDER SIZE..."), 2;
  QSvgRenderer drawing(args[1]);
  if (!drawing.isValid() || !QDir().mkpath(args[2])) return qCritical("cannot read %s", qPrintable(args[1])), 1;
  for (const QString& size : args.mid(3)) {
    QImage image(size.toInt(), size.toInt(), QImage::Format_ARGB32_Premultiplied);
    image.fill(Qt::transparent);
    QPainter painter(&image);
    drawing.render(&painter);
    painter.end();
    if (!image.save(args[2] + "/" + size + ".png")) return qCritical("cannot write %s", qPrintable(size)), 1;
  }
  return 0;
}
