// SPDX-License-Identifier: Apache-2.0
#include "core/foreign/array_file.h"

#include <charconv>

#include "core/foreign/foreign_file.h"
#include "core/foreign/numpy_file.h"
#include "core/foreign/torch_file.h"
#include "core/foreign/zip_file.h"

namespace kvlab {
namespace {

constexpr std::string_view kHole = "{layer}";
constexpr std::string_view kIdNames[] = {"input_ids", "token_ids", "tokens", "ids"};
constexpr std::string_view kPositionNames[] = {"position_ids", "positions", "cache_position"};
constexpr std::string_view kArrayFormats = "safetensors, .npy, .npz or torch.save's .pt";

bool looksLikeSafetensors(std::span<const std::byte> bytes) {
  std::uint64_t length = 0;
  if (bytes.size() < 9) return false;
  std::memcpy(&length, bytes.data(), sizeof length);
  return length <= bytes.size() - 8 && bytes[8] == std::byte{'{'};
}

Result<ArrayFile> safetensorsArrays(const std::string& path) {
  const auto file = std::make_shared<const Safetensors>(KV_TRY(Safetensors::open(path)));
  ArrayFile out;
  for (const auto& [name, tensor] : file->tensors())
    out.arrays.emplace(name, denseArray(tensor.element, tensor.shape, tensor.bytes, file));
  for (const auto& [name, text] : file->metadata()) out.facts.emplace(name, text);
  return out;
}

Result<ArrayFile> arraysOf(const std::string& path) {
  const auto file = KV_TRY(MappedFile::open(path));
  const auto bytes = file->bytes();
  if (looksLikeSafetensors(bytes)) return safetensorsArrays(path);
  if (isNumpyFile(bytes)) return numpyArray(file, path);
  if (!isZipFile(bytes)) return badForeign(path, "byte 0", "none of " + std::string(kArrayFormats));
  const ZipFile zip = KV_TRY(ZipFile::parse(file, path));
  return isTorchFile(zip) ? torchArrays(zip, path) : numpyArrays(zip, path);
}

}  // namespace

Result<ArrayFile> openArrayFile(const std::string& path) {
  ArrayFile out = KV_TRY(arraysOf(path));
  out.path = path;
  for (const auto& [name, array] : out.arrays)
    if (array.element != kUnknownElement) KV_TRY(checkArray(array, path, name));
  return out;
}

bool isArrayFile(const std::string& path) {
  const auto file = MappedFile::open(path);
  if (!file) return false;
  const auto bytes = (*file)->bytes();
  return looksLikeSafetensors(bytes) || isNumpyFile(bytes) || isZipFile(bytes);
}

std::optional<std::int32_t> layerNumber(std::string_view name, std::string_view pattern) {
  const auto hole = pattern.find(kHole);
  if (hole == std::string_view::npos) return {};
  const std::string_view front = pattern.substr(0, hole), back = pattern.substr(hole + kHole.size());
  if (name.size() < front.size() + back.size() + 1 || !name.ends_with(back)) return {};
  name.remove_suffix(back.size());
  const auto digits = name.find_last_not_of("0123456789") + 1;  // npos + 1 = 0
  const std::string_view number = name.substr(digits);
  if (number.empty() || number.size() > 6 || (number.size() > 1 && number[0] == '0')) return {};
  name.remove_suffix(number.size());
  if (!name.ends_with(front)) return {};
  name.remove_suffix(front.size());
  if (!name.empty() && name.back() != '.') return {};
  std::int32_t layer = 0;
  std::from_chars(number.data(), number.data() + number.size(), layer);
  return layer;
}

Result<std::map<std::int32_t, const ForeignArray*>> arraysLike(const ArrayFile& file, std::string_view pattern) {
  std::map<std::int32_t, const ForeignArray*> out;
  for (const auto& [name, array] : file.arrays) {
    const auto layer = layerNumber(name, pattern);
    if (layer && !out.emplace(*layer, &array).second)
      return badForeign(file.path, "array \"" + name + "\"", "another one of layer " + std::to_string(*layer));
  }
  return out;
}

Result<std::vector<TokenId>> usualIds(const ArrayFile& file) {
  std::string name;
  std::vector<TokenId> out;
  const ForeignArray* found = file.firstOf(kIdNames, name);
  if (!found) return out;
  for (const std::int32_t id : KV_TRY(foreignNumbers(*found, file.path, name))) out.emplace_back(id);
  return out;
}

Result<std::vector<std::int32_t>> usualPositions(const ArrayFile& file) {
  std::string name;
  const ForeignArray* found = file.firstOf(kPositionNames, name);
  if (!found) return std::vector<std::int32_t>();
  return foreignNumbers(*found, file.path, name);
}

}  // namespace kvlab
