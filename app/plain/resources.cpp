// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/plain/resources.h"

#include <cstdlib>
#include <filesystem>

namespace kvlab {

namespace {

namespace fs = std::filesystem;

/// The folder of the program; empty where the system does not tell.
fs::path programFolder() {
  std::error_code unknown;
  return fs::read_symlink("/proc/self/exe", unknown).parent_path();
}

}  // namespace

std::vector<std::string> resourcePlaces() {
  const char* chosen = std::getenv("KVLAB_RESOURCES");
  if (chosen && *chosen) return {chosen};
  std::vector<std::string> places;
  // An installed program must not use the source tree it was built from.
  const fs::path program = programFolder();
  if (program.filename() != "bin") places.emplace_back(KVLAB_SOURCE_RESOURCES);
  if (!program.empty()) places.push_back((program.parent_path() / "share/kvlab").string());
  places.emplace_back(KVLAB_INSTALL_RESOURCES);
  return places;
}

std::string resourceRoot() {
  for (const std::string& place : resourcePlaces())
    if (std::error_code unknown; fs::is_directory(fs::path(place) / "scripts", unknown)) return place;
  return {};
}

std::string resourcePath(const std::string& path) {
  static constexpr std::string_view kScheme = "resource:";
  return path.starts_with(kScheme) ? resourceRoot() + '/' + path.substr(kScheme.size()) : path;
}

}  // namespace kvlab
