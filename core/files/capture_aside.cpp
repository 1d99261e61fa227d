// SPDX-License-Identifier: Apache-2.0
#include "core/files/capture_aside.h"

#include "core/api/json_values.h"

namespace kvlab {
namespace {

using nlohmann::json;
constexpr std::int64_t kMostWhole = (std::int64_t{1} << 53) - 1, kMostNumber = 1'000'000'000;
constexpr std::size_t kMostCondition = 10'000;

/// Reads the fields of one object of a list, and keeps the first thing that is wrong.
class AsideFields {
 public:
  explicit AsideFields(const json& object) : m_object(object) {
    if (!object.is_object()) wrong("an entry is not an object", {});
  }
  bool has(const char* field) const { return m_object.is_object() && m_object.contains(field); }
  std::int64_t whole(const char* field, std::int64_t low, std::int64_t high) {
    const json value = has(field) ? m_object[field] : json();
    const bool fits = value.is_number_unsigned() && value.get<std::uint64_t>() <= static_cast<std::uint64_t>(high) &&
        value.get<std::int64_t>() >= low;
    if (fits) return value.get<std::int64_t>();
    wrong("is not a whole number from " + std::to_string(low) + " to " + std::to_string(high), field);
    return low;
  }
  template <class Id>
  std::optional<Id> id(const char* field) {
    if (!has(field)) return std::nullopt;
    return Id(static_cast<std::int32_t>(whole(field, 0, kMostNumber)));
  }
  bool flag(const char* field) {
    if (has(field) && m_object[field].is_boolean()) return m_object[field].get<bool>();
    wrong("is not true or false", field);
    return false;
  }
  std::string text(const char* field, std::size_t most) {
    if (!has(field) || !m_object[field].is_string()) return wrong("is not text", field), std::string();
    std::string out = m_object[field].get<std::string>();
    if (out.size() > most) wrong("has more than " + std::to_string(most) + " bytes", field);
    return out;
  }
  bool isNull(const char* field) const { return !has(field) || m_object[field].is_null(); }
  const std::optional<Error>& error() const { return m_error; }

 private:
  void wrong(const std::string& why, const std::string& field) {
    if (!m_error) m_error = Error("bad_capture", "", field.empty() ? why : field + " " + why, "", field);
  }

  const json& m_object;
  std::optional<Error> m_error;
};

NoteView noteFrom(AsideFields& in) {
  NoteView out{static_cast<int>(in.whole("id", 1, kMostNumber)), in.text("text", kMostNoteBytes),
               Tick(in.whole("tick", 0, kMostWhole))};
  out.here = !in.has("branch");
  if (!out.here) out.branch = in.text("branch", kMostNoteBytes);
  out.layer = in.id<Layer>("layer");
  out.kvHead = in.id<Head>("kvHead");
  out.ledger = in.id<LedgerId>("ledger");
  return out;
}

BreakpointView breakpointFrom(AsideFields& in) {
  BreakpointView out{static_cast<int>(in.whole("id", 1, kMostNumber)), in.text("condition", kMostCondition),
                     in.whole("ignore", 0, kMostWhole)};
  out.once = in.flag("once");
  out.logs = in.flag("log");
  out.enabled = in.flag("enabled");
  out.hits = in.whole("hits", 0, kMostWhole);
  if (!in.isNull("last")) out.last = Tick(in.whole("last", 0, kMostWhole));
  return out;
}

WatchView watchFrom(AsideFields& in) {
  return {static_cast<int>(in.whole("id", 1, kMostNumber)), in.text("expression", kMostCondition)};
}

/// The entries of a list; none where the payload has no such list.
template <class Entry>
Result<std::vector<Entry>> listFrom(const json& payload, const char* field, Entry (*read)(AsideFields&)) {
  std::vector<Entry> out;
  const json list = payload.value(field, json::array());
  if (!list.is_array()) return Error("bad_capture", "", std::string(field) + " is not a list", "", field);
  for (const json& one : list) {
    AsideFields in(one);
    out.push_back(read(in));
    if (in.error()) return *in.error();
  }
  return out;
}

json noteJson(const NoteView& note) {
  json out{{"id", note.id}, {"text", note.text}, {"tick", note.tick}};
  if (note.layer) out["layer"] = *note.layer;
  if (note.kvHead) out["kvHead"] = *note.kvHead;
  if (note.ledger) out["ledger"] = *note.ledger;
  if (!note.here) out["branch"] = note.branch;
  return out;
}

}  // namespace

json toJson(const CaptureAside& aside) {
  json out = json::object();
  for (const NoteView& one : aside.notes) out["notes"].push_back(noteJson(one));
  if (!aside.removed.empty()) out["removed"] = aside.removed;
  if (aside.breakpoints) out["breakpoints"] = listJson(*aside.breakpoints);
  if (aside.watches) out["watches"] = json::array();
  for (const WatchView& one : aside.watches.value_or(std::vector<WatchView>()))
    out["watches"].push_back({{"id", one.id}, {"expression", one.expression}});
  if (aside.pending) out["pending"] = listJson(*aside.pending);
  return out;
}

bool isAside(const json& payload) {
  const auto has = [&](const char* field) { return payload.contains(field); };
  return !has("verb") && (has("notes") || has("removed") || has("breakpoints") || has("watches") || has("pending"));
}

Result<CaptureAside> asideFromJson(const json& payload) {
  CaptureAside out;
  out.notes = KV_TRY(listFrom(payload, "notes", noteFrom));
  const json removed = payload.value("removed", json::array());
  if (!removed.is_array()) return Error("bad_capture", "", "removed is not a list", "", "removed");
  for (const json& one : removed) {
    const json holder{{"removed", one}};
    AsideFields in(holder);
    out.removed.push_back(static_cast<int>(in.whole("removed", 1, kMostNumber)));
    if (in.error()) return *in.error();
  }
  if (payload.contains("breakpoints")) out.breakpoints = KV_TRY(listFrom(payload, "breakpoints", breakpointFrom));
  if (payload.contains("watches")) out.watches = KV_TRY(listFrom(payload, "watches", watchFrom));
  if (payload.contains("pending")) {
    Result<std::vector<Action>> pending = actionsFromJson(payload["pending"]);
    if (!pending) return Error("bad_capture", "", "pending: " + pending.error().why, "", "pending");
    out.pending = pending.take();
  }
  if (out.empty()) return Error("bad_capture", "", "the record says nothing", "", "notes");
  return out;
}

}  // namespace kvlab
