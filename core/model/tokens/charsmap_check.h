// SPDX-License-Identifier: Apache-2.0
// What a SentencePiece model holds and its library does not look at, or does not tell: the texts of the pieces; the
// normaliser's precompiled character map, a Darts-clone double array whose values point into a string pool; which
// pieces are tokens of the user. Any thread.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace kvlab {

/// Why a serialised ModelProto must not be given to the library; empty if it may.
std::string sentencePieceFault(std::string_view model);
/// Of a model without such a fault. [pieces]
std::vector<bool> userDefinedPieces(std::string_view model);

}  // namespace kvlab
