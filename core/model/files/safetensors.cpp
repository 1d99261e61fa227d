// SPDX-License-Identifier: Apache-2.0
#include "core/model/files/safetensors.h"

#include <filesystem>
#include <set>

#include "core/api/log.h"
#include "core/model/files/mapped_file.h"
#include "core/model/files/safetensors_header.h"
#include "core/model/files/strict_json.h"

namespace kvlab {
namespace {

using nlohmann::json;

/// Shard names of an index, each a plain file name.
Result<std::set<std::string>> shardNames(const json& index, const std::string& file) {
  const auto map = index.is_object() ? index.find("weight_map") : index.end();
  if (!index.is_object() || map == index.end() || !map->is_object() || map->empty())
    return badFile(file, "no weight_map");
  std::set<std::string> names;
  for (const auto& [tensor, shard] : map->items()) {
    if (!shard.is_string()) return badTensor(file, tensor, "its shard is not a file name");
    const auto& text = shard.get_ref<const std::string&>();
    if (text.empty() || text == ".." || text.find('/') != std::string::npos || text.find('\0') != std::string::npos)
      return badTensor(file, tensor, "shard \"" + text + "\" is not a plain file name");
    names.insert(text);
  }
  return names;
}

/// Every tensor of the index lies where the index says.
Status checkIndex(const json& weightMap, const Safetensors& all, const std::string& file) {
  for (const auto& [tensor, shard] : weightMap.items())
    if (!all.find(tensor))
      return badTensor(file, tensor, "not in " + shard.get<std::string>() + ", where the index has it");
  return ok();
}

Error inIndex(Error error, const std::string& index) {
  error.why += "; " + index + " names the file";
  error.remedy = "fetch the missing or damaged file, or the whole checkpoint, again";
  return error;
}

/// A shard may hold an older copy of a tensor: the one counts that lies where the index says.
void dropStrangers(std::map<std::string, FileTensor, std::less<>>& shard, const std::string& file,
                   const json& weightMap) {
  std::erase_if(shard, [&](const auto& one) {
    const auto home = weightMap.find(one.first);
    return home != weightMap.end() && *home != file;
  });
}

}  // namespace

Result<Safetensors> Safetensors::parse(std::span<const std::byte> bytes, const std::string& file) {
  HeaderReader reader(bytes, file);
  auto header = KV_TRY(reader.header());
  if (!header.is_object()) return badFile(file, "byte 8: the header is not an object");
  Safetensors out;
  for (const auto& [name, entry] : header.items()) {
    if (name == kMetadata) {
      KV_TRY(reader.metadata(entry, out.m_metadata));
      continue;
    }
    auto tensor = KV_TRY(reader.tensor(name, entry));
    out.m_tensors.emplace(name, std::move(tensor));
  }
  KV_TRY(reader.tiling(out.m_tensors));
  return out;
}

Result<Safetensors> Safetensors::open(const std::string& path) {
  auto file = KV_TRY(MappedFile::open(path));
  auto parsed = parse(file->bytes(), path);
  if (parsed) parsed->m_files.push_back(std::move(file));
  return parsed;
}

Result<Safetensors> Safetensors::openDirectory(const std::string& directory) {
  const std::string index = directory + "/model.safetensors.index.json", single = directory + "/model.safetensors";
  std::error_code ignored;
  if (!std::filesystem::exists(index, ignored)) return open(single);
  const auto map = KV_TRY(readJsonFile(index, "bad_file", {.depth = 8, .bytes = kMaxHeader, .uniqueKeys = true}));
  const auto names = KV_TRY(shardNames(map, index));
  if (!names.contains("model.safetensors") && std::filesystem::exists(single, ignored))
    logWarning(single + " is not read: " + index + " names other files");
  Safetensors all;
  for (const std::string& name : names) {
    auto shard = open(directory + "/" + name);
    if (!shard) return inIndex(shard.error(), index);
    dropStrangers(shard->m_tensors, name, map["weight_map"]);
    KV_TRY(all.merge(shard.take(), directory + "/" + name));
  }
  KV_TRY(checkIndex(map["weight_map"], all, index));
  return all;
}

Status Safetensors::merge(Safetensors&& other, const std::string& file) {
  for (auto& [name, tensor] : other.m_tensors)
    if (!m_tensors.emplace(name, std::move(tensor)).second)
      return badTensor(file, name, "already in another shard, and the index does not say which one counts");
  m_metadata.merge(other.m_metadata);
  m_files.insert(m_files.end(), other.m_files.begin(), other.m_files.end());
  return ok();
}

const FileTensor* Safetensors::find(std::string_view name) const {
  const auto it = m_tensors.find(name);
  return it == m_tensors.end() ? nullptr : &it->second;
}

std::int64_t Safetensors::bytes() const {
  std::int64_t sum = 0;
  for (const auto& [name, tensor] : m_tensors) sum += static_cast<std::int64_t>(tensor.bytes.size());
  return sum;
}

}  // namespace kvlab
