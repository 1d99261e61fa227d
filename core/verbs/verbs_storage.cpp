// SPDX-License-Identifier: Apache-2.0
// Verbs that report how rows are stored, which of them policies keep, and how long rows are used.

#include "core/api/json_values.h"
#include "core/api/program_memory.h"
#include "core/parts/storage_plan.h"
#include "core/session/layout_advice.h"
#include "core/session/storage.h"
#include "core/session/truth.h"
#include "core/verbs/replies.h"
#include "core/verbs/verb_layers.h"
#include "core/verbs/verbs.h"

namespace kvlab {
namespace {

using nlohmann::json;
json runsOf(std::span<const RingRun> runs) {
  json out = json::array();
  for (const RingRun& run : runs) out.push_back({run.begin, run.count});
  return out;
}

/// pending: the map with the rows of an open block.
json ringOf(const StorageView& view, const ResidencyView& pending) {
  const RingState& r = *view.ring;
  json out = KV_MEMBERS(r, capacity, window, block, head, filled, offset, base, wraps, rolled);
  const json committed{view.first, view.first + r.filled};
  out.update({{"layout", view.layout},
              {"pointer", r.pointer()},
              {"phase", r.phase()},
              {"baseTick", r.baseTick.value()},
              {"len1", r.runs()[0].count},
              {"len2", r.runs()[1].count},
              {"slots", runsOf(r.runs())},
              {"write", {r.writeBegin, r.writeCount}},
              {"first", view.first},
              {"views", {{"committed", committed}, {"committed_plus_pending", {pending.first, pending.size()}}}}});
  return out;
}

Result<json> ring(const Session& session, VerbArgs& in) {
  const CacheLayer layer = layerOf(in, session);
  if (in.error()) return *in.error();
  const std::shared_ptr<const StorageView> view = storageOf(session)[at(layer)];
  if (!view->ring) return json(nullptr);
  return ringOf(*view, session.withPending().map(layer));
}

/// Counts from converting one tensor to its storage type since the pool was made.
json countsOf(const kernels::TensorStats& stats) { return toJson(conversionsOf(stats, 0)); }

json errorOf(const QuantError& error, const std::string& type, const kernels::TensorStats& stats, bool rows,
             bool packed) {
  json out{{"type", type}, {"worst", error.worst}, {"mean", error.mean}, {"counts", countsOf(stats)}};
  if (!rows) return out;
  out["relative"] = columnOf(error.relative, packed);  // NaN becomes null
  out["cosine"] = columnOf(error.cosine, packed);
  out["scale"] = columnOf(error.scale, packed);
  out["atMax"] = columnOf(error.atMax, packed);
  return out;
}

ArgInfo rowTypeArg(const char* name) { return arg::text(name, {rowTypes().begin(), rowTypes().end()}).orNone(); }

Result<json> quantisation(Session& session, VerbArgs& in) {
  const bool rows = in.flag("rows"), packed = in.flag("packed");
  const RowTypes types{rowTypeNamed(in.text("k")), rowTypeNamed(in.text("v"))};
  if (in.error()) return *in.error();
  Quantisation measured = KV_TRY(measureQuantisation(session, types));
  json out = json::array();
  for (const LayerQuantisation& layer : measured) {
    const CacheLayer l(static_cast<std::int32_t>(out.size()));
    const std::shared_ptr<const StorageView> view = storageOf(session)[at(l)];
    const kernels::WriteRowsStats counts = types.given() ? layer.tried : session.store().pool(l).counts();
    const std::string k = types.k ? kernels::dtypeName(*types.k) : view->k,
                      v = types.v ? kernels::dtypeName(*types.v) : view->v;
    out.push_back({{"tick", session.state().tick.value()},
                   {"tried", types.given()},
                   {"k", errorOf(layer.k, k, counts.k, rows, packed)},
                   {"v", errorOf(layer.v, v, counts.v, rows, packed)},
                   {"worstLogit", layer.worstLogit}});
    if (rows) out.back()["logit"] = columnOf(layer.logit, packed);
  }
  return out;
}

/// Slots that neither a row nor an older state holds, as [begin, count].
json freeRuns(const std::vector<bool>& free) {
  json out = json::array();
  for (std::size_t begin = 0; begin < free.size();) {
    std::size_t end = begin;
    while (end < free.size() && free[end]) ++end;
    if (end > begin) out.push_back({begin, end - begin});
    begin = end + 1;
  }
  return out;
}

Result<json> storage(const Session& session, VerbArgs& in) {
  const CacheLayer layer = layerOf(in, session);
  const bool withFree = in.flag("free");
  if (in.error()) return *in.error();
  const std::shared_ptr<const StorageView> view = storageOf(session)[at(layer)];
  const kernels::WriteRowsStats counts = session.store().pool(layer).counts();
  const CopyCounts copies = session.store().ringReads().counts(layer);
  static constexpr const char* kReads[] = {"in_place", "two_slices", "table", "roll"};
  json out = KV_MEMBERS(*view, layout, k, v, stride, rows, first, window, held, tailOnly, readBytes);
  out.update({{"slots", view->poolSlots},
              {"record", KV_MEMBERS(view->record, k, v, scales, tags, padding)},
              {"read", kReads[at(static_cast<int>(view->read))]},
              {"ring", nullptr},
              {"pages", nullptr},
              {"counts",
               {{"k", countsOf(counts.k)}, {"v", countsOf(counts.v)}, {"copies", KV_MEMBERS(copies, held, listed)}}}});
  if (view->ring) out["ring"] = ringOf(*view, session.withPending().map(layer));
  if (const std::optional<LayoutAdvice> advice = layoutAdvice(session)) {
    out["advice"] = KV_MEMBERS(*advice, layout, commits, ms, wouldMs, bytes, wouldBytes);
    out["advice"]["text"] = advice->text();
  }
  if (withFree) out["free"] = freeRuns(session.store().slots(layer).free(view->poolSlots));
  if (const auto& p = view->pages) {
    out["pages"] = KV_MEMBERS(*p, block, pages, used, rows);
    out["pages"]["fragmentation"] = p->fragmentation();
  }
  return out;
}

Result<json> bytes(const Session& session, VerbArgs&) {
  json out = KV_MEMBERS(session.snapshot()->bytes, allocated, live, moved);
  out["program"] = programBytes();
  out["reserved"] = reservedBytes(session);
  out.update(KV_MEMBERS(memoryOf(session), own, shared));
  const kernels::Backend& backend = session.transformer().backend();
  out.update(KV_MEMBERS(backend.counters(), allocations, captures, replays, waits, downloads, bytesDown, bytesUp));
  out["device"] = nullptr;
  if (const auto device = backend.deviceMemory())
    out["device"] = {{"id", backend.id()},
                     {"name", backend.device()},
                     {"used", device->all - device->unused},
                     {"free", device->unused},
                     {"bytesPerSecond", device->bytesPerSecond}};
  return out;
}

/// Figures of each head, without the points of the plot.
json lifespanFigures(const LifespanView& view) {
  json out = toJson(view);
  for (json& layer : out["layers"])
    for (json& head : layer) head.erase("points");
  return out;
}

Result<json> measureLifespansVerb(Session& session, VerbArgs& in) {
  const std::shared_ptr<const LifespanView> measured = KV_TRY(measureLifespans(session, at(in.integer("points"))));
  return lifespanFigures(*measured);
}

/// since: the serial that the caller knows. If it is current, the reply holds only the serial.
Result<json> lifespansVerb(const Session& session, VerbArgs& in) {
  const std::shared_ptr<const LifespanView>& view = session.watching().lifespans;
  if (!view) return json();
  if (view->serial == static_cast<std::uint64_t>(in.integer("since"))) return json{{"serial", view->serial}};
  return toJson(*view);
}

json auditOf(const LayerAudit& audit) {
  json out = KV_MEMBERS(audit, policy, bounded, rows, rowBytes, evicted, evictedEver, protectedRows, waiting, fallback);
  out.update({{"broken", audit.broken()},
              {"bands", nullptr},
              {"requested", nullptr},
              {"fired", nullptr},
              {"contests", json::array()}});
  if (audit.bounded) {
    out["bands"] = KV_MEMBERS(audit.bands, sinks, budget, window);
    out["requested"] = audit.requested();
  }
  if (audit.fired) out["fired"] = audit.fired->value();
  for (const Contest& c : audit.contests)
    out["contests"].push_back({{"challenger", c.challenger.value()},
                               {"challengerScore", finite(c.challengerScore)},
                               {"loser", c.loser.value()},
                               {"loserScore", finite(c.loserScore)}});
  return out;
}

Result<json> policiesVerb(const Session& session, VerbArgs&) {
  const std::shared_ptr<const PolicyState>& state = session.state().policy;
  json out{{"prefilling", state && state->prefilling}, {"tick", nullptr}, {"us", 0}, {"layers", json::array()}};
  for (const CacheLayer layer : session.state().layers()) {
    LayerAudit audit;
    audit.policy = "full";
    audit.rowBytes = session.store().pool(layer).stride();
    if (state) audit = state->audit.layers[at(layer)];
    audit.rows = static_cast<std::int32_t>(session.state().map(layer).resident());
    out["layers"].push_back(auditOf(audit));
    out["layers"].back()["layer"] = session.cacheLayers().layerOf(layer).value();
    if (const std::optional<Head> head = session.cacheLayers().headOf(layer))
      out["layers"].back()["kvHead"] = head->value();
    out["layers"].back()["spec"] = state ? state->specs[at(layer)].toJson() : PolicySpec{}.toJson();
  }
  if (state) out["us"] = state->audit.us;
  if (state && state->audit.tick.value() > 0) out["tick"] = state->audit.tick.value();
  return out;
}

}  // namespace

std::span<const Verb> storageVerbs() {
  static const Verb kVerbs[] = {
      {verb::reads(
           "ring", {layerArg(), headArg()},
           "Gives the ring of a layer: pointer, head, offset, wraps, slots and named views; null where the layer is "
           "not stored as a ring.",
           "Ring | null"),
       ring},
      {verb::reads("storage", {layerArg(), arg::flag("free", false), headArg()},
                   "Tells how a layer's rows are stored: layout, formats, slots, bytes, ring and pages; with free also "
                   "the free slots. If another layout would make the last commits of the session much cheaper, by "
                   "their measured time and the bytes that they would have moved there, advice names it.",
                   "LayerStorage"),
       storage},
      {verb::measures("quantisation",
                      {arg::flag("rows", false), arg::flag("packed", false), rowTypeArg("k"), rowTypeArg("v")},
                      "Measures the error of stored rows by layer in a pass over all rows, for K and for V; for keys "
                      "also as attention logits. With rows there is also one value per position, null where a layer "
                      "has no row; with packed these columns come as bytes, 4 per row, as the window takes them. With "
                      "types k and v the figures are as they would be in these types, which are tried on rows of the "
                      "pass: the session does not change, and counts are those of the pass.",
                      "LayerQuantisation[]"),
       quantisation},
      {verb::reads("bytes", {},
                   "Counts bytes of rows: live, allocated at capacity, reserved with history, moved by the last "
                   "commit; the memory behind them; the work of the back end, and on a device its memory now.",
                   "MemoryBytes"),
       bytes},
      {verb::measures("measureLifespans", {arg::integer("points", 0, 1 << 20).orElse(400)},
                      "Compares lifespans of rows without eviction with those that gates predicted: R2 and calibration "
                      "per layer and KV head. It makes one fresh pass in which nothing is evicted, as recordLifespans "
                      "does. lifespans keeps at most so many points of each head.",
                      "LifespanFigures"),
       measureLifespansVerb},
      {verb::reads("lifespans", {arg::integer("since", 0, (std::int64_t{1} << 53) - 1).orElse(0)},
                   "Gives the last measurement with the points to draw, as the view Policy does; null before the "
                   "first. Where the measurement has the serial number since, the answer is that number alone.",
                   "LifespanFigures | { serial: number } | null"),
       lifespansVerb},
      {verb::reads("policies", {}, "Tells what each layer's policy was asked to keep, and what it evicted.",
                   "PolicyAudit"),
       policiesVerb},
  };
  return kVerbs;
}

}  // namespace kvlab
