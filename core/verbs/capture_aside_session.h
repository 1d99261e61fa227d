// SPDX-License-Identifier: Apache-2.0
// Notes, breakpoints, watches and pending actions of a session as records of its captures, and back. Engine thread.
#pragma once
#include "core/files/capture.h"
#include "core/session/session.h"
#include "core/verbs/capture_journal.h"

namespace kvlab {

/// The records for a file that has the commands up to the entry `tip` of the current branch: a note stands behind the
/// command that made its state.
std::vector<CaptureAside> asidesOf(const Session& session, int tip);
/// Changes of notes, breakpoints, watches and pending actions since the mark.
CaptureAside asideSince(const Session& session, const CaptureMark& mark);
/// Applies the record to a session, which has done the commands before the record. Error: bad_capture, with the
/// place of the record in `path`.
Status restoreAside(Session& session, const CaptureAside& aside, const std::string& path);

}  // namespace kvlab
