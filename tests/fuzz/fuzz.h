// SPDX-License-Identifier: Apache-2.0
// Helpers that the fuzz targets share.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "core/api/error.h"

namespace kvlab::fuzz {

inline std::string_view text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

inline void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "fuzz: %s\n", what);
  std::abort();
}

/// An error has a code, says what and why, and can be written as JSON.
inline void checkError(const Error& error) {
  require(!error.code.empty() && !error.what.empty() && !error.why.empty(), "an error says too little");
  require(!error.toJson().dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).empty(),
          "an error cannot be written");
}

}  // namespace kvlab::fuzz
