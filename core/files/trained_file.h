// SPDX-License-Identifier: Apache-2.0
// The files of the networks that were trained for a model; sessions find them by themselves. Any thread.
#pragma once
#include <string>

namespace kvlab {

/// `what` is gates, gists or lens. A model has them in its folder, or in the folder of its file, as
/// kvlab_gates.safetensors; the shipped model has them in the program's resources, as gates/demo.safetensors.
std::string trainedFile(const std::string& what, const std::string& modelSpec, const std::string& resources);

}  // namespace kvlab
