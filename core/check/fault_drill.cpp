// SPDX-License-Identifier: Apache-2.0
#include "core/check/fault_drill.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/state/cache_state.h"
#include "kernels/row_checksum.h"

namespace kvlab {
namespace {

using nlohmann::json;

Error badParam(const std::string& field, json value, std::string why) {
  return Error("bad_fault", "the fault was refused", std::move(why), "see the list of fault kinds and their fields",
               field, std::move(value));
}

class Drill {
 public:
  Drill(std::string_view kind, const json& params, CacheState& state, CacheStore& store, FaultDoor& door)
      : m_params(params), m_state(state), m_store(store), m_door(door) {
    m_done["kind"] = kind;
  }

  Result<json> valueBit() { return flip(&kernels::RowLayout::k, &kernels::RowLayout::tag); }
  Result<json> tagBit() { return flip(&kernels::RowLayout::tag, &kernels::RowLayout::checksum); }
  Result<json> checksumBit() { return flip(&kernels::RowLayout::checksum, &kernels::RowLayout::stride); }
  Result<json> mapDrop();
  Result<json> mapSwap();
  Result<json> scaleSwap();

  template <FaultPoint point>
  Result<json> arm() {
    const std::int64_t n = number("n", 1, std::int64_t{1} << 40, 1);
    if (m_error) return *m_error;
    m_door.arm(point, n);
    m_done["n"] = n;
    return m_done;
  }

 private:
  /// An integer in [low, high). A missing field is `otherwise`, or random if `otherwise` is negative.
  std::int64_t number(const char* field, std::int64_t low, std::int64_t high, std::int64_t otherwise = -1) {
    const auto found = m_params.find(field);
    if (found == m_params.end()) return otherwise >= 0 ? otherwise : draw(low, high);
    const bool whole = found->is_number_integer();
    const bool huge = found->is_number_unsigned() && found->get<std::uint64_t>() > std::uint64_t(INT64_MAX);
    if (!whole || huge || found->get<std::int64_t>() < low || found->get<std::int64_t>() >= high) {
      if (!m_error)
        m_error = badParam(
            field, *found,
            std::string(field) + " is not an integer of " + std::to_string(low) + " .. " + std::to_string(high - 1));
      return low;
    }
    return found->get<std::int64_t>();
  }

  std::int64_t draw(std::int64_t low, std::int64_t high) {
    if (high <= low) return low;
    m_random = kernels::mix64(m_random + kernels::kChecksumIndexStep);
    return low + static_cast<std::int64_t>(m_random % static_cast<std::uint64_t>(high - low));
  }

  /// "slots" moves only the slot column, "entries" moves whole entries of the map.
  bool wholeEntries() {
    const json column = m_params.value("column", json("slots"));
    if (column == "slots" || column == "entries") {
      m_done["column"] = column;
      return column == "entries";
    }
    if (!m_error) m_error = badParam("column", column, "column is neither slots nor entries");
    return false;
  }

  /// Chooses layer and index; refuses a map of fewer than `least` rows.
  void choose(std::size_t least) {
    m_random = static_cast<std::uint64_t>(number("seed", 0, INT64_MAX, 1));
    m_layer = CacheLayer(static_cast<std::int32_t>(number("layer", 0, std::ssize(m_state.groupOf))));
    if (m_error) return;
    const std::size_t rows = m_state.groupOf.empty() ? 0 : m_state.map(m_layer).resident();
    if (rows < least) {
      m_error = badParam("layer", m_layer.value(),
                         "layer " + m_state.cacheLayers().name(m_layer) + " has " + std::to_string(rows) +
                             " rows, the fault needs " + std::to_string(least));
      return;
    }
    const ResidencyView& map = m_state.map(m_layer);
    m_index = at(number("index", map.first, static_cast<std::int64_t>(map.size())));
    m_done["layer"] = m_layer.value();
    m_done["index"] = m_index;
    m_done["ledger"] = map.ledger[m_index].value();
    m_done["slot"] = map.slotOf[m_index].value();
  }

  /// A second index: the given one, or the next index.
  std::size_t chooseOther() {
    const ResidencyView& map = m_state.map(m_layer);
    const auto next = static_cast<std::int64_t>(m_index + 1 < map.size() ? m_index + 1 : at(map.first));
    const std::size_t other = at(number("other", map.first, static_cast<std::int64_t>(map.size()), next));
    if (!m_error && other == m_index) m_error = badParam("other", other, "other is the same index");
    return other;
  }

  /// Flips one bit between two offsets of a record.
  Result<json> flip(std::int64_t kernels::RowLayout::*begin, std::int64_t kernels::RowLayout::*end) {
    choose(1);
    if (m_error) return *m_error;
    RowPool& pool = m_store.pool(m_layer);
    const kernels::RowLayout layout = kernels::rowLayout(pool.format());
    const std::int64_t from = layout.*begin, bits = (layout.*end - from) * 8;
    const std::int64_t bit = number("bit", 0, bits);
    if (m_error) return *m_error;
    const std::span<const Slot> slot(&m_state.map(m_layer).slotOf[m_index], 1);
    std::vector<std::uint8_t> record(at(pool.stride()));
    pool.readRecords(slot, record.data());
    std::uint8_t& byte = record[at(from + bit / 8)];
    byte = static_cast<std::uint8_t>(byte ^ (1u << (bit % 8)));
    m_store.overwrites(m_layer, plain(slot));
    pool.writeRecords(slot, record.data());
    m_done["bit"] = bit;
    return m_done;
  }

  template <class T, class Change>
  static void changeColumn(Column<T>& column, Change change) {
    std::vector<T> values(column.begin(), column.end());
    change(values);
    column.assign(values);
  }

  const json& m_params;
  CacheState& m_state;
  CacheStore& m_store;
  FaultDoor& m_door;
  json m_done = json::object();
  std::optional<Error> m_error;
  std::uint64_t m_random = 1;
  CacheLayer m_layer;
  std::size_t m_index = 0;
};

Result<json> Drill::mapDrop() {
  const bool entries = wholeEntries();
  choose(1);
  if (m_error) return *m_error;
  ResidencyView& map = ownMap(m_state, m_layer);
  const auto drop = [this](auto& values) { values.erase(values.begin() + static_cast<std::ptrdiff_t>(m_index)); };
  changeColumn(map.slotOf, drop);
  if (entries) {
    changeColumn(map.ledger, drop);
    changeColumn(map.phases, drop);
  }
  return m_done;
}

Result<json> Drill::mapSwap() {
  const bool entries = wholeEntries();
  choose(2);
  if (m_error) return *m_error;
  const std::size_t other = chooseOther();
  if (m_error) return *m_error;
  ResidencyView& map = ownMap(m_state, m_layer);
  const auto swap = [&](auto& values) { std::swap(values[m_index], values[other]); };
  changeColumn(map.slotOf, swap);
  if (entries) changeColumn(map.ledger, swap);
  m_done["other"] = other;
  return m_done;
}

/// Simulates a copy that moves rows and scales separately: checksums match, but rows have wrong scales.
Result<json> Drill::scaleSwap() {
  choose(2);
  if (m_error) return *m_error;
  RowPool& pool = m_store.pool(m_layer);
  const kernels::RowLayout layout = kernels::rowLayout(pool.format());
  if (!kernels::dtypeHasScale(pool.format().k) && !kernels::dtypeHasScale(pool.format().v))
    return badParam("layer", m_layer.value(),
                    "the rows of layer " + m_state.cacheLayers().name(m_layer) + " have no scales");
  const std::size_t other = chooseOther();
  if (m_error) return *m_error;
  const Slot slots[] = {m_state.map(m_layer).slotOf[m_index], m_state.map(m_layer).slotOf[other]};
  std::vector<std::uint8_t> records(2 * at(pool.stride()));
  pool.readRecords(slots, records.data());
  std::uint8_t *a = records.data(), *b = a + pool.stride();
  std::swap_ranges(a + layout.kScales, a + layout.tag, b + layout.kScales);
  for (std::uint8_t* record : {a, b}) {
    const std::uint64_t sum = kernels::rowChecksum(record, layout.tag);
    std::memcpy(record + layout.checksum, &sum, sizeof sum);
  }
  m_store.overwrites(m_layer, plain(slots));
  pool.writeRecords(slots, records.data());
  m_done["other"] = other;
  return m_done;
}

struct Entry {
  FaultKind about;
  Result<json> (Drill::*run)();
};

constexpr const char* kRowParams = "layer, index, bit, seed";
constexpr Entry kEntries[] = {
    {{"value_bit", "flips one bit of a row's stored K and V", kRowParams, "row_checksums", false}, &Drill::valueBit},
    {{"tag_bit", "flips one bit of a row's tag", kRowParams, "row_tags", true}, &Drill::tagBit},
    {{"checksum_bit", "flips one bit of a row's checksum", kRowParams, "row_checksums", false}, &Drill::checksumBit},
    {{"scale_swap", "exchanges the scales of two quantised rows and seals both with new checksums",
      "layer, index, other, seed", "row_tags", true},
     &Drill::scaleSwap},
    {{"map_drop", "drops a slot of a residency map, or with column: entries the whole entry",
      "layer, index, column, seed", "mirror_length", true},
     &Drill::mapDrop},
    {{"map_swap", "swaps two slots of a residency map, or with column: entries the whole entries",
      "layer, index, other, column, seed", "row_tags or residency_order", true},
     &Drill::mapSwap},
    {{"allocation", "makes the n-th allocation of slots from now fail", "n", "", true},
     &Drill::arm<FaultPoint::Allocation>},
    {{"kernel", "makes the n-th kernel from now fail", "n", "", true}, &Drill::arm<FaultPoint::Kernel>},
    {{"copy", "makes the n-th copy of rows from now fail", "n", "", true}, &Drill::arm<FaultPoint::Copy>},
};

constexpr auto kKinds = [] {
  std::array<FaultKind, std::size(kEntries)> kinds{};
  for (std::size_t i = 0; i < kinds.size(); ++i) kinds[i] = kEntries[i].about;
  return kinds;
}();

Result<json> checkFields(const Entry& entry, const json& params) {
  if (!params.is_object()) return badParam("params", params, "the fields of a fault are an object");
  const std::string allowed = ", " + std::string(entry.about.params) + ",";
  for (const auto& [field, value] : params.items())
    if (allowed.find(", " + field + ",") == std::string::npos)
      return badParam(field, value, std::string(entry.about.kind) + " takes " + std::string(entry.about.params));
  return json();
}

}  // namespace

std::span<const FaultKind> faultKinds() { return kKinds; }

Result<json> injectFault(std::string_view kind, const json& params, CacheState& state, CacheStore& store,
                         FaultDoor& door) {
  const auto found = std::find_if(std::begin(kEntries), std::end(kEntries),
                                  [&](const Entry& entry) { return entry.about.kind == kind; });
  if (found == std::end(kEntries)) {
    std::string all;
    for (const FaultKind& each : kKinds) all += (all.empty() ? "" : ", ") + std::string(each.kind);
    return badParam("kind", kind, std::string(kind) + " is not one of " + all);
  }
  const json fields = params.is_null() ? json::object() : params;
  KV_TRY(checkFields(*found, fields));
  Drill drill(kind, fields, state, store, door);
  return (drill.*found->run)();
}

}  // namespace kvlab
