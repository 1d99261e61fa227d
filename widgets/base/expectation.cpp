// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/expectation.h"

#include <QBuffer>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QPainter>
#include <algorithm>

#include "widgets/base/save_file.h"

namespace kvlab {
namespace {

QByteArray png(const QImage& picture) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  picture.save(&buffer, "PNG", 0);
  return bytes;
}

Status write(const QString& path, const QByteArray& bytes) {
  QDir().mkpath(QFileInfo(path).absolutePath());
  return saveFile(path, bytes, path.toStdString());
}

/// "OUT/map.actual.png" of "expected/map.png".
QString artefact(const Expectation& e, const char* kind) {
  const QFileInfo file(e.file);
  return QStringLiteral("%1/%2.%3.%4").arg(e.artefacts, file.completeBaseName(), QLatin1String(kind), file.suffix());
}

/// Writes the given files and names the difference.
Error failed(const Expectation& e, const QString& why, const std::vector<std::pair<const char*, QByteArray>>& left) {
  QStringList kinds;
  for (const auto& [kind, bytes] : left) {
    kinds << kind;
    if (const Status written = write(artefact(e, kind), bytes); !written) return written.error();
  }
  const QString one = kinds.size() == 1 ? kinds.front() : '{' + kinds.join(',') + '}';
  return {"expectation_failed",
          e.file.toStdString() + " is not what it should be",
          why.toStdString(),
          "look at " + artefact(e, qPrintable(one)).toStdString() + "; where the change is wanted, run with --update",
          std::nullopt,
          "file",
          e.file.toStdString()};
}

QImage masked(const QImage& picture, const QList<QRect>& masks) {
  if (picture.isNull()) return picture;
  QImage out = picture.convertToFormat(QImage::Format_RGB32);
  out.setDevicePixelRatio(1);
  QPainter painter(&out);
  for (const QRect& mask : masks) painter.fillRect(mask, QColor(128, 128, 128));
  return out;
}

QString sized(QSize size) { return QStringLiteral("%1x%2").arg(size.width()).arg(size.height()); }

QString placed(const QRect& at) {
  return QStringLiteral("%1 at (%2, %3)").arg(sized(at.size())).arg(at.x()).arg(at.y());
}

constexpr auto kMissing = "it does not exist yet; --update writes it";

}  // namespace

QImage difference(const QImage& actual, const QImage& expected, int tolerance, qint64* wrong, QRect* where) {
  QImage diff = expected.convertToFormat(QImage::Format_RGB32);
  *wrong = 0;
  QRect around;
  for (int y = 0; y < diff.height(); ++y)
    for (int x = 0; x < diff.width(); ++x) {
      const QRgb a = actual.pixel(x, y), b = expected.pixel(x, y);
      const int off =
          std::max({std::abs(qRed(a) - qRed(b)), std::abs(qGreen(a) - qGreen(b)), std::abs(qBlue(a) - qBlue(b))});
      *wrong += off > tolerance;
      if (off > tolerance) around |= QRect(x, y, 1, 1);
      diff.setPixel(x, y, off > tolerance ? qRgb(255, 0, 0) : qRgb(qRed(b) / 3, qGreen(b) / 3, qBlue(b) / 3));
    }
  if (where) *where = around;
  return diff;
}

QString textDifference(const QString& actual, const QString& expected) {
  if (actual == expected) return {};
  const QStringList a = actual.split('\n'), b = expected.split('\n');
  qsizetype same = 0, end = 0;  // equal lines at the begin and at the end
  while (same < std::min(a.size(), b.size()) && a[same] == b[same]) ++same;
  while (end < std::min(a.size(), b.size()) - same && a[a.size() - 1 - end] == b[b.size() - 1 - end]) ++end;
  QStringList out{QStringLiteral("@@ line %1 @@").arg(same + 1)};
  const auto lines = [&](const QStringList& of, qsizetype from, qsizetype to, const char* mark) {
    for (qsizetype i = std::max<qsizetype>(0, from); i < std::min(to, of.size()); ++i) out << mark + of[i];
  };
  lines(b, same - 3, same, " ");
  lines(b, same, b.size() - end, "-");
  lines(a, same, a.size() - end, "+");
  lines(a, a.size() - end, a.size() - end + 3, " ");
  return out.join('\n') + '\n';
}

Status expectPicture(const Expectation& e, const QImage& picture, const PictureRules& rules) {
  const QImage actual = masked(picture, rules.masks);
  const QImage expected = masked(QImage(e.file), rules.masks);
  qint64 wrong = 0;
  QRect where;
  QImage diff;
  if (actual.size() == expected.size()) diff = difference(actual, expected, rules.tolerance, &wrong, &where);
  const qint64 pixels = qint64{actual.width()} * actual.height();
  if (!diff.isNull() && static_cast<double>(wrong) <= rules.share * static_cast<double>(pixels)) return ok();
  if (e.update) return write(e.file, png(actual));
  if (expected.isNull()) return failed(e, kMissing, {{"actual", png(actual)}});
  if (diff.isNull())
    return failed(e,
                  QStringLiteral("the picture is %1, expected is %2").arg(sized(actual.size()), sized(expected.size())),
                  {{"actual", png(actual)}, {"expected", png(expected)}});
  return failed(e,
                QStringLiteral("%1 of %2 pixels differ by more than %3, all inside %4; at most %5 may differ")
                    .arg(wrong)
                    .arg(pixels)
                    .arg(rules.tolerance)
                    .arg(placed(where))
                    .arg(static_cast<qint64>(rules.share * static_cast<double>(pixels))),
                {{"actual", png(actual)}, {"expected", png(expected)}, {"diff", png(diff)}});
}

Status expectText(const Expectation& e, const QString& text, const QList<QRegularExpression>& masks) {
  const auto without = [&](QString from) {
    for (const QRegularExpression& mask : masks) from.replace(mask, QStringLiteral("…"));
    return from;
  };
  const QString actual = without(text);
  QFile file(e.file);
  const bool known = file.open(QIODevice::ReadOnly);
  const QString expected = known ? without(QString::fromUtf8(file.readAll())) : QString();
  if (known && actual == expected) return ok();
  if (e.update) return write(e.file, actual.toUtf8());
  if (!known) return failed(e, kMissing, {{"actual", actual.toUtf8()}});
  const QString diff = textDifference(actual, expected);
  const QStringList lines = diff.split('\n');
  const auto first = [&](char mark) {
    const auto found =
        std::find_if(lines.begin(), lines.end(), [&](const QString& line) { return line.startsWith(mark); });
    return found == lines.end() ? QStringLiteral("nothing") : "“" + found->mid(1, 120) + "”";
  };
  return failed(e, QStringLiteral("%1: %2 instead of %3").arg(lines.front().mid(3).chopped(3), first('+'), first('-')),
                {{"actual", actual.toUtf8()}, {"expected", expected.toUtf8()}, {"diff", diff.toUtf8()}});
}

}  // namespace kvlab
