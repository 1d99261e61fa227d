// SPDX-License-Identifier: Apache-2.0
// Files of TensorRT-Edge-LLM's layer debugger: an array [batch, 2, heads, rows, head size] for each round and layer.
// The newest round has the rows of all; rows behind a sequence's length are room that is not used.
#include <algorithm>

#include "core/foreign/array_file.h"
#include "core/foreign/foreign_file.h"
#include "core/foreign/importer_table.h"

namespace kvlab {
namespace {

constexpr std::string_view kRound = "round_";

/// Of round_3.layer_0.kv: 3; -1 of other names.
std::int32_t roundOf(std::string_view name) {
  if (!name.starts_with(kRound)) return -1;
  const auto point = name.find('.');
  return layerNumber(name.substr(0, point), "round_{layer}").value_or(-1);
}

std::int32_t newestRound(const ArrayFile& file) {
  std::int32_t newest = -1;
  for (const auto& [name, array] : file.arrays)
    if (layerNumber(name, "layer_{layer}.kv")) newest = std::max(newest, roundOf(name));
  return newest;
}

/// Rows that a sequence has, where the file says so; else -1.
Result<std::int64_t> usedRows(const ArrayFile& file, std::int32_t round, std::int64_t sequence) {
  const std::string front = std::string(kRound) + std::to_string(round) + ".";
  for (const std::string& name : {front + "lengths", front + "sequence_lengths", front + "kv_lengths",
                                  front + "context_lengths", std::string("lengths")}) {
    const ForeignArray* found = file.find(name);
    if (!found) continue;
    const auto lengths = KV_TRY(foreignNumbers(*found, file.path, name));
    if (at(sequence) < lengths.size() && lengths[at(sequence)] > 0) return std::int64_t{lengths[at(sequence)]};
  }
  return std::int64_t{-1};
}

bool recognisesRounds(const std::string& path) {
  if (!isArrayFile(path)) return false;
  const auto file = openArrayFile(path);
  return file && newestRound(*file) >= 0;
}

Result<ForeignCache> openRounds(const std::string& path, const ForeignAsk& ask) {
  const ArrayFile file = KV_TRY(openArrayFile(path));
  const std::int32_t round = newestRound(file);
  const std::string pattern = std::string(kRound) + std::to_string(round) + ".layer_{layer}.kv";
  ForeignCache out;
  for (const auto& [number, array] : KV_TRY(arraysLike(file, pattern))) {
    const std::string where = "round " + std::to_string(round) + ", layer " + std::to_string(number);
    if (array->axes() != 5 || array->shape[1] != 2 || std::ranges::count(array->shape, 0) > 0)
      return badForeign(path, where,
                        "shape " + shapeText(array->shape) + ", expected [batch, 2, heads, rows, head size]");
    const std::int64_t sequence = KV_TRY(foreignSequence(array->shape[0], ask, path));
    const std::int64_t used = KV_TRY(usedRows(file, round, sequence)), rows = array->shape[3];
    const ForeignArray own = array->place(0, sequence).part(2, 0, used > 0 ? std::min(used, rows) : rows);
    ForeignLayer layer = KV_TRY(foreignLayer(number, {own.place(0, 0).reordered({1, 0, 2})},
                                             {own.place(0, 1).reordered({1, 0, 2})}, path, where));
    layer.inPart = static_cast<std::int32_t>(out.layers.size());
    if (array->shape[2] < 1 << 20) out.heads = static_cast<std::int32_t>(array->shape[2]);
    if (used < 0 && out.layers.empty())
      out.notes.push_back("the file does not say how many rows are used: rows at the end may be empty");
    out.layers.push_back(std::move(layer));
  }
  if (out.layers.empty()) return unreadForeign(path, "no array like round_0.layer_0.kv", "give a file of the debugger");
  out.ids = KV_TRY(usualIds(file));
  return out;
}

}  // namespace

ForeignImporter edgeImporter() {
  return ForeignImporter{"tensorrt-edge-llm", "a safetensors file of TensorRT-Edge-LLM's layer debugger",
                         recognisesRounds, openRounds};
}

}  // namespace kvlab
