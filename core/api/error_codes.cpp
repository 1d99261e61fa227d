// SPDX-License-Identifier: Apache-2.0
#include "core/api/error_codes.h"

namespace kvlab {

std::span<const ErrorCode> errorCodes() {
  static constexpr ErrorCode kCodes[] = {
#define KVLAB_ERROR(code, meaning) {code, meaning},
#include "core/api/error_codes.inc"
#undef KVLAB_ERROR
  };
  return kCodes;
}

}  // namespace kvlab
