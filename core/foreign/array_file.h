// SPDX-License-Identifier: Apache-2.0
// The arrays of a file by name, whatever the file is: safetensors, .npy, .npz, or what torch.save wrote. Lists and
// objects inside a file become names with points: layers.3.keys. Values; any thread.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "core/foreign/foreign_array.h"

namespace kvlab {

/// Errors (bad_file): damaged, or of none of these formats.
Result<ArrayFile> openArrayFile(const std::string& path);
/// One of the formats, by its first bytes.
bool isArrayFile(const std::string& path);

/// The number that stands for {layer} in a name like the pattern; a name may have more in front, up to a point.
/// layerNumber("a.layers.3.keys", "layers.{layer}.keys") = 3.
std::optional<std::int32_t> layerNumber(std::string_view name, std::string_view pattern);
/// Arrays by layer whose names are like the pattern. Error (bad_file): two for one layer.
Result<std::map<std::int32_t, const ForeignArray*>> arraysLike(const ArrayFile& file, std::string_view pattern);

/// Ids and positions, where an array of a usual name has them; empty where none does.
Result<std::vector<TokenId>> usualIds(const ArrayFile& file);
Result<std::vector<std::int32_t>> usualPositions(const ArrayFile& file);

}  // namespace kvlab
