// SPDX-License-Identifier: Apache-2.0
// The parts of a SentencePiece model that its library takes without looking: the texts of the pieces,
// and the normaliser's precompiled character map, a Darts-clone double array whose values point into a
// string pool.
#pragma once
#include <string>
#include <string_view>

namespace kvlab {

/// Why a serialised ModelProto must not be given to the library; empty if it may. Any thread.
std::string sentencePieceFault(std::string_view model);

}  // namespace kvlab
