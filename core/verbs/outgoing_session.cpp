// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/outgoing_session.h"

#include <algorithm>
#include <memory>

#include "core/files/key_rotation.h"
#include "core/parts/cache_kind.h"

namespace kvlab {
namespace {

/// The first layer that lacks rows.
std::optional<CacheLayer> firstRagged(const CacheState& state) {
  for (const CacheLayer layer : state.layers())
    if (!state.complete(state.map(layer))) return layer;
  return std::nullopt;
}

Status rowForEachToken(const Session& session, std::string_view form) {
  const std::string named(form);
  const CacheState& state = session.state();
  if (session.kind().file(state))
    return notSaved("unsupported",
                    "rows of this kind of session stand for several tokens, and " + named + " has a row for each",
                    "save with form native", "form", form);
  if (state.length() == 0) return notSaved("empty", "there are no rows", "prompt some text first", "form", form);
  if (session.cacheLayers().byHead())
    return notSaved(
        "unsupported",
        "all KV heads of a layer have the same rows in " + named + ", and the session's residency is by KV head",
        "save with form native", "form", form);
  if (session.manifest().position != PositionMode::Cache) return ok();
  if (const auto layer = firstRagged(state))
    return notSaved("ragged",
                    "layer " + std::to_string(layer->value()) +
                        " lacks rows, and in position mode cache its others stand at positions of their own",
                    "save with form native, or use position context", "form", form);
  return ok();
}

/// The rows of a layer. Errors: damaged.
Result<std::vector<OutgoingRow>> rowsOf(const CacheState& state, CacheLayer layer) {
  const ResidencyView& map = state.map(layer);
  std::vector<OutgoingRow> out;
  const auto length = static_cast<std::int32_t>(state.length());
  std::int32_t token = 0;
  for (std::size_t i = at(map.first); i < map.size(); ++i, ++token) {
    while (token < length && state.context[at(token)] != map.ledger[i]) ++token;
    if (token == length)
      return notSaved("damaged",
                      "layer " + std::to_string(layer.value()) + ", index " + std::to_string(i) +
                          " holds a row of no token of the context",
                      "rebuild");
    out.push_back({token, static_cast<std::int32_t>(map.phase(i).value())});  // whole, without gists
  }
  return out;
}

}  // namespace

Result<OutgoingRows> outgoingRows(Session& session, std::string_view form) {
  KV_TRY(rowForEachToken(session, form));
  const CacheState& state = session.state();
  OutgoingRows out;
  out.config = session.model().config();
  for (const LedgerId id : state.context) out.ids.push_back(state.ledger[id].token);
  for (const CacheLayer layer : state.layers()) out.layers.push_back(KV_TRY(rowsOf(state, layer)));
  std::vector<std::shared_ptr<const KeyRotation>> rotations;
  for (const CacheLayer layer : state.layers())
    rotations.push_back(std::make_shared<KeyRotation>(out.config, Layer(layer.value()), state.reach()));
  out.read = [&session, rotations](std::int32_t number, std::size_t begin, std::size_t n, float* k, float* v) {
    const CacheLayer layer(number);
    const ResidencyView& map = session.state().map(layer);
    const RowPool& pool = session.store().pool(layer);
    const int heads = session.model().config().kvHeads;
    std::vector<double> key(at(pool.width()));
    for (std::size_t i = at(map.first) + begin; i < at(map.first) + begin + n; ++i, k += key.size(), v += key.size()) {
      const std::int32_t slot = map.slotOf[i].value();
      pool.gather({&slot, 1}, k, v);
      std::copy_n(k, key.size(), key.begin());
      const KeyRotation& rotation = *rotations[at(layer)];
      if (session.transformer().keysRotated()) rotation.outside(heads, key.data());
      else rotation.rotate(map.phase(i).value(), heads, key.data());
      std::ranges::transform(key, k, [](double value) { return static_cast<float>(value); });
    }
  };
  return out;
}

}  // namespace kvlab
