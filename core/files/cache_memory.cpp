// SPDX-License-Identifier: Apache-2.0
#include "core/files/cache_memory.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "core/api/json_values.h"
#include "core/api/read_json.h"
#include "core/api/texts.h"

namespace kvlab {
namespace {

using nlohmann::json;
constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

/// One statistic of a layer's rows.
struct RowStatistic {
  const char* name;
  RowValues LayerPolicyState::*values;
  bool perHead;   // one list per KV head, else one list
  float unknown;  // value of rows without a value
};
constexpr RowStatistic kRowStatistics[] = {{"received", &LayerPolicyState::received, true, 0},
                                           {"observed", &LayerPolicyState::observed, true, 0},
                                           {"scores", &LayerPolicyState::scores, false, kNone}};

std::string prefixOf(CacheLayer layer) { return "policy." + std::to_string(layer.value()) + "."; }

void addPolicy(ColumnsOut& out, const CacheState& state) {
  for (const CacheLayer layer : state.layers()) {
    const LayerPolicyState& own = state.policy->layers[at(layer)];
    const ResidencyView& map = state.map(layer);
    for (const RowStatistic& one : kRowStatistics) {
      const RowValues& values = own.*one.values;
      if (!values.map || values.map->size() == 0) continue;
      const auto lists = static_cast<int>(values.values.size() / values.map->size());
      out.add(prefixOf(layer) + one.name, Element::F32, {lists, count(map.size())},
              alignedWith(map, values, lists, one.unknown));
    }
    if (!own.queries) continue;
    const std::int64_t size = count(own.queries->mean.size()), dim = count(own.queries->covariance.size()) / size;
    out.add(prefixOf(layer) + "mean", Element::F64, {size / dim, dim}, own.queries->mean);
    out.add(prefixOf(layer) + "covariance", Element::F64, {size / dim, dim, dim}, own.queries->covariance);
  }
  if (!state.policy->future) return;
  const FutureMass& future = *state.policy->future;
  for (std::size_t layer = 0; layer < future.mass.size(); ++layer)
    out.add("future." + std::to_string(layer), Element::F32,
            {future.rows ? count(future.mass[layer].size()) / future.rows : 0, future.rows}, future.mass[layer]);
}

/// A map that only names ledger ids; it has no slots.
std::shared_ptr<const ResidencyView> naming(const std::vector<LedgerId>& ids) {
  auto map = std::make_shared<ResidencyView>();
  map->ledger.assign(ids);
  map->slotOf.assign(std::vector<Slot>(ids.size(), Slot(-1)));
  map->phases.assign(std::vector<std::int32_t>(ids.size()));
  return map;
}

class MemoryReader {
 public:
  MemoryReader(ColumnsIn& in, const json& manifest, const std::string& path, const CacheTarget& target,
               const CacheImport& rows)
      : m_in(in), m_json(manifest.value("memory", json())), m_path(path), m_target(target), m_rows(rows) {}

  Result<CacheMemory> read() {
    using Step = Status (MemoryReader::*)();
    for (Step step : {&MemoryReader::readNext, &MemoryReader::readAttention, &MemoryReader::readGates,
                      &MemoryReader::readPolicies, &MemoryReader::readFuture})
      if (Status done = (this->*step)(); !done) return done.error();
    return std::move(m_out);
  }

 private:
  auto layers() const { return idRange<CacheLayer>(0, m_rows.groupOf.size()); }
  /// Cache layers in a layer of the model.
  std::int64_t parts() const { return count(m_rows.groupOf.size()) / m_target.config.layers; }
  /// Ledger ids of the layer's map.
  std::vector<LedgerId> mapOf(CacheLayer layer) const {
    const std::vector<LedgerId>& rows = m_rows.groups[at(m_rows.groupOf[at(layer)])].ledger;
    if (!m_rows.kind) return rows;
    std::vector<LedgerId> sorted(m_rows.context), out;
    std::sort(sorted.begin(), sorted.end());
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(out), [&](LedgerId id) {  // no map has other rows
      return std::binary_search(sorted.begin(), sorted.end(), id);
    });
    return out;
  }
  Error bad(const std::string& why) const { return badCache(m_path, why, "memory"); }

  Status readNext() {
    if (!m_in.has("next.logits")) return ok();
    std::vector<float> logits;
    if (Status s = m_in.take("next.logits", Element::F32, {m_target.config.vocab}, logits); !s) return s;
    for (std::size_t i = 0; i < logits.size(); ++i)
      if (!std::isfinite(logits[i]))
        return badCache(m_path, "tensor \"next.logits\": value " + std::to_string(i) + " is not finite", "next.logits");
    m_out.logits = std::make_shared<const std::vector<float>>(std::move(logits));
    return ok();
  }

  Status readAttention() {
    auto attention = std::make_shared<NewestAttention>();
    for (const AttentionList& list : kAttentionLists) ((*attention).*list.host).resize(m_rows.groupOf.size());
    bool any = false;
    for (const CacheLayer layer : layers()) {
      const std::string prefix = "attention." + std::to_string(layer.value()) + ".";
      std::vector<LedgerId> names;
      if (m_in.has(prefix + "mass")) {
        any = true;
        const std::int64_t rows = m_in.extent(prefix + "ledger");
        std::vector<std::int32_t> ids;
        if (Status s = m_in.take(prefix + "ledger", Element::I32, {rows}, ids); !s) return s;
        if (Status s = m_in.take(prefix + "mass", Element::F32, {rows + 1}, attention->mass[at(layer)]); !s) return s;
        for (std::size_t i = 0; i < ids.size(); ++i)
          if (ids[i] < 0 || at(ids[i]) >= m_rows.ledger.size() || !std::isfinite(attention->mass[at(layer)][i]))
            return badCache(
                m_path,
                "tensor \"" + prefix + "mass\": value " + std::to_string(i) + " is no attention to a ledger row",
                prefix + "mass");
        for (const std::int32_t id : ids) names.emplace_back(id);
      }
      attention->maps.push_back(naming(names));
    }
    if (any) m_out.attention = std::move(attention);
    return ok();
  }

  Status readGates() {
    if (!m_in.has("gates.0")) return ok();
    const std::int64_t heads = m_target.config.kvHeads;
    for (int layer = 0; layer < m_target.config.layers; ++layer) {
      const std::string name = "gates." + std::to_string(layer);
      const std::int64_t rows = std::min(m_in.extent(name), count(m_rows.ledger.size()));
      if (Status s = m_in.take(name, Element::F32, {rows, heads}, m_out.gateScores.emplace_back()); !s) return s;
    }
    return ok();
  }

  Status readPolicies() {
    if (m_json.is_null()) return ok();
    const json all = m_json.is_object() ? m_json.value("layers", json()) : json();
    if (!all.is_array() || all.size() != m_rows.groupOf.size()) return bad("memory.layers does not name each layer");
    const json prompt = m_json.value("prompt_rows", json());
    if (!prompt.is_number_unsigned() || prompt.get<std::uint64_t>() >= static_cast<std::uint64_t>(kNumbersEnd))
      return bad("memory.prompt_rows is no number of rows");
    for (const char* key : {"prefilling", "seen"})
      if (!m_json.value(key, json()).is_boolean())
        return bad("memory." + std::string(key) + " is neither true nor false");
    m_out.policy.promptRows = prompt.get<std::int32_t>();
    m_out.policy.prefilling = m_json["prefilling"].get<bool>();
    m_out.seen = m_json["seen"].get<bool>();
    m_out.policy.layers.resize(m_rows.groupOf.size());
    m_out.policy.audit.layers.resize(m_rows.groupOf.size());
    for (const CacheLayer layer : layers()) KV_TRY(readPolicy(layer, all[at(layer)]));
    return ok();
  }

  Status readPolicy(CacheLayer layer, const json& one) {
    if (!one.is_object()) return bad("memory.layers has something else than objects");
    m_out.policies.push_back(one.value("policy", json()));
    const json budget = one.value("budget", json()), bands = one.value("bands", json());
    const std::optional<std::string> memory = bytesOfHex(memberOr(one, "memory", std::string()));
    const auto number = [](const json& value) {
      return value.is_number_unsigned() && value.get<std::uint64_t>() < (std::uint64_t{1} << 28);
    };
    if (!(budget.is_null() || number(budget)) || !bands.is_array() || bands.size() != 3 ||
        !std::all_of(bands.begin(), bands.end(), number))
      return bad("memory.layers has a budget or bands that are no numbers of rows");
    if (!memory) return bad("memory.layers has a memory that is not hexadecimal");
    LayerPolicyState& own = m_out.policy.layers[at(layer)];
    own.memory = *memory;
    if (!budget.is_null()) own.budget = budget.get<std::int32_t>();
    m_out.policy.audit.layers[at(layer)].bands = {bands[0], bands[1], bands[2]};
    return readStatistics(layer, own);
  }

  Status readStatistics(CacheLayer layer, LayerPolicyState& own) {
    const std::vector<LedgerId> ids = mapOf(layer);
    const std::shared_ptr<const ResidencyView> map = naming(ids);
    for (const RowStatistic& one : kRowStatistics) {
      const std::string name = prefixOf(layer) + one.name;
      if (!m_in.has(name)) continue;
      std::vector<float> values;
      const std::int64_t lists = one.perHead ? m_target.config.kvHeads / parts() : 1;
      if (Status s = m_in.take(name, Element::F32, {lists, count(ids.size())}, values); !s) return s;
      own.*one.values = RowValues::of(map, values);
    }
    if (!m_in.has(prefixOf(layer) + "mean")) return ok();
    QueryMoments moments;
    const std::int64_t heads = m_target.config.heads / parts(), dim = m_target.config.headDim;
    if (Status s = m_in.take(prefixOf(layer) + "mean", Element::F64, {heads, dim}, moments.mean); !s) return s;
    KV_TRY(m_in.take(prefixOf(layer) + "covariance", Element::F64, {heads, dim, dim}, moments.covariance));
    own.queries = std::make_shared<const QueryMoments>(std::move(moments));
    return ok();
  }

  Status readFuture() {
    if (!m_in.has("future.0")) return ok();
    auto future = std::make_shared<FutureMass>();
    const std::int64_t rows = m_in.extent("future.0", 1);
    for (int layer = 0; layer < m_target.config.layers; ++layer) {
      const std::string name = "future." + std::to_string(layer);
      const std::int64_t lists = m_in.extent(name);
      if (rows >= kNumbersEnd || (lists != 1 && lists != m_target.config.kvHeads && rows > 0))
        return badCache(m_path, "tensor \"" + name + "\" is no attention to come", name);
      if (Status s = m_in.take(name, Element::F32, {lists, rows}, future->mass.emplace_back()); !s) return s;
    }
    future->rows = static_cast<std::int32_t>(rows);
    m_out.policy.future = std::move(future);
    return ok();
  }

  ColumnsIn& m_in;
  const json m_json;
  const std::string& m_path;
  const CacheTarget& m_target;
  const CacheImport& m_rows;
  CacheMemory m_out;
};

}  // namespace

json memoryJson(const CacheState& state) {
  if (!state.policy) return nullptr;
  json layers = json::array();
  for (std::size_t layer = 0; layer < state.policy->layers.size(); ++layer) {
    const Bands& bands = state.policy->audit.layers[layer].bands;
    layers.push_back({{"policy", state.policy->specs[layer].toJson()},
                      {"budget", orNull(state.policy->layers[layer].budget)},
                      {"bands", {bands.sinks, bands.budget, bands.window}}});
    if (const std::string& memory = state.policy->layers[layer].memory; !memory.empty())
      layers.back()["memory"] = hexText(memory);
  }
  return {{"prefilling", state.policy->prefilling},
          {"prompt_rows", state.policy->promptRows},
          {"seen", state.attention == state.policy->seen},
          {"layers", std::move(layers)}};
}

void addMemory(ColumnsOut& out, const CacheState& state, int kvHeads) {
  if (state.logits && !state.logitsStale)
    out.add("next.logits", Element::F32, {count(state.logits->size())}, *state.logits);
  for (std::size_t layer = 0; state.attention && layer < state.attention->mass.size(); ++layer) {
    if (state.attention->mass[layer].empty()) continue;
    const std::string prefix = "attention." + std::to_string(layer) + ".";
    const Column<LedgerId>& ids = state.attention->maps[layer]->ledger;
    std::vector<std::int32_t> seen;
    for (const LedgerId id : ids) seen.push_back(id.value());
    std::vector<float> mass = state.attention->mass[layer];
    mass.resize(ids.size() + 1);
    out.add(prefix + "ledger", Element::I32, {count(seen.size())}, seen);
    out.add(prefix + "mass", Element::F32, {count(mass.size())}, mass);
  }
  for (std::size_t layer = 0; layer < state.gateScores.size(); ++layer) {
    const Column<float>& scores = state.gateScores[layer];
    out.add("gates." + std::to_string(layer), Element::F32, {count(scores.size()) / kvHeads, kvHeads},
            std::vector<float>(scores.begin(), scores.end()));
  }
  if (state.policy) addPolicy(out, state);
}

Result<CacheMemory> readMemory(ColumnsIn& in, const json& manifest, const std::string& path, const CacheTarget& target,
                               const CacheImport& rows) {
  return MemoryReader(in, manifest, path, target, rows).read();
}

}  // namespace kvlab
