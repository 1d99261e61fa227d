// SPDX-License-Identifier: GPL-3.0-or-later
// Finds the files that come with the program. Any thread.
#pragma once
#include <string>
#include <vector>

namespace kvlab {

/// KVLAB_RESOURCES if set; else the source tree for an uninstalled build; else the installed data directory (also
/// relative to the program, so that a moved installation works). Empty = none.
std::string resourceRoot();
/// "resource:NAME" as the path of that file; other paths as they are.
std::string resourcePath(const std::string& path);
/// The places that resourceRoot() searched, for error messages.
std::vector<std::string> resourcePlaces();

}  // namespace kvlab
