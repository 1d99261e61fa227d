// SPDX-License-Identifier: Apache-2.0
// Files that torch.save wrote: a pickle and the bytes of its tensors. The pickle is read as data; nothing of it is
// executed. A name of Python that no list of this reader has is refused. Any thread.
#pragma once
#include "core/foreign/foreign_array.h"
#include "core/foreign/zip_file.h"

namespace kvlab {

bool isTorchFile(const ZipFile& zip);
Result<ArrayFile> torchArrays(const ZipFile& zip, const std::string& path);

}  // namespace kvlab
