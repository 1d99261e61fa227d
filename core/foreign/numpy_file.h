// SPDX-License-Identifier: Apache-2.0
// Arrays that NumPy wrote: one in a .npy file, several in an .npz archive. Any thread.
#pragma once
#include "core/foreign/foreign_array.h"
#include "core/foreign/zip_file.h"

namespace kvlab {

bool isNumpyFile(std::span<const std::byte> bytes);
/// The array of a .npy file; its name is that of the file without .npy.
Result<ArrayFile> numpyArray(const std::shared_ptr<const MappedFile>& file, const std::string& path);
/// Those of an .npz file.
Result<ArrayFile> numpyArrays(const ZipFile& zip, const std::string& path);

}  // namespace kvlab
