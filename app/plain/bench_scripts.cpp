// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/plain/bench_scripts.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

#include "app/plain/resources.h"

namespace kvlab {

using nlohmann::json;

json listBenches() {
  std::error_code failed;
  std::vector<std::filesystem::path> scripts;
  for (const auto& entry : std::filesystem::directory_iterator(resourceRoot() + "/bench", failed))
    if (entry.path().extension() == ".js") scripts.push_back(entry.path());
  std::ranges::sort(scripts);
  json list = json::array();
  for (const std::filesystem::path& path : scripts) {
    std::ifstream script(path);
    std::string title;
    std::getline(script, title);
    if (!std::getline(script, title)) continue;
    title = title.size() > 3 ? title.substr(3) : "";
    list.push_back({{"id", path.stem().string()}, {"title", title.substr(0, title.find_last_not_of(" \r") + 1)}});
  }
  return list;
}

}  // namespace kvlab
