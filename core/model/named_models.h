// SPDX-License-Identifier: Apache-2.0
// Models that have a name: `demo` comes with the program; models of the list (resources/models/models.json, and
// models.json of the user's folder of models) are fetched with `kvlab model get` and lie in that folder. Files of
// networks that were trained for a model are found by its name, too. Values; any thread.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/api/error.h"

namespace kvlab {

struct NamedModel {
  std::string name;            // "smollm2-135m"
  std::string title, licence;  // for people
  std::string file;            // the name of the model's file
  std::int64_t bytes = 0;      // size of the file
  std::int64_t loadBytes = 0;  // size of the packages that contain it
  std::string path;            // its path, whether it exists or not
  std::string list;            // the list that names it
  bool fetched = false;        // it lies there, whole
};

/// $XDG_DATA_HOME/kvlab/models, or .local/share/kvlab/models of the user's home.
std::string modelsFolder();

/// In the order of the lists; a name of the user's list hides the same name of the program's. Errors: bad_models.
Result<std::vector<NamedModel>> namedModels(const std::string& resources);
/// Errors: bad_models, unknown_model.
Result<NamedModel> namedModel(const std::string& name, const std::string& resources);

/// The folder or file of a manifest's model: that of a name, else `spec` itself. Errors: bad_models; bad_model where
/// the model of a name has not been fetched.
Result<std::string> modelPath(const std::string& spec, const std::string& resources);

// The files of the networks that were trained for a model; sessions find them by themselves. Any thread.

/// `what` is gates, gists or lens. A model has them in its folder, or in the folder of its file, as
/// kvlab_gates.safetensors; the shipped model has them in the program's resources, as gates/demo.safetensors.
std::string trainedFile(const std::string& what, const std::string& modelSpec, const std::string& resources);

}  // namespace kvlab
