// SPDX-License-Identifier: GPL-3.0-or-later
// Formats numbers for people, with three significant digits and a unit, and errors. Pure functions; any thread.
#pragma once
#include <QString>
#include <string_view>

#include "core/api/error.h"

namespace kvlab {

/// 0.83 -> "830 ns", 12.34 -> "12.3 µs", 1240 -> "1.24 ms", 3.2e6 -> "3.20 s".
QString formatMicroseconds(double us);
/// Powers of 1024: "832 B", "12.4 KiB", "1.50 GiB".
QString formatBytes(qint64 bytes);
/// "5 s", "1 min 5 s", "2 h 1 min".
QString formatDuration(qint64 seconds);
/// Decimal gigabytes per second of `bytes` in `us`; empty if either is zero.
QString formatRate(qint64 bytes, double us);
/// "1 row", "2 rows".
QString counted(qint64 count, const QString& singular, const QString& plural);
/// Digits in groups of three.
QString grouped(qint64 number);
/// A short decimal: at most four significant digits, without trailing zeros; "–" where it is not finite.
QString formatNumber(double value);
/// A text of the engine's tables as a QString.
QString wordOf(std::string_view text);
/// "0.0123", "1.2e-05", "–" where it is not finite; shares as "91.2 %".
QString figureText(double value);
QString shareText(double value);
/// The cause of an error and its remedy, as a sentence without its end.
QString sentence(const Error& error);

}  // namespace kvlab
