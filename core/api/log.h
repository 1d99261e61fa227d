// SPDX-License-Identifier: Apache-2.0
// Writes lines to the log of the program: standard error, and the Log view where there is a window
// (app/base/logging.h). Any thread.
#pragma once
#include <string>

namespace kvlab {

void logInfo(const std::string& line);
void logWarning(const std::string& line);
void logError(const std::string& line);

}  // namespace kvlab
