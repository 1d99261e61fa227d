// SPDX-License-Identifier: GPL-3.0-or-later
// Compares pictures and texts of views with those in tests/golden. Pictures must be equal bit for
// bit on Debian 12, where they were made; elsewhere the font rasteriser may differ, so a few pixels
// may. A failure leaves actual, expected and diff under golden-failures/ beside the test program.
// KV_UPDATE_GOLDEN=1 rewrites the expected files instead: look at them before committing.
#pragma once
#include <QtTest>

#include <QDir>
#include <QFile>
#include <QImage>

#include "widgets/base/inspector_view.h"

namespace kvlab::golden {

inline QString folder(const char* kind) { return QStringLiteral(KVLAB_TESTS_DIR "/golden/") + kind; }
inline bool updating() { return qEnvironmentVariableIntValue("KV_UPDATE_GOLDEN") != 0; }

inline bool exactHere() {
  QFile release("/etc/os-release");
  if (!release.open(QIODevice::ReadOnly)) return false;
  const QByteArray text = '\n' + release.readAll();
  return text.contains("\nID=debian") && text.contains("\nVERSION_ID=\"12\"");
}

/// Brings a view up to date and waits for its tiles and replies. One that is not ready after five seconds fails the
/// test that runs, whether the caller looks or not.
inline bool settle(InspectorView& view) {
  view.prepare();
  const bool ready = QTest::qWaitFor([&view] { return view.ready(); }, 5000);
  const QString who = view.objectName() + QLatin1Char(' ') + QLatin1String(view.metaObject()->className());
  return QTest::qVerify(ready, "view.ready()", qPrintable(who + " is not ready"), __FILE__, __LINE__);
}

inline QString failuresFolder() {
  const QString path = QCoreApplication::applicationDirPath() + "/golden-failures";
  QDir().mkpath(path);
  return path + '/';
}

/// The pixels that differ, in red over the faded picture, and how many they are.
inline QImage difference(const QImage& actual, const QImage& expected, int tolerance, qint64* wrong) {
  QImage diff = expected.convertToFormat(QImage::Format_RGB32);
  *wrong = 0;
  for (int y = 0; y < diff.height(); ++y)
    for (int x = 0; x < diff.width(); ++x) {
      const QRgb a = actual.pixel(x, y), b = expected.pixel(x, y);
      const int off =
          std::max({std::abs(qRed(a) - qRed(b)), std::abs(qGreen(a) - qGreen(b)), std::abs(qBlue(a) - qBlue(b))});
      *wrong += off > tolerance;
      diff.setPixel(x, y, off > tolerance ? qRgb(255, 0, 0) : qRgb(qRed(b) / 3, qGreen(b) / 3, qBlue(b) / 3));
    }
  return diff;
}

/// Empty if the picture is as expected, else what is wrong.
inline QString compareImage(const QString& name, const QImage& shot) {
  const QImage actual = shot.convertToFormat(QImage::Format_RGB32);
  const QString path = folder("images") + '/' + name + ".png";
  if (updating()) return actual.save(path, "PNG", 0) ? QString() : "cannot write " + path;
  const QImage expected = QImage(path).convertToFormat(QImage::Format_RGB32);
  if (expected.isNull()) return "there is no golden picture " + path + "; run with KV_UPDATE_GOLDEN=1 and look at it";
  const QString base = failuresFolder() + name;
  if (actual.size() != expected.size()) {
    actual.save(base + ".actual.png");
    return QString("%1: the size is %2x%3, expected %4x%5")
        .arg(name)
        .arg(actual.width())
        .arg(actual.height())
        .arg(expected.width())
        .arg(expected.height());
  }
  const bool exact = exactHere();
  qint64 wrong = 0;
  const QImage diff = difference(actual, expected, exact ? 0 : 48, &wrong);
  const qint64 allowed = exact ? 0 : static_cast<qint64>(actual.width()) * actual.height() * 3 / 100;
  if (wrong <= allowed) return {};
  actual.save(base + ".actual.png");
  expected.save(base + ".expected.png");
  diff.save(base + ".diff.png");
  return QString("%1: %2 pixels differ; see %3.*.png").arg(name).arg(wrong).arg(base);
}

/// The same for a text.
inline QString compareText(const QString& name, const QString& actual) {
  QFile file(folder("text") + '/' + name + ".txt");
  if (updating()) {
    if (!file.open(QIODevice::WriteOnly)) return "cannot write " + file.fileName();
    file.write(actual.toUtf8());
    return {};
  }
  if (!file.open(QIODevice::ReadOnly)) return "there is no golden text " + file.fileName();
  const QString expected = QString::fromUtf8(file.readAll());
  if (expected == actual) return {};
  QFile out(failuresFolder() + name + ".actual.txt");
  if (out.open(QIODevice::WriteOnly)) out.write(actual.toUtf8());
  const QStringList a = actual.split('\n'), b = expected.split('\n');
  for (int i = 0; i < std::max(a.size(), b.size()); ++i)
    if (a.value(i) != b.value(i))
      return QString("%1, line %2\n  actual:   %3\n  expected: %4").arg(name).arg(i + 1).arg(a.value(i), b.value(i));
  return name + ": the texts differ";
}

}  // namespace kvlab::golden
