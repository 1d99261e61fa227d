// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/format.h"

#include <QCoreApplication>
#include <array>
#include <cmath>

namespace kvlab {
namespace {
QString threeDigits(double value) {
  const double size = std::abs(value);
  return QString::number(value, 'f', size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}
}  // namespace

QString formatMicroseconds(double us) {
  if (us == 0) return QStringLiteral("0 µs");
  if (std::abs(us) < 0.9995) return QString::number(us * 1e3, 'f', 0) + QStringLiteral(" ns");
  if (std::abs(us) < 999.5) return threeDigits(us) + QStringLiteral(" µs");
  if (std::abs(us) < 999.5e3) return threeDigits(us / 1e3) + QStringLiteral(" ms");
  return threeDigits(us / 1e6) + QStringLiteral(" s");
}

QString formatBytes(qint64 bytes) {
  static constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; std::abs(value) >= 1023.5 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  const QString digits = unit == 0 ? QString::number(bytes) : threeDigits(value);
  return digits + QLatin1Char(' ') + QLatin1String(kUnits[unit]);
}

QString formatDuration(qint64 seconds) {
  const auto say = [](const char* text) { return QCoreApplication::translate("kvlab::Format", text); };
  if (seconds < 60) return say("%1 s").arg(seconds);
  if (seconds < 3600) return say("%1 min %2 s").arg(seconds / 60).arg(seconds % 60);
  return say("%1 h %2 min").arg(seconds / 3600).arg(seconds / 60 % 60);
}

QString formatRate(qint64 bytes, double us) {
  if (bytes <= 0 || us <= 0) return {};
  const double rate = static_cast<double>(bytes) / us / 1e3;
  return rate >= 0.0995 ? threeDigits(rate) : QString::number(rate, 'g', 2);
}

QString counted(qint64 count, const QString& singular, const QString& plural) {
  return QStringLiteral("%1 %2").arg(count).arg(count == 1 ? singular : plural);
}

QString grouped(qint64 number) {
  QString digits = QString::number(number);
  for (qsizetype at = digits.size() - 3; at > 0; at -= 3) digits.insert(at, QChar(0x202F));
  return digits;
}

QString formatNumber(double value) {
  if (!std::isfinite(value)) return figureText(value);
  if (value == 0) return QStringLiteral("0");
  if (std::abs(value) >= 1e4 && std::abs(value) < 1e9 && value == std::floor(value))
    return QString::number(value, 'f', 0);
  return QString::number(value, 'g', 4);
}

QString wordOf(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }

QString figureText(double value) {
  if (!std::isfinite(value)) return QStringLiteral("–");
  if (value == 0) return QStringLiteral("0");
  if (std::abs(value) < 1e-3) return QString::number(value, 'e', 1);
  return QString::number(value, 'f', std::abs(value) < 10 ? 4 : 2);
}

QString shareText(double value) {
  return std::isfinite(value) ? QString::number(value * 100, 'f', 1) + QStringLiteral(" %") : QStringLiteral("–");
}

QString sentence(const Error& error) {
  const QString said = QString::fromStdString(error.why + "; " + error.remedy);
  return said.left(1).toUpper() + said.mid(1);
}

}  // namespace kvlab
