// SPDX-License-Identifier: GPL-3.0-or-later
// Reads text files that a user names. Any thread.
#pragma once
#include <QByteArray>
#include <QString>

#include "core/api/error.h"

namespace kvlab {

/// Reads any file or pipe, up to 64 MiB. Error (code unreadable_file): `what` names the failed action; `value` is the
/// path.
Result<QByteArray> readBounded(const QString& path, const std::string& what);

}  // namespace kvlab
