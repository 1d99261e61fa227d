// SPDX-License-Identifier: Apache-2.0
#include "core/api/log.h"

#include <spdlog/spdlog.h>

namespace kvlab {

void logInfo(const std::string& line) { spdlog::info(line); }
void logWarning(const std::string& line) { spdlog::warn(line); }
void logError(const std::string& line) { spdlog::error(line); }

}  // namespace kvlab
