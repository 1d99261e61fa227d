// SPDX-License-Identifier: Apache-2.0
// JSON from untrusted files: syntax, encoding, depth and size are errors that name the
// file and the byte, never exceptions. Any thread.
#pragma once
#include <string>
#include <string_view>

#include "core/api/error.h"

namespace kvlab {

struct JsonLimits {
  int depth = 64;  // nesting of objects and lists
  std::size_t bytes = std::size_t{256} << 20;
  bool uniqueKeys = false;  // refuse a key twice in one object; else the last one wins
};

/// `file` names the text in errors; `code` is the error's code.
Result<nlohmann::json> parseJson(std::string_view text, const std::string& file, const std::string& code,
                                 const JsonLimits& limits = {});

/// The bytes of a file of at most `limit` bytes. Errors (code): missing, unreadable, a folder, too
/// big.
Result<std::string> readFile(const std::string& path, const std::string& code, std::size_t limit);

Result<nlohmann::json> readJsonFile(const std::string& path, const std::string& code, const JsonLimits& limits = {});

}  // namespace kvlab
