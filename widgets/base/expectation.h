// SPDX-License-Identifier: GPL-3.0-or-later
// Pictures and texts compared with files of the expected ones: for expectImage and expectDump of scripts and for the
// golden pictures of the tests. A difference leaves NAME.actual, NAME.expected and NAME.diff. GUI thread.
#pragma once
#include <QImage>
#include <QList>
#include <QRect>
#include <QRegularExpression>
#include <QString>

#include "core/api/error.h"

namespace kvlab {

struct Expectation {
  QString file;         // file with the expected content
  QString artefacts;    // folder for the files of a difference
  bool update = false;  // rewrite expected files that differ
};

/// The allowed differences of two pictures.
struct PictureRules {
  int tolerance = 0;        // tolerance of a colour channel, 0 .. 255
  double share = 0;         // share of pixels that may differ by more, 0 .. 1
  QList<QRect> masks = {};  // in pixels; the pixels inside are not compared
};

/// The pixels that differ by more than `tolerance`, in red over the faded picture, how many they are, and the rectangle
/// around all of them. Pictures of equal size.
QImage difference(const QImage& actual, const QImage& expected, int tolerance, qint64* wrong, QRect* where = nullptr);

/// Lines that differ, as a patch with three lines around them, from the first difference to the last; empty if none.
QString textDifference(const QString& actual, const QString& expected);

/// Errors: expectation_failed (names the files of the difference), io.
Status expectPicture(const Expectation& expectation, const QImage& picture, const PictureRules& rules);
/// The same for a text; parts that a mask matches are not compared.
Status expectText(const Expectation& expectation, const QString& text, const QList<QRegularExpression>& masks = {});

}  // namespace kvlab
