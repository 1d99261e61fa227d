// SPDX-License-Identifier: Apache-2.0
// The importers, each in its own file; importers.cpp lists them. Values; any thread.
#pragma once
#include "core/foreign/foreign_cache.h"

namespace kvlab {

ForeignImporter llamaImporter();
ForeignImporter vllmImporter();
ForeignImporter mlxImporter();
ForeignImporter edgeImporter();
ForeignImporter huggingFaceImporter();
ForeignImporter sglangImporter();
ForeignImporter lmcacheImporter();
ForeignImporter arraysImporter();

}  // namespace kvlab
