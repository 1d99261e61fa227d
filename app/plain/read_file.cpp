// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/plain/read_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/api/manifest.h"
#include "core/api/texts.h"
#include "core/model/files/strict_json.h"

namespace kvlab {

using nlohmann::json;

namespace {

constexpr std::size_t kMostBytes = std::size_t{64} << 20;

/// The bytes of an open file up to its end, or a few more than kMostBytes; errno of a failure.
int readAll(int file, std::string& bytes) {
  std::string part(std::size_t{1} << 20, '\0');
  while (bytes.size() <= kMostBytes) {
    const ssize_t size = ::read(file, part.data(), part.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno;
    if (size == 0) break;
    bytes.append(part, 0, static_cast<std::size_t>(size));
  }
  return 0;
}

}  // namespace

Result<std::string> readBounded(const std::string& path, const std::string& what) {
  const auto refused = [&](const std::string& why) {
    return Error("unreadable_file", what, why, "give the path of a text file", "path", path);
  };
  if (const std::string fault = pathFault(path); !fault.empty()) return refused("the path " + fault);
  if (std::error_code none; std::filesystem::is_directory(path, none)) return refused("the path is a folder");
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return refused(std::strerror(errno));
  std::string bytes;
  const int failure = readAll(file, bytes);
  ::close(file);
  if (failure) return refused(std::strerror(failure));
  if (bytes.size() > kMostBytes) return refused("the file is larger than 64 MiB");
  return bytes;
}

Result<json> readManifest(const std::string& path) {
  const std::string text = KV_TRY(readBounded(path, "manifest " + path + " was not read"));
  json manifest = KV_TRY(parseJson(text, path, "bad_manifest", {.uniqueKeys = true}));
  if (!manifest.is_object())
    return Error("bad_manifest", "manifest " + path, "it is no JSON object",
                 "write {\"key\": value, ..}; kvlab list manifest shows the keys");
  if (const auto checked = Manifest::fromJson(manifest); !checked) {
    Error error = checked.error();
    error.what = "manifest " + path + ": " + error.what;
    return error;
  }
  return manifest;
}

}  // namespace kvlab
