// SPDX-License-Identifier: GPL-3.0-or-later
// Asks a living session for its settings, and gives the session others: all of them or, where one is refused, none.
// GUI thread.
#pragma once
#include "app/engine/live_context.h"
#include "app/forms/living_settings.h"

namespace kvlab {

using SettingsReply = std::function<void(const Result<nlohmann::json>&)>;

/// Replies with the manifest in force, complete, as long as `receiver` exists and the session is shown.
void askSettings(LiveContext& context, QObject* receiver, SettingsReply reply);
/// Each change is an edit of its own, and its script line is said. Replies with the number of changes, or with the
/// error of the first verb that was refused; what others had changed was taken back then. Where the window shows
/// another session or none before the end, replies with closed_session, which names the changes that were made.
void changeSettings(LiveContext& context, const nlohmann::json& wanted, SettingsReply reply);

}  // namespace kvlab
