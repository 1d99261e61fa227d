// SPDX-License-Identifier: Apache-2.0
#include "core/model/files/gguf.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>

#include "core/model/files/gguf_cursor.h"

namespace kvlab {
namespace {

constexpr const char* kWholeSet = "put all files of one download into one folder";

/// Place of a file in a set, as its keys give it.
struct SplitClaim {
  std::int64_t number = 0, count = 1;
  std::optional<std::int64_t> tensors = {};
};

Result<SplitClaim> readSplit(const GgufKeys& keys) {
  SplitClaim claim;
  claim.number = KV_TRY(keys.whole("split.no")).value_or(0);
  claim.count = KV_TRY(keys.whole("split.count")).value_or(1);
  claim.tensors = KV_TRY(keys.whole("split.tensors.count"));
  return claim;
}

constexpr std::string_view kEnding = ".gguf";
constexpr std::size_t kTail = 20;  // "-00001-of-00003.gguf"

/// Five digits; -1 if they are none.
int fiveDigits(std::string_view text) {
  int out = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return -1;
    out = out * 10 + (c - '0');
  }
  return text.size() == 5 ? out : -1;
}

}  // namespace

Result<Gguf> Gguf::parse(std::span<const std::byte> bytes, const std::string& file) {
  Gguf out;
  out.m_file = file;
  auto header = KV_TRY(GgufHeader::parse(bytes, file));
  KV_TRY(out.take(std::move(header), file));
  const auto split = KV_TRY(readSplit(out.keys()));
  if (split.count > 1)
    return out.keys().bad("split.count",
                          "says that this is one of " + std::to_string(split.count) + " files, its name does not",
                          "give the files their names back: NAME-00001-of-00003.gguf");
  return out;
}

Result<Gguf> Gguf::open(const std::string& path) {
  const auto shards = ggufShards(path);
  Gguf out;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    auto file = MappedFile::open(shards[i]);
    if (!file && shards.size() > 1)
      return badGguf(path, "file " + std::to_string(i + 1) + " of " + std::to_string(shards.size()),
                     file.error().what + ": " + file.error().why, kWholeSet);
    if (!file) return file.error();
    if (shards.size() == 1) {
      auto whole = parse((*file)->bytes(), path);
      if (whole) whole->m_files.push_back(file.take());
      return whole;
    }
    auto header = KV_TRY(GgufHeader::parse((*file)->bytes(), shards[i]));
    const auto split = KV_TRY(readSplit(GgufKeys(header.values, shards[i])));
    if (split.number != static_cast<std::int64_t>(i) || split.count != static_cast<std::int64_t>(shards.size()))
      return GgufKeys(header.values, shards[i])
          .bad("split.no",
               "says file " + std::to_string(split.number + 1) + " of " + std::to_string(split.count) +
                   ", its name says " + std::to_string(i + 1) + " of " + std::to_string(shards.size()),
               kWholeSet);
    if (i == 0) out.m_file = shards[i];
    KV_TRY(out.take(std::move(header), shards[i]));
    out.m_files.push_back(file.take());
  }
  const auto all = KV_TRY(out.keys().whole("split.tensors.count"));
  if (all && *all != static_cast<std::int64_t>(out.m_tensors.size()))
    return out.keys().bad(
        "split.tensors.count",
        "is " + std::to_string(*all) + ", the files hold " + std::to_string(out.m_tensors.size()) + " tensors",
        kWholeSet);
  return out;
}

Status Gguf::take(GgufHeader&& header, const std::string& file) {
  if (m_values.empty() && m_tensors.empty()) m_values = std::move(header.values);
  for (GgufTensor& tensor : header.tensors) {
    const std::string name = tensor.name;
    if (!m_tensors.emplace(name, std::move(tensor)).second)
      return badGguf(file, "tensor \"" + name + "\"", "already in another file of the set", kWholeSet, name);
  }
  return ok();
}

std::vector<std::string> ggufShards(const std::string& path) {
  if (path.size() <= kTail || !path.ends_with(kEnding)) return {path};
  const std::string_view tail = std::string_view(path).substr(path.size() - kTail);
  const int number = fiveDigits(tail.substr(1, 5)), count = fiveDigits(tail.substr(10, 5));
  if (tail[0] != '-' || tail.substr(6, 4) != "-of-" || count < 1 || number < 1 || number > count) return {path};
  std::vector<std::string> out;
  for (int i = 1; i <= count; ++i) {
    char name[32];
    std::snprintf(name, sizeof name, "-%05d-of-%05d.gguf", i, count);
    out.push_back(path.substr(0, path.size() - kTail) + name);
  }
  return out;
}

Result<std::optional<std::string>> ggufOfDirectory(const std::string& directory) {
  std::set<std::string> models;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(directory, failed)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(kEnding) && !name.starts_with("mmproj"))
      models.insert(ggufShards(entry.path().string()).front());
  }
  if (models.empty()) return std::optional<std::string>();
  if (models.size() == 1) return std::optional(*models.begin());
  std::string names;
  for (const std::string& model : models)
    names += (names.empty() ? "" : ", ") + std::filesystem::path(model).filename().string();
  return Error{"bad_model", "cannot open model " + directory, "the folder holds several models: " + names,
               "give one of these files"};
}

}  // namespace kvlab
