// SPDX-License-Identifier: Apache-2.0
// Reads the native form. Every index is checked before its use, and the resulting state satisfies the invariants; the
// import checks them again.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/files/cache_memory.h"
#include "core/files/cache_native.h"
#include "core/files/cache_rounding.h"
#include "core/files/kind_file.h"
#include "core/model/decoder/row_codec.h"
#include "kernels/row_quant.h"
#include "kernels/row_tag.h"

namespace kvlab {
namespace {

using nlohmann::json;

Error other(const std::string& code, const std::string& file, const std::string& field, const json& have,
            const std::string& want, const std::string& remedy) {
  return Error(
      code, "cannot use " + file,
      field + " is " + have.dump(-1, ' ', false, json::error_handler_t::replace) + ", the session's is " + want, remedy,
      field, have);
}

class NativeReader {
 public:
  NativeReader(const Safetensors& file, const json& manifest, const std::string& path, const CacheTarget& target)
      : m_columns(file, path), m_manifest(manifest), m_path(path), m_target(target) {}

  Result<CacheImport> read() {
    using Step = Status (NativeReader::*)();
    for (Step step :
         {&NativeReader::checkOrigin, &NativeReader::readNumbers, &NativeReader::readLedger, &NativeReader::readLinks,
          &NativeReader::readKind, &NativeReader::readContext, &NativeReader::readGroups, &NativeReader::checkStates,
          &NativeReader::readWindows, &NativeReader::readRows, &NativeReader::readMemory})
      KV_TRY((this->*step)());
    KV_TRY(m_columns.finish());
    return std::move(m_rows);
  }

 private:
  Error bad(const std::string& why, const std::string& field) const { return badCache(m_path, why, field); }
  Error badAt(const std::string& tensor, std::size_t i, const std::string& why) const {
    return m_columns.badAt(tensor, i, why);
  }
  std::int64_t ledgerSize() const { return static_cast<std::int64_t>(m_rows.ledger.size()); }

  Status checkOrigin() {
    const std::string position = m_target.position == PositionMode::Context ? "context"
        : m_target.position == PositionMode::Absolute                       ? "absolute"
                                                                            : "cache";
    const json have = m_manifest.value("rows", json());
    const json want = rowsJson(m_target.formats);
    if (const json value = m_manifest.value("fingerprint", json()); value != m_target.fingerprint)
      return other("other_model", m_path, "fingerprint", value, m_target.fingerprint,
                   "open the session with the checkpoint that made the cache");
    if (const json value = m_manifest.value("numerics", json()); value != m_target.numerics)
      return other("other_numerics", m_path, "numerics", value, m_target.numerics,
                   "save the cache with form hf_dynamic, which is not bound to an arithmetic");
    if (const json value = m_manifest.value("position", json()); value != position)
      return other("other_format", m_path, "position", value, position,
                   "open the session with the file's position mode");
    if (have != want)
      return other("other_format", m_path, "rows", have, want.dump(),
                   "open the session with the file's kv formats, or save with form hf_dynamic");
    return checkResidency();
  }

  Status checkResidency() const {
    const std::string want = residencyName(m_target);
    if (const json have = m_manifest.value("residency", json("layer")); have != want)
      return other("other_format", m_path, "residency", have, want, "open the session with the file's residency");
    for (const std::string& kind : m_target.kinds) KV_TRY(checkKind(kind));
    return ok();
  }

  /// File and session are of this kind and share its settings, or neither is of it.
  Status checkKind(const std::string& kind) const {
    const json own = m_manifest.value(kind, json());
    if (!own.is_null() && !own.is_object()) return bad(kind + " is neither null nor an object", kind);
    const json settings = own.is_null() ? json() : own.value("settings", json());
    const json wanted = m_target.kind && m_target.kind->key() == kind ? m_target.kind->settings() : json();
    const std::string remedy = "open the session with the file's " + kind + " settings";
    if (!own.is_null() && wanted.is_null())
      return other("other_format", m_path, kind, settings, "null, because it is of another kind", remedy);
    if (own.is_null() && !wanted.is_null())
      return other("other_format", m_path, kind, nullptr, wanted.dump(), "load the file in a session without " + kind);
    for (const auto& [key, want] : wanted.items())
      if (const json have = settings.is_object() ? settings.value(key, json()) : json(); have != want)
        return other("other_format", m_path, kind + "." + key, have, want.dump(), remedy);
    return ok();
  }

  Status readNumbers() {
    m_rows.groupOf = KV_TRY(indexList(m_manifest, "group_of", kNumbersEnd, m_path));
    if (m_rows.groupOf.size() != m_target.formats.size())
      return bad("group_of does not name a group for each layer", "group_of");
    // Groups are numbered in order of their first layer, so every group has one.
    for (std::int32_t g : m_rows.groupOf) {
      if (g > m_groups) return bad("group_of skips group " + std::to_string(m_groups), "group_of");
      m_groups = std::max(m_groups, g + 1);
    }
    const json random = m_manifest.value("random", json()), tick = m_manifest.value("tick", json()),
               edited = m_manifest.value("edited", json());
    if (!random.is_array() || random.size() != 2 || !random[0].is_number_unsigned() || !random[1].is_number_unsigned())
      return bad("random is not two whole numbers", "random");
    m_rows.random = {random[0].get<std::uint64_t>(), random[1].get<std::uint64_t>()};
    if (!tick.is_number_unsigned() || tick.get<std::uint64_t>() >= (std::uint64_t{1} << 53))
      return bad("tick is not a whole number", "tick");
    m_rows.tick = Tick(tick.get<std::int64_t>());
    if (!edited.is_boolean()) return bad("edited is neither true nor false", "edited");
    m_rows.edited = edited.get<bool>();
    m_rows.rounded = KV_TRY(roundedRows(m_manifest, m_path, m_target));
    m_rows.pending = KV_TRY(actionsFromJson(m_manifest.value("pending", json())));
    return ok();
  }

  Status readLedger() {
    const std::int64_t n = m_columns.extent("ledger.token");
    if (n >= kNumbersEnd) return bad("the ledger is too long", "ledger.token");
    std::vector<std::int32_t> token;
    std::vector<std::uint8_t> flags;
    std::vector<float> brightness;
    std::vector<std::int64_t> ticks;
    KV_TRY(m_columns.take("ledger.token", Element::I32, {n}, token));
    KV_TRY(m_columns.take("ledger.flags", Element::U8, {n, 4}, flags));
    KV_TRY(m_columns.take("ledger.brightness", Element::F32, {n}, brightness));
    KV_TRY(m_columns.take("ledger.ticks", Element::I64, {n, 2}, ticks));
    KV_TRY(m_columns.take("ledger.birth_phases", Element::I32, {n}, m_rows.birthPhases));
    for (std::size_t i = 0; i < at(n); ++i) {
      const std::uint8_t* f = &flags[4 * i];
      if (token[i] < 0 || token[i] >= m_target.config.vocab)
        return badAt("ledger.token", i, "is outside the vocabulary");
      if (f[0] > static_cast<int>(m_target.kind ? RowKind::Gist : RowKind::Token) ||
          f[1] > static_cast<int>(RowState::LeftWindow) || f[2] > static_cast<int>(Source::File) || f[3] > 1)
        return badAt("ledger.flags", i, "is no kind, state, source and pin");
      const auto state = static_cast<RowState>(f[1]);
      const bool left = !counted(state) && state != RowState::Evicted && state != RowState::Collapsed;
      if (left ? !inRange(brightness[i]) : !(brightness[i] >= 0 && std::isfinite(brightness[i])))
        return badAt("ledger.brightness", i, "is out of range");
      if (ticks[2 * i] < 0 || ticks[2 * i] > ticks[2 * i + 1] || ticks[2 * i + 1] > m_rows.tick.value())
        return badAt("ledger.ticks", 2 * i, "and the next are not 0 <= born <= changed <= tick");
      if (m_rows.birthPhases[i] < 0)  // no upper bound: the row may be older than its session's position mode
        return badAt("ledger.birth_phases", i, "is no phase");
      m_rows.ledger.push_back({TokenId(token[i]),
                               static_cast<RowKind>(f[0]),
                               state,
                               static_cast<Source>(f[2]),
                               f[3] == 1,
                               brightness[i],
                               Tick(ticks[2 * i]),
                               Tick(ticks[2 * i + 1]),
                               {},
                               {}});
    }
    return ok();
  }

  bool inRange(float brightness) const { return brightness >= 0 && brightness <= m_target.maxBrightness; }

  Status readLinks() {
    KV_TRY(readLinks("ledger.parents", "ledger.parent_ends", &LedgerRow::parents));
    KV_TRY(readLinks("ledger.children", "ledger.child_ends", &LedgerRow::children));
    const auto names = [](const std::vector<LedgerId>& list, LedgerId id) {
      return std::find(list.begin(), list.end(), id) != list.end();
    };
    for (std::int32_t i = 0; i < ledgerSize(); ++i) {
      for (LedgerId parent : m_rows.ledger[at(i)].parents)
        if (!names(m_rows.ledger[at(parent.value())].children, LedgerId(i)))
          return badAt("ledger.parents", at(i), "has a parent that does not name it");
      for (LedgerId child : m_rows.ledger[at(i)].children)
        if (!names(m_rows.ledger[at(child.value())].parents, LedgerId(i)))
          return badAt("ledger.children", at(i), "has a child that does not name it");
    }
    return ok();
  }

  Status readLinks(const std::string& name, const std::string& endsName, std::vector<LedgerId> LedgerRow::*list) {
    std::vector<std::int32_t> ids, ends;
    KV_TRY(m_columns.take(name, Element::I32, {m_columns.extent(name)}, ids));
    KV_TRY(m_columns.take(endsName, Element::I32, {ledgerSize()}, ends));
    std::size_t begin = 0;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      if (ends[i] < 0 || at(ends[i]) < begin || at(ends[i]) > ids.size())
        return badAt(endsName, i, "does not follow the one before it");
      for (; begin < at(ends[i]); ++begin) {
        if (ids[begin] < 0 || ids[begin] >= ledgerSize()) return badAt(name, begin, "is no ledger row");
        (m_rows.ledger[i].*list).emplace_back(ids[begin]);
      }
    }
    return begin == ids.size() ? ok() : Status(badAt(name, begin, "belongs to no row"));
  }

  Status readKind() {
    if (!m_target.kind) return ok();
    const json own = m_manifest.value(m_target.kind->key(), json());
    m_rows.kind = KV_TRY(m_target.kind->read(m_columns, own, m_path, m_target, m_rows.ledger));
    return ok();
  }

  Status readContext() {
    const std::int64_t length = m_columns.extent("context.ledger");
    std::vector<std::int32_t> ids;
    KV_TRY(m_columns.take("context.ledger", Element::I32, {length}, ids));
    KV_TRY(m_columns.take("context.phases", Element::I32, {length}, m_rows.phases));
    KV_TRY(m_columns.take("context.brightness", Element::F32, {length}, m_rows.brightness));
    m_positionOf.assign(m_rows.ledger.size(), -1);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] < 0 || ids[i] >= ledgerSize()) return badAt("context.ledger", i, "is no ledger row");
      if (m_positionOf[at(ids[i])] >= 0) return badAt("context.ledger", i, "stands in the context twice");
      m_positionOf[at(ids[i])] = static_cast<std::int32_t>(i);
      m_rows.context.emplace_back(ids[i]);
      m_rows.tokens.push_back(m_rows.ledger[at(ids[i])].token);
      const std::int32_t least = i ? m_rows.phases[i - 1] + 1 : 0;
      const bool ordinal = m_target.position != PositionMode::Absolute;
      if (!m_rows.kind &&
          (ordinal ? m_rows.phases[i] != static_cast<std::int32_t>(i)
                   : m_rows.phases[i] < least || m_rows.phases[i] >= m_target.maxPhases))
        return badAt("context.phases", i, ordinal ? "is not the position" : "is not above the one before it");
      if (!inRange(m_rows.brightness[i])) return badAt("context.brightness", i, "is out of range");
    }
    if (m_rows.kind) KV_TRY(m_target.kind->checkContext(*m_rows.kind, m_rows, m_columns));
    return checkPhases(m_rows.phases, m_target, m_path);
  }

  Status readGroups() {
    for (int g = 0; g < m_groups; ++g) {
      const std::string prefix = "groups." + std::to_string(g) + ".";
      CacheImport::Group group;
      const std::int64_t size = m_columns.extent(prefix + "ledger");
      std::vector<std::int32_t> ids;
      KV_TRY(m_columns.take(prefix + "ledger", Element::I32, {size}, ids));
      KV_TRY(m_columns.take(prefix + "phases", Element::I32, {size}, group.phases));
      KV_TRY(m_columns.take(prefix + "provenance", Element::U64, {ledgerSize(), 3}, group.provenance));
      if (m_rows.kind) KV_TRY(m_target.kind->checkGroup(*m_rows.kind, prefix, ids, group.phases, m_columns));
      else KV_TRY(checkResidents(g, prefix, ids, group.phases));
      for (const std::int32_t id : ids) group.ledger.emplace_back(id);
      m_rows.groups.push_back(std::move(group));
    }
    return ok();
  }

  Status checkResidents(int g, const std::string& prefix, const std::vector<std::int32_t>& ids,
                        const std::vector<std::int32_t>& phases) {
    if (countsAll(g)) KV_TRY(checkCapacity(count(ids.size()), m_target, m_path));
    std::int32_t last = -1;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const std::int32_t position = ids[i] < 0 || ids[i] >= ledgerSize() ? -1 : m_positionOf[at(ids[i])];
      if (position <= last)
        return badAt(prefix + "ledger", i, position < 0 ? "is not in the context" : "is not in the context's order");
      const std::int32_t phase =
          m_target.position == PositionMode::Cache ? static_cast<std::int32_t>(i) : m_rows.phases[at(position)];
      if (phases[i] != phase)
        return badAt(prefix + "phases", i, "is not the phase of its token, " + std::to_string(phase));
      last = position;
    }
    return ok();
  }

  /// True if no window of this session bounds the rows of some layer of the group.
  bool countsAll(int group) const {
    for (std::size_t layer = 0; layer < m_rows.groupOf.size(); ++layer)
      if (m_rows.groupOf[layer] == group && !m_target.keep[layer]) return true;
    return false;
  }

  /// Live or behind a window = in the context and in some map, evicted = in the context only, else neither.
  Status checkStates() {
    std::vector<bool> resident(m_rows.ledger.size());
    for (const CacheImport::Group& group : m_rows.groups)
      for (LedgerId id : group.ledger) resident[at(id.value())] = true;
    for (std::size_t i = 0; i < resident.size(); ++i) {
      const RowState state = m_rows.ledger[i].state;
      const bool inside = m_positionOf[i] >= 0;
      const bool good =
          inside && resident[i] ? counted(state) : (state == RowState::Evicted) == inside && !counted(state);
      if (!good)
        return badAt("ledger.flags", i, "says " + std::string(name(state)) + ", context and maps say otherwise");
    }
    return ok();
  }

  /// Rows that had left a layer's window in the file must not be needed in this session.
  Status readWindows() {
    m_rows.first.assign(m_rows.groupOf.size(), 0);
    if (m_manifest.contains("first")) {
      m_rows.first = KV_TRY(indexList(m_manifest, "first", kNumbersEnd, m_path));
    }
    if (m_version > 1) {
      m_kept = KV_TRY(indexList(m_manifest, "keep", kNumbersEnd, m_path));
      if (m_kept.size() != m_rows.groupOf.size()) return bad("keep does not name a window for each layer", "keep");
    }
    if (m_rows.first.size() != m_rows.groupOf.size()) return bad("first does not name a row for each layer", "first");
    for (std::size_t layer = 0; layer < m_rows.first.size(); ++layer) {
      const auto all = static_cast<std::int32_t>(m_rows.groups[at(m_rows.groupOf[layer])].ledger.size()),
                 keep = m_target.keep[layer];
      if (m_rows.first[layer] > all) return bad("first[" + std::to_string(layer) + "] is behind the last row", "first");
      // Files of version 1 do not store the layer's window; it held at least the rows in the file.
      const bool lacks = m_kept.empty() ? all - m_rows.first[layer] < (keep ? std::min(all, keep) : all)
                                        : m_kept[layer] && (!keep || keep > m_kept[layer]);
      if (m_rows.first[layer] > 0 && lacks && !m_rows.kind)  // a kind that derives its context computes such rows again
        return other("other_format", m_path, "first", m_rows.first,
                     keep ? "a window of " + std::to_string(keep) + " rows" : "every row",
                     "open the session with the file's layouts and windows");
    }
    return ok();
  }

  Status readRows() {
    for (std::size_t layer = 0; layer < m_target.formats.size(); ++layer) {
      const kernels::RowFormat& format = m_target.formats[layer];
      const std::int64_t stride = kernels::rowLayout(format).stride;
      const std::span<const LedgerId> ids =
          std::span(m_rows.groups[at(m_rows.groupOf[layer])].ledger).subspan(at(m_rows.first[layer]));
      const std::string tensor = "rows." + std::to_string(layer);
      const auto data = KV_TRY(m_columns.bytes(tensor, Element::U8, {static_cast<std::int64_t>(ids.size()), stride}));
      for (std::size_t i = 0; i < ids.size(); ++i)
        if (const char* why = rowFault(data.data() + at(stride) * i, format, ids[i]))
          return bad("tensor \"" + tensor + "\": row " + std::to_string(i) + " " + why, tensor);
      m_rows.records.push_back(data);
    }
    return ok();
  }

  Status readMemory() {
    if (m_version < 2 && !m_rows.kind) return ok();
    auto memory = kvlab::readMemory(m_columns, m_manifest, m_path, m_target, m_rows);
    if (!memory) return memory.error();
    m_rows.memory = std::make_shared<const CacheMemory>(memory.take());
    if (m_rows.kind && !m_rows.context.empty() && !m_rows.memory->logits)
      return bad("tensor \"next.logits\" is missing", "next.logits");
    return ok();
  }

  static const char* rowFault(const std::byte* bytes, const kernels::RowFormat& format, LedgerId id) {
    const auto* record = reinterpret_cast<const std::uint8_t*>(bytes);
    const kernels::RowLayout layout = kernels::rowLayout(format);
    std::uint64_t checksum;
    std::memcpy(&checksum, record + layout.checksum, sizeof checksum);
    if (kernels::readTag(record, layout, format) != static_cast<std::uint64_t>(id.value()))
      return "carries the tag of another token";
    if (checksum != kernels::rowChecksum(record, layout.tag)) return "does not match its checksum";
    if (!computable(format, format.k, record + layout.k, record + layout.kScales))
      return "has a key that is not finite, or above 1e+18";
    if (!computable(format, format.v, record + layout.v, record + layout.vScales))
      return "has a value that is not finite, or above 1e+18";
    return nullptr;
  }

  static bool computable(const kernels::RowFormat& format, kernels::DType type, const std::uint8_t* data,
                         const std::uint8_t* scales) {
    const std::int64_t width = std::int64_t{format.kvHeads} * format.headDim;
    if (!kernels::dtypeHasScale(type))
      return std::ranges::all_of(widened({data, type, {width}}), [](float value) { return !faultOf(value); });
    for (std::int64_t i = 0; i < width; ++i)
      if (!std::isfinite(kernels::codeValue(data[i], type))) return false;
    for (const float scale : widened({scales, kernels::DType::f32, {format.kvHeads}}))
      if (faultOf(scale)) return false;
    return true;
  }

  ColumnsIn m_columns;
  const json& m_manifest;
  const std::string& m_path;
  const CacheTarget& m_target;
  std::int64_t m_version = m_manifest.value("version", std::int64_t{1});
  std::vector<std::int32_t> m_kept;  // [cache layers] newest rows that each layer of the file keeps, 0 = all; or empty
  std::int32_t m_groups = 0;
  std::vector<std::int32_t> m_positionOf;  // [ledger] -1 = not in the context
  CacheImport m_rows;
};

}  // namespace

nlohmann::json rowsJson(const std::vector<kernels::RowFormat>& formats) {
  nlohmann::json all = nlohmann::json::array();
  for (const kernels::RowFormat& f : formats)
    all.push_back({{"k", typeText(f, true)}, {"v", typeText(f, false)}, {"stride", kernels::rowLayout(f).stride}});
  const bool alike = std::equal(formats.begin() + 1, formats.end(), formats.begin());
  return alike ? all[0] : all;
}

Result<CacheImport> parseNative(const Safetensors& file, const json& manifest, const std::string& path,
                                const CacheTarget& target) {
  return NativeReader(file, manifest, path, target).read();
}

}  // namespace kvlab
