// SPDX-License-Identifier: GPL-3.0-or-later
// Manifests to begin with: those of the program, and the person's own, which the settings of the program keep. GUI
// thread.
#pragma once
#include <QString>
#include <nlohmann/json.hpp>
#include <vector>

namespace kvlab {

struct SessionPreset {
  QString name;
  nlohmann::json manifest;
  bool own = false;
};

/// The program's, then the person's own by name where `withOwn`.
std::vector<SessionPreset> sessionPresets(bool withOwn);
/// Replaces an own preset of the name.
void savePreset(const QString& name, const nlohmann::json& manifest);
void removePreset(const QString& name);

}  // namespace kvlab
