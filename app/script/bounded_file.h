// SPDX-License-Identifier: GPL-3.0-or-later
// Text files that a user names. Any thread.
#pragma once
#include <QByteArray>
#include <QString>

#include "core/api/error.h"

namespace kvlab {

/// The bytes of whatever can be read, a pipe too, up to 64 MiB. Error (code unreadable_file): `what` was
/// not done, and why; `value` is the path.
Result<QByteArray> readBounded(const QString& path, const std::string& what);

}  // namespace kvlab
