// SPDX-License-Identifier: GPL-3.0-or-later
// The eviction policies as a menu: each with its help, a few budgets and its presets. GUI thread.
#pragma once
#include <functional>
#include <string>

class QMenu;

namespace kvlab {

/// `chosen` gets the policy as manifests write it: "h2o:ratio=0.25".
void fillPolicyMenu(QMenu* menu, const std::function<void(const std::string& policy)>& chosen);

}  // namespace kvlab
