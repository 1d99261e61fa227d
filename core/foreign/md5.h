// SPDX-License-Identifier: Apache-2.0
// MD5 (RFC 1321), by which another program names its files. It protects nothing. Pure; any thread.
#pragma once
#include <cstddef>
#include <span>
#include <string>

namespace kvlab {

/// 32 hexadecimal digits.
std::string md5(std::span<const std::byte> bytes);

}  // namespace kvlab
