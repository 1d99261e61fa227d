// SPDX-License-Identifier: Apache-2.0
// An explanation as one HTML file without scripts and without other files, for an issue or a notebook: verdict, causes,
// figures, where it begins, maps of what is left, the other hypotheses. Light and dark as the reader's system is. The
// program, the window and the Python package write the same file. Pure functions; any thread.
#pragma once
#include <string>

#include "core/explain/explain.h"

namespace kvlab {

/// What a report says beside the explanation, as people read it.
struct HtmlReportAsk {
  std::string cache;    // file, or "a cache of transformers"
  std::string model;    // name or folder
  std::string version;  // of the program
};

std::string htmlReport(const Explanation& explanation, const HtmlReportAsk& ask);

}  // namespace kvlab
