// SPDX-License-Identifier: GPL-3.0-or-later
// Compares pictures and texts of views with those in tests/golden. Pictures must be equal bit for
// bit on Debian 12, where they were made; elsewhere the font rasteriser may differ, so a few pixels
// may. A failure leaves actual, expected and diff under golden-failures/ beside the test program.
// KV_UPDATE_GOLDEN=1 rewrites the expected files instead: look at them before committing.
#pragma once
#include <QtTest>

#include <QDir>
#include <QFile>

#include "widgets/base/expectation.h"
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
  return path;
}

/// Empty if the picture is as expected, else the difference.
inline QString compareImage(const QString& name, const QImage& shot) {
  const bool exact = exactHere();
  const Status same = expectPicture({folder("images") + '/' + name + ".png", failuresFolder(), updating()}, shot,
                                    {exact ? 0 : 48, exact ? 0 : 0.03});
  return same ? QString() : QString::fromStdString(same.error().text());
}

/// The same for a text.
inline QString compareText(const QString& name, const QString& actual) {
  const Status same = expectText({folder("text") + '/' + name + ".txt", failuresFolder(), updating()}, actual);
  return same ? QString() : QString::fromStdString(same.error().text());
}

}  // namespace kvlab::golden
