// SPDX-License-Identifier: GPL-3.0-or-later
// What the whole program has in memory, as a context tells it. GUI thread.
#pragma once
#include <QCoreApplication>

#include "widgets/base/format.h"

namespace kvlab {

/// Property of a context: bytes that the program had in memory when the newest snapshot was shown. Without it, and
/// while the clock is frozen, nobody shows any.
inline constexpr char kProgramBytes[] = "kvlabProgramBytes";

/// 0 = nobody knows.
inline qint64 programBytesOf(const QObject& context) { return context.property(kProgramBytes).toLongLong(); }

/// The same in words; empty where nobody knows.
inline QString programMemoryText(const QObject& context) {
  const qint64 bytes = programBytesOf(context);
  if (bytes <= 0) return {};
  return QCoreApplication::translate("kvlab::ProgramMemory", "program %1 in memory").arg(formatBytes(bytes));
}

}  // namespace kvlab
