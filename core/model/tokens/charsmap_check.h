// SPDX-License-Identifier: Apache-2.0
// Parts of a SentencePiece model that its library does not check, or does not tell: the texts of the pieces; the
// normaliser's precompiled character map, a Darts-clone double array whose values point into a string pool; which
// pieces are tokens of the user. Any thread.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace kvlab {

/// The reason why a serialised ModelProto must not be given to the library; empty if it may.
std::string sentencePieceFault(std::string_view model);
/// [pieces] True for tokens of the user. The model must be without such a fault.
std::vector<bool> userDefinedPieces(std::string_view model);

}  // namespace kvlab
