// SPDX-License-Identifier: Apache-2.0
// Names of the files of a model in GGUF format. Any thread.
#pragma once
#include <string>
#include <vector>

namespace kvlab {

/// The files of the set that NAME-00002-of-00003.gguf belongs to, in order; for any other name the file alone.
std::vector<std::string> ggufShards(const std::string& path);

}  // namespace kvlab
