// SPDX-License-Identifier: Apache-2.0
// Folders of SGLang's dumper: a .pt file for each tensor of each step, with its name, layer, step and rank beside it.
// Keys and values are what attention takes in; the rows of the steps stand one behind another.
#include <algorithm>
#include <array>
#include <filesystem>

#include "core/foreign/array_file.h"
#include "core/foreign/foreign_file.h"
#include "core/foreign/importer_table.h"

namespace kvlab {
namespace {

enum class DumpSort : std::uint8_t { Keys, Values, Ids, Positions };

struct DumpName {
  std::string_view name;  // *.x = ends with .x
  DumpSort sort;
};
constexpr DumpName kDumpNames[] = {
    {"k", DumpSort::Keys},         {"key", DumpSort::Keys},
    {"keys", DumpSort::Keys},      {"k_cache", DumpSort::Keys},
    {"cache_k", DumpSort::Keys},   {"*.attn.inputs.1", DumpSort::Keys},  // of the layer's attention, dumped by hooks
    {"v", DumpSort::Values},       {"value", DumpSort::Values},
    {"values", DumpSort::Values},  {"v_cache", DumpSort::Values},
    {"cache_v", DumpSort::Values}, {"*.attn.inputs.2", DumpSort::Values},
    {"input_ids", DumpSort::Ids},  {"positions", DumpSort::Positions}};

struct Dump {
  std::string path;
  DumpSort sort = DumpSort::Keys;
  std::int64_t layer = -1, step = 0, index = 0, rank = 0;
  ForeignArray value;
};

std::optional<DumpSort> dumpSort(std::string_view name) {
  for (const DumpName& one : kDumpNames)
    if (one.name[0] == '*' ? name.ends_with(one.name.substr(1)) : name == one.name) return one.sort;
  return {};
}

/// The number behind "layers." in a name like model.layers.3.self_attn.attn.inputs.1; else -1.
std::int64_t layerInName(std::string_view name) {
  const auto place = name.find("layers.");
  if (place == std::string_view::npos) return -1;
  const std::string_view rest = name.substr(place);
  return layerNumber(rest.substr(0, rest.find('.', 7)), "layers.{layer}").value_or(-1);
}

std::int64_t dumpFact(const ArrayFile& file, std::string_view name, std::int64_t other) {
  const auto found = file.facts.find(name);
  return found != file.facts.end() && found->second.is_number_integer() ? found->second.get<std::int64_t>() : other;
}

std::vector<std::string> filesIn(const std::string& folder, std::string_view end) {
  std::vector<std::string> out;
  std::error_code none;
  for (std::filesystem::directory_iterator it(folder, none), stop; !none && it != stop; it.increment(none))
    if (it->path().filename().string().ends_with(end)) out.push_back(it->path().string());
  std::ranges::sort(out);
  return out;
}

/// Nothing if the file has no tensor that belongs to a cache.
Result<std::optional<Dump>> readDump(const std::string& path) {
  const ArrayFile file = KV_TRY(openArrayFile(path));
  const auto name = file.facts.find("meta.name");
  const ForeignArray* value = file.find("value");
  std::optional<Dump> out;
  if (name == file.facts.end() || !name->second.is_string() || !value) return out;
  const auto& text = name->second.get_ref<const std::string&>();
  const auto sort = dumpSort(text);
  if (!sort) return out;
  out = Dump{path,
             *sort,
             dumpFact(file, "meta.layer_id", layerInName(text)),
             dumpFact(file, "meta.step", 0),
             dumpFact(file, "meta.dump_index", 0),
             dumpFact(file, "meta.rank", 0),
             *value};
  return out;
}

class DumpFolder {
 public:
  explicit DumpFolder(const std::string& folder) : m_folder(folder) {}

  Result<ForeignCache> read() {
    KV_TRY(readDumps());
    for (const Dump& dump : m_dumps) KV_TRY(take(dump));
    for (auto& [number, sides] : m_layers) KV_TRY(addLayer(number, sides));
    if (m_out.layers.empty())
      return unreadForeign(m_folder, "no dump of keys and values with a layer (name k or v, layer_id)",
                           "dump them as name=\"k\" and name=\"v\" with layer_id, or let hooks dump all");
    for (ForeignLayer& layer : m_out.layers)
      if (m_positions.size() == at(layer.rows)) layer.positions = m_positions;
    return std::move(m_out);
  }

 private:
  using Sides = std::array<std::vector<ForeignArray>, 2>;

  Status readDumps() {
    std::int64_t rank = -1;
    for (const std::string& path : filesIn(m_folder, ".pt"))
      if (auto dump = KV_TRY(readDump(path))) m_dumps.push_back(std::move(*dump));
    for (const Dump& dump : m_dumps) rank = rank < 0 ? dump.rank : std::min(rank, dump.rank);
    if (std::erase_if(m_dumps, [&](const Dump& dump) { return dump.rank != rank; }) > 0)
      m_out.notes.push_back("dumps of ranks other than " + std::to_string(rank) + " were passed over");
    std::ranges::stable_sort(m_dumps, {}, [](const Dump& dump) { return std::pair(dump.step, dump.index); });
    return ok();
  }

  Status take(const Dump& dump) {
    if (dump.sort == DumpSort::Ids || dump.sort == DumpSort::Positions) {
      for (const std::int32_t number : KV_TRY(foreignNumbers(dump.value, dump.path, "value"))) {
        if (dump.sort == DumpSort::Ids) m_out.ids.emplace_back(number);
        else m_positions.push_back(number);
      }
      return ok();
    }
    if (dump.layer < 0 || dump.layer > 1 << 20) return ok();
    ForeignArray rows = dump.value;
    if (rows.axes() == 4 && rows.shape[0] == 1) rows = rows.place(0, 0);
    if (rows.axes() == 2) rows = rows.split(0, 1);  // [tokens, 1, heads * head size]
    if (rows.axes() != 3)
      return badForeign(dump.path, "value", "shape " + shapeText(rows.shape) + ", expected [tokens, heads, head size]");
    if (rows.shape[0] == 0) return ok();
    if (dump.value.axes() > 2 && rows.shape[1] < 1 << 20) m_out.heads = static_cast<std::int32_t>(rows.shape[1]);
    m_layers[static_cast<std::int32_t>(dump.layer)][dump.sort == DumpSort::Keys ? 0 : 1].push_back(std::move(rows));
    return ok();
  }

  Status addLayer(std::int32_t number, Sides& sides) {
    ForeignLayer layer = KV_TRY(
        foreignLayer(number, std::move(sides[0]), std::move(sides[1]), m_folder, "layer " + std::to_string(number)));
    layer.inPart = static_cast<std::int32_t>(m_out.layers.size());
    m_out.layers.push_back(std::move(layer));
    return ok();
  }

  const std::string& m_folder;
  std::vector<Dump> m_dumps;
  std::map<std::int32_t, Sides> m_layers;
  std::vector<std::int32_t> m_positions;
  ForeignCache m_out;
};

bool recognisesDumps(const std::string& path) {
  for (const std::string& file : filesIn(path, ".pt")) {
    const auto dump = readDump(file);
    if (dump && *dump) return true;
  }
  return false;
}

Result<ForeignCache> openDumps(const std::string& path, const ForeignAsk&) { return DumpFolder(path).read(); }

}  // namespace

ForeignImporter sglangImporter() {
  return ForeignImporter{"sglang",
                         "a folder of SGLang's dumper: .pt files of k and v with layer_id, or of hooks at attention",
                         recognisesDumps, openDumps};
}

}  // namespace kvlab
