// SPDX-License-Identifier: GPL-3.0-or-later
// A menu of eviction policies, each with its help, several budgets and its presets. GUI thread.
#pragma once
#include <functional>
#include <string>

class QMenu;

namespace kvlab {

/// `chosen` receives the policy as in manifests: "h2o:ratio=0.25".
void fillPolicyMenu(QMenu* menu, const std::function<void(const std::string& policy)>& chosen);

}  // namespace kvlab
