// SPDX-License-Identifier: GPL-3.0-or-later
// A case of the bug clinic as a script that opens a session, plants the bug and meets its condition. Values; any
// thread.
#pragma once
#include <QStringList>
#include <optional>

#include "core/api/verb.h"
#include "core/clinic/clinic_case.h"

namespace kvlab {

/// The lines of the script, at most twenty. blind: a number plants the bug in place of its name. folder: of the files
/// that the steps write.
QStringList clinicScript(const ClinicCase& one, const std::vector<VerbInfo>& verbs,
                         std::optional<std::int64_t> blind = {}, const QString& folder = ".");

}  // namespace kvlab
