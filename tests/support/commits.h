// SPDX-License-Identifier: Apache-2.0
// Commits of all sorts for tests of the history.
#pragma once
#include "support/session_fixture.h"

namespace kvlab {

/// Sessions of all sorts for tests of the history: layouts, formats, rings, policies, wLOD; without those of a kind
/// that the program was built without.
inline const std::vector<json>& historyManifests() {
  static const std::vector<json> kAll = [] {
    std::vector<json> all = {json::object(),
                             {{"layout", "contiguous_splice"}},
                             {{"layout", "paged:block=4"}, {"kv", {{"k", "int8"}, {"v", "int8"}}}},
                             {{"layout", "ring_fused"}, {"ring", {{"window", 12}}}},
                             {{"layout", "ring_pointer"}, {"ring", {{"window", 12}}}},
                             {{"policy", "h2o:ratio=0.5,window=4"}},
                             {{"policy", "streaming_llm:sinks=2,capacity=14"}, {"layout", "paged:block=4"}},
                             {{"sampling", {{"temperature", 0.9}, {"seed", 3}}}, {"after_edit", "recompute"}},
                             {{"capacity", 0}, {"wlod", {{"budget", 160}, {"moments", 512}}}},
                             {{"policy", "snapkv:ratio=0.6,window=4"}, {"residency", "kv_head"}},
                             {{"key_phase", "at_write"}}};
    std::erase_if(all, [](const json& one) {
      json whole{{"model", "synthetic:tiny"}};
      whole.update(one);
      const Result<Manifest> manifest = Manifest::fromJson(whole);
      return std::ranges::none_of(kinds(), [&](const KindInfo& kind) { return kind.serves(*manifest); });
    });
    return all;
  }();
  return kAll;
}

/// One commit or a few, drawn from `random`: ticks, edits, evictions, prompts, changes of storage. An edit that does
/// not fit is refused.
inline void randomCommit(SessionFixture& s, std::mt19937& random) {
  const auto pick = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(std::max(1, below))); };
  const auto now = [&](json action) { (void)s.verb("inject", {{"actions", {action}}, {"now", true}}); };
  const int length = s->state().length();
  switch (pick(16)) {
    case 0: return now({{"action", "replace"}, {"positions", {pick(length)}}, {"new_token_ids", {3 + pick(250)}}});
    case 1: return now({{"action", "delete"}, {"position", pick(length)}});
    case 2: return now({{"action", "insert"}, {"position", pick(length)}, {"token_ids", {3 + pick(250)}}});
    case 3: {
      const std::int32_t layer = pick(s->cacheLayers().layers);
      const ResidencyView& map = s->state().map(CacheLayer(layer));
      if (map.resident() == 0) return;
      const LedgerId row = map.ledger[static_cast<std::size_t>(map.first + pick(static_cast<int>(map.resident())))];
      return (void)s.verb("evict", {{"layer", layer}, {"ledger", {row.value()}}, {"now", true}});
    }
    case 4:
      return (void)s.verb("promptIds", {{"ids", SessionFixture::ids(1 + pick(4), static_cast<unsigned>(random()))}});
    case 5: return (void)s.verb("run", {{"maxTicks", 1 + pick(5)}});
    case 6: return (void)s.verb("setBrightness", {{"ledger", pick(length)}, {"value", pick(200)}});
    case 7:
      if (pick(4) == 0) return (void)s.verb("rebuild");
      if (pick(4) == 0) return (void)s.verb("settings", {{"kv", {{"k", pick(2) ? "int8" : "f16"}, {"v", ""}}}});
      if (pick(4) == 0) return (void)s.verb("settings", {{"layout", pick(2) ? "contiguous_splice" : "paged:block=4"}});
      [[fallthrough]];
    default: (void)s.verb("step", {{"n", 1 + pick(3)}});
  }
}

}  // namespace kvlab
