// SPDX-License-Identifier: Apache-2.0
#include "core/files/trained_file.h"

#include <filesystem>

namespace kvlab {

std::string trainedFile(const std::string& what, const std::string& modelSpec, const std::string& resources) {
  std::error_code ignored;
  if (std::filesystem::is_directory(modelSpec, ignored) && modelSpec != "demo")
    return modelSpec + "/kvlab_" + what + ".safetensors";
  return resources + "/" + what + "/" + modelSpec + ".safetensors";
}

}  // namespace kvlab
