// SPDX-License-Identifier: Apache-2.0
#include "core/model/files/gguf_shards.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>

#include "core/model/files/gguf.h"

namespace kvlab {
namespace {

constexpr std::string_view kEnding = ".gguf";
constexpr std::size_t kTail = 20;  // "-00001-of-00003.gguf"

/// Five digits; -1 if they are none.
int fiveDigits(std::string_view text) {
  int out = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return -1;
    out = out * 10 + (c - '0');
  }
  return text.size() == 5 ? out : -1;
}

}  // namespace

std::vector<std::string> ggufShards(const std::string& path) {
  if (path.size() <= kTail || !path.ends_with(kEnding)) return {path};
  const std::string_view tail = std::string_view(path).substr(path.size() - kTail);
  const int number = fiveDigits(tail.substr(1, 5)), count = fiveDigits(tail.substr(10, 5));
  if (tail[0] != '-' || tail.substr(6, 4) != "-of-" || count < 1 || number < 1 || number > count) return {path};
  std::vector<std::string> out;
  for (int i = 1; i <= count; ++i) {
    char name[32];
    std::snprintf(name, sizeof name, "-%05d-of-%05d.gguf", i, count);
    out.push_back(path.substr(0, path.size() - kTail) + name);
  }
  return out;
}

Result<std::optional<std::string>> ggufOfDirectory(const std::string& directory) {
  std::set<std::string> models;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(directory, failed)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(kEnding) && !name.starts_with("mmproj"))
      models.insert(ggufShards(entry.path().string()).front());
  }
  if (models.empty()) return std::optional<std::string>();
  if (models.size() == 1) return std::optional(*models.begin());
  std::string names;
  for (const std::string& model : models)
    names += (names.empty() ? "" : ", ") + std::filesystem::path(model).filename().string();
  return Error{"bad_model", "cannot open model " + directory, "the folder holds several models: " + names,
               "give one of these files"};
}

}  // namespace kvlab
