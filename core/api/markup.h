// SPDX-License-Identifier: Apache-2.0
// Pieces of HTML; texts in them are escaped by markupText() (texts.h). Any thread.
#pragma once
#include <string>

namespace kvlab {

/// <tag>inner</tag>; `inner` is markup.
inline std::string markupElement(const char* tag, const std::string& inner) {
  return std::string("<") + tag + ">" + inner + "</" + tag + ">";
}

}  // namespace kvlab
