// SPDX-License-Identifier: Apache-2.0
#include "core/files/trained_file.h"

#include <filesystem>

#include "core/model/named_models.h"

namespace kvlab {

std::string trainedFile(const std::string& what, const std::string& modelSpec, const std::string& resources) {
  namespace fs = std::filesystem;
  const auto found = modelPath(modelSpec, resources);
  const fs::path path = found && modelSpec != "demo" ? fs::path(*found) : fs::path();
  std::error_code ignored;
  const fs::path folder = fs::is_regular_file(path, ignored) ? path.parent_path() : path;
  if (fs::is_directory(folder, ignored)) return (folder / ("kvlab_" + what + ".safetensors")).string();
  return resources + "/" + what + "/" + modelSpec + ".safetensors";
}

}  // namespace kvlab
