// SPDX-License-Identifier: GPL-3.0-or-later
#include "fixture_session.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

namespace kvlab::fixture {

const DamageSince kBroke{.verified = Tick(16), .found = Tick(17)};  // when the damage of a broken session came

/// The storage of a layer with that many rows: rows behind one another (block 0), in pages of which every third lacks a
/// third of its rows, or in a ring that never saw an edit.
struct Stored {
  std::shared_ptr<ResidencyView> map;
  std::shared_ptr<StorageView> storage;
};

StorageView plainStorage(std::int32_t pool, std::int32_t rows) {
  StorageView s;
  s.layout = "indirection", s.k = s.v = "f16";
  s.poolSlots = s.roomSlots = pool, s.rows = rows, s.held = rows;
  s.record = {64, 64, 0, 16, 16};
  s.stride = static_cast<std::int32_t>(s.record.sum());
  return s;
}

void storeInRing(ResidencyView& map, StorageView& s, std::int32_t window, std::int32_t capacity, bool rolled,
                 std::int32_t fresh) {
  const auto size = static_cast<std::int32_t>(map.slotOf.size());
  RingState ring;
  ring.capacity = capacity, ring.window = window, ring.filled = std::min(size, window);
  ring.offset = size, ring.wraps = size / capacity;
  map.first = s.first = size - ring.filled;
  ring.head = map.first % capacity;
  ring.rolled = rolled;
  ring.writeCount = std::min(fresh, ring.filled);
  ring.writeBegin = rolled ? ring.filled - ring.writeCount : (ring.pointer() + capacity - ring.writeCount) % capacity;
  std::vector<Slot> places;
  for (std::int32_t i = 0; i < size; ++i)
    places.push_back(Slot(i < map.first ? 0 : rolled ? i - map.first : i % capacity));
  map.slotOf = Column<Slot>(places);
  s.layout = rolled ? "ring_roll" : "ring_fused", s.poolSlots = s.roomSlots = capacity, s.rows = s.held = ring.filled,
  s.window = window, s.ring = ring;
}

void storeInPages(ResidencyView& map, StorageView& s, std::int32_t block, std::int32_t pages) {
  PageState state{block, pages, 0, static_cast<std::int32_t>(map.slotOf.size())};
  std::vector<Slot> places;
  for (std::int32_t i = 0; i < state.rows; ++state.used) {
    const std::int32_t page = state.used ^ 1, rows = state.used % 3 == 2 ? block * 2 / 3 : block;
    for (std::int32_t k = 0; k < rows && i < state.rows; ++k, ++i) places.push_back(Slot(page * block + k));
  }
  map.slotOf = Column<Slot>(places);
  s.layout = "paged:block=" + std::to_string(block), s.poolSlots = block * pages, s.pages = state;
  s.held = s.rows + 5, s.roomSlots = s.poolSlots - 5;
}

class Maker {
 public:
  explicit Maker(Options options) : m_options(options) {
    makeInfo();
    startPolicies();
    read();
    publish(0, {}, {});
    for (int tick = 1; tick <= options.ticks; ++tick) runTick(tick);
  }
  const std::vector<SnapshotPtr>& history() const { return m_history; }
  static constexpr int kLayers = 4;

 private:
  static const char* story() {
    return "Mara went to the harbour with the silver key . Tobin carried the old lantern to the "
           "cellar . It rained all night and the gulls were quiet . Ines put the green coat in the "
           "attic . Mara moved the silver key to the cellar . The baker sang while the bread was "
           "rising . Tobin left the old lantern near the well . Where is the silver key ? It is in "
           "the";
  }
  static const char* reply() {
    return "cellar . Where is the old lantern ? It is near the well . Where is the green coat ?";
  }

  TokenId token(const std::string& word) {
    const auto [at, fresh] = m_words.try_emplace(word, static_cast<std::int32_t>(m_words.size() + 3));
    return TokenId(at->second);
  }

  void makeInfo() {
    auto info = std::make_shared<SessionInfo>();
    info->model = "demo", info->numerics = "avx2-f32", info->backend = "cpu";
    info->cacheLayers.layers = kLayers, info->heads = 8, info->kvHeads = 2, info->headDim = 16;
    info->staging = 64;
    for (const char* text : {story(), reply(), "barn boathouse quietly indeed blue coat"}) {
      std::istringstream words(text);
      for (std::string word; words >> word;) token(word);
    }
    info->vocab = static_cast<int>(m_words.size()) + 3;
    info->tokenTexts.assign(static_cast<std::size_t>(info->vocab), "");
    info->specialTokens.assign(static_cast<std::size_t>(info->vocab), false);
    const char* special[] = {"<unk>", "<s>", "</s>"};
    for (std::size_t i = 0; i < 3; ++i) info->tokenTexts[i] = special[i], info->specialTokens[i] = true;
    for (const auto& [word, id] : m_words) {
      const bool mark = word == "." || word == "?";
      info->tokenTexts[static_cast<std::size_t>(id)] = mark ? word : " " + word;
    }
    m_info = std::move(info);
  }

  LedgerId add(TokenId id, Source source, int tick) {
    LedgerRow row;
    row.token = id, row.source = source, row.born = row.changed = Tick(tick);
    return m_ledger.append(std::move(row));
  }

  void enter(std::size_t position, LedgerId id) {
    m_context.insert(m_context.begin() + static_cast<std::ptrdiff_t>(position), id);
    for (auto& layer : m_layers) {
      auto place = layer.begin();
      for (std::size_t p = 0; p < position; ++p)
        if (place != layer.end() && *place == m_context[p]) ++place;
      layer.insert(place, id);
    }
  }

  void leave(std::size_t position, RowState state, int tick) {
    const LedgerId id = m_context[position];
    m_context.erase(m_context.begin() + static_cast<std::ptrdiff_t>(position));
    for (auto& layer : m_layers) std::erase(layer, id);
    m_ledger.at(id).state = state, m_ledger.at(id).changed = Tick(tick);
    m_ledger.at(id).brightness = static_cast<float>(40 + 120 * noise(7, static_cast<std::uint64_t>(id.value())));
  }

  void read() {
    enter(0, add(TokenId(1), Source::Prompt, 0));
    std::istringstream words(story());
    for (std::string word; words >> word;) enter(m_context.size(), add(token(word), Source::Prompt, 0));
  }

  std::size_t find(const std::string& word, std::size_t from) const {
    const TokenId wanted(m_words.at(word));
    for (std::size_t p = from; p < m_context.size(); ++p)
      if (m_ledger[m_context[p]].token == wanted) return p;
    return from;
  }

  void replace(std::size_t first, std::size_t count, const std::string& word, int tick) {
    const LedgerId fresh = add(token(word), Source::Replacement, tick);
    for (std::size_t i = 0; i < count; ++i) {
      m_ledger.at(fresh).parents.push_back(m_context[first]);
      m_ledger.at(m_context[first]).children.push_back(fresh);
      leave(first, RowState::Replaced, tick);
    }
    enter(first, fresh);
    m_edits.push_back(first);
  }

  void evict(std::size_t layer, LedgerId id) { std::erase(m_layers[layer], id); }

  std::vector<Action> edit(int tick) {
    const auto at = [](std::size_t p) { return Position(static_cast<std::int32_t>(p)); };
    if (tick == 5) {
      const std::size_t p = find("silver", 0);
      replace(p, 2, "lantern", tick);
      return {ReplacePair{at(p), at(p + 1), {token("lantern")}}};
    }
    if (tick == 8) {
      const std::size_t p = find("cellar", 30);
      replace(p, 1, "boathouse", tick);
      return {Replace{{at(p)}, {token("boathouse")}}};
    }
    if (tick == 11) {
      Evict two{Layer(2), {}, {}}, three{Layer(3), {}, {}};
      for (int i = 22; i < 34; ++i) (i % 3 ? two : three).ledger.push_back(m_context[static_cast<std::size_t>(i)]);
      for (LedgerId id : two.ledger) evict(2, id);
      for (LedgerId id : three.ledger) evict(3, id);
      return {two, three};
    }
    if (tick == 13) {
      const std::size_t p = find("quiet", 0);
      leave(p, RowState::Deleted, tick);
      m_edits.push_back(p);
      return {Delete{at(p)}};
    }
    if (tick == 15) {
      const std::size_t p = find("rising", 0);
      enter(p, add(token("quietly"), Source::Insertion, tick));
      enter(p + 1, add(token("indeed"), Source::Insertion, tick));
      m_edits.push_back(p);
      return {Insert{at(p), {token("quietly"), token("indeed")}}};
    }
    if (tick == 17) {
      std::vector<Action> actions;
      const LedgerId gone = m_context[3];
      for (int layer = 0; layer < kLayers; ++layer) {
        evict(static_cast<std::size_t>(layer), gone);
        actions.push_back(Evict{Layer(layer), {}, {gone}});
      }
      m_ledger.at(gone).state = RowState::Evicted, m_ledger.at(gone).changed = Tick(tick);
      return actions;
    }
    return {};
  }

  void runTick(int tick) {
    const std::vector<Action> actions = edit(tick);
    std::istringstream words(reply());
    std::string word;
    for (int i = 0; i < tick; ++i) words >> word;
    const TokenId next = token(word);
    enter(m_context.size(), add(next, Source::Model, tick));
    publish(tick, actions, next);
  }

  bool broken(int tick) const { return m_options.broken && tick >= 17; }
  /// Index of the first of the swapped rows; in a ring, of rows that have not left.
  std::int32_t brokenAt() const { return m_options.mixed ? 70 : 40; }
  std::string brokenText() const {
    return "layer 2 index " + std::to_string(brokenAt()) + ": the map says one row, the tag another";
  }
  std::string outOfOrder() const { return "layer 2 index " + std::to_string(brokenAt() + 1) + " is out of order"; }

  static const char* nameOf(const Action& action) {
    static constexpr const char* kNames[] = {"replace_pair", "replace", "add",    "delete",
                                             "insert",       "evict",   "expand", "collapse"};
    return kNames[action.index()];
  }

  std::vector<Event> events(int tick, const std::vector<Action>& actions) const {
    std::vector<Event> out;
    double now = 0;
    const auto push = [&](std::string name, int depth, double us, std::int64_t bytes, std::optional<Layer> layer,
                          std::string detail) {
      const double vary = 0.8 + 0.4 * noise(static_cast<std::uint64_t>(tick), out.size());
      out.push_back({std::move(name), depth, layer, now, us * vary, bytes, std::move(detail)});
      now += depth == 2 || (depth == 0 && out.back().name != "apply") ? us * vary : 0;
    };
    const auto rows = static_cast<std::int64_t>(m_context.size());
    push("generate", 0, 42, 0, {}, "greedy");
    push("observe", 0, 18, rows * 4, {}, "attention mass of " + std::to_string(rows) + " rows");
    push("plan", 0, 6, 0, {}, std::to_string(actions.size()) + " actions");
    const std::size_t applied = out.size();
    push("apply", 0, 0, 0, {}, "");
    for (std::size_t a = 0; a < actions.size(); ++a) {
      push(nameOf(actions[a]), 1, 9, 256, {}, "action " + std::to_string(a));
      push("lower", 2, 4, 0, {}, "row operations");
    }
    push("add", 1, 460, 2048, {}, "the generated token");
    for (int layer = 0; layer < kLayers; ++layer) push("compute_rows", 2, 110, 512, Layer(layer), "1 row");
    out[applied].us = now - out[applied].startUs;
    for (Event& event : out)
      if (event.depth == 2 && event.name == "compute_rows") out[applied].bytes += event.bytes;
    push("commit", 0, 11, 48 + rows * 4, {}, "maps, ledger, brightness");
    push("verify", 0, 27, rows * 16, {}, "cheap set, 1/64 of the checksums");
    push("publish", 0, 3, 0, {}, "snapshot");
    return out;
  }

  std::vector<InvariantState> invariants(int tick) const {
    const bool bad = broken(tick);
    const char* names[][2] = {{"mirror", "Every resident row is in the context, in its order"},
                              {"tags", "Row tags equal the residency map"},
                              {"phases", "Phases strictly increase along every map"},
                              {"slots", "No slot is used twice"},
                              {"checksums", "Row checksums match their bytes"},
                              {"capacity", "Resident rows fit the capacity"}};
    std::vector<InvariantState> out;
    for (const auto& [id, title] : names) {
      InvariantState state{id, title, true, "", Tick(tick), Tick(tick), {}, {}};
      if (bad && (state.id == "mirror" || state.id == "tags")) {
        state.ok = false, state.lastPass = state.allPassed = Tick(16), state.firstFailure = Tick(17);
        state.since = kBroke;
        state.detail = state.id == "tags" ? brokenText() : outOfOrder();
      }
      out.push_back(std::move(state));
    }
    return out;
  }

  Stored stored(std::size_t layer, int tick) const {
    const std::shared_ptr<ResidencyView> map = residency(layer, tick);
    StorageView s = plainStorage(1088, static_cast<std::int32_t>(map->size()));
    if (m_options.mixed && layer < 2) storeInPages(*map, s, 16, 12);
    if (m_options.mixed && layer == 2) storeInRing(*map, s, 40, 48);
    if (m_options.mixed && layer == 3) {
      storeInRing(*map, s, 24, 29);
      s.v = "int8", s.record = {64, 32, 8, 16, 8}, s.stride = 128;
    }
    if (m_options.quant && layer > 0) {
      s.k = "int8", s.v = layer == 3 ? "int8" : "fp8-e4m3";
      s.record = {32, 32, 32, 16, 16}, s.stride = 128;
    }
    return {map, std::make_shared<StorageView>(s)};
  }

  std::shared_ptr<ResidencyView> residency(std::size_t layer, int tick) const {
    auto view = std::make_shared<ResidencyView>();
    for (LedgerId id : m_layers[layer]) {
      const auto at = std::find(m_context.begin(), m_context.end(), id);
      view->slotOf.push_back(Slot(id.value()));
      view->phases.push_back(static_cast<std::int32_t>(at - m_context.begin()));
    }
    std::vector<LedgerId> ids = m_layers[layer];
    if (broken(tick) && layer == 2) std::swap(ids[at(brokenAt())], ids[at(brokenAt() + 1)]);
    view->ledger = Column<LedgerId>(ids);
    return view;
  }

  /// Sets the policy and bands of each layer.
  void startPolicies() {
    if (!m_options.policies) return;
    constexpr const char* kNames[] = {"smartkv", "h2o", "smartkv", "snapkv"};
    constexpr Bands kBands[] = {{4, 600, 100}, {4, 32, 24}, {4, 24, 16}, {0, 20, 24}};
    for (std::size_t layer = 0; layer < kLayers; ++layer) {
      LayerAudit audit;
      audit.policy = kNames[layer], audit.bands = kBands[layer], audit.bounded = true, audit.rowBytes = 256;
      m_audit.layers.push_back(audit);
    }
    m_audit.layers[3].fallback = "the pass observed no query: nothing was scored";
  }

  void prune(int tick) {
    for (std::size_t layer = 0; layer < m_audit.layers.size(); ++layer) {
      LayerAudit& audit = m_audit.layers[layer];
      std::vector<LedgerId>& rows = m_layers[layer];
      audit.evicted = 0;
      audit.contests.clear();
      audit.rows = static_cast<std::int32_t>(rows.size());
      if (layer == 3 || audit.rows <= audit.requested()) continue;
      const auto end = static_cast<std::size_t>(audit.rows - audit.bands.window);
      std::vector<LedgerId> out(rows.begin() + audit.bands.sinks, rows.begin() + static_cast<std::ptrdiff_t>(end));
      std::stable_sort(out.begin(), out.end(),
                       [&](LedgerId a, LedgerId b) { return score(a, layer) < score(b, layer); });
      out.resize(static_cast<std::size_t>(audit.rows - audit.requested()));
      std::sort(out.begin(), out.end());
      for (std::size_t i = 0; tick > 0 && i < out.size(); ++i) {
        const LedgerId challenger = rows[end - out.size() + i];
        audit.contests.push_back({challenger, out[i], score(challenger, layer), score(out[i], layer)});
      }
      for (LedgerId id : out) evict(layer, id);
      audit.evicted = static_cast<std::int32_t>(out.size()), audit.evictedEver += audit.evicted;
      audit.rows -= audit.evicted;
      audit.fired = Tick(tick);
    }
    m_audit.tick = Tick(tick);
    m_audit.us = 11 + 4 * noise(17, static_cast<std::uint64_t>(tick));
  }

  void publish(int tick, const std::vector<Action>& actions, std::optional<TokenId> next) {
    auto s = std::make_shared<Snapshot>();
    prune(tick);
    if (m_options.policies) s->policies = std::make_shared<const PolicyAudit>(m_audit);
    s->info = m_info, s->settings = demoSettings();
    s->serial = static_cast<std::uint64_t>(m_history.size() + 1);
    s->tick = Tick(tick);
    s->entry = tick;
    s->state = SessionState::Ready;
    s->context = Column<LedgerId>(m_context);
    s->ledger = m_ledger.copy();
    for (std::size_t layer = 0; layer < kLayers; ++layer) {
      Stored one = stored(layer, tick);
      if (layer > 0 && m_layers[layer] == m_layers[layer - 1] && one.storage->layout == s->storage.back()->layout &&
          one.storage->v == s->storage.back()->v && !one.storage->ring)
        s->layers.push_back(s->layers.back()), s->storage.push_back(s->storage.back());
      else s->layers.push_back(one.map), s->storage.push_back(one.storage);
    }
    s->exactness = std::make_shared<const std::vector<Exactness>>(exactness());
    s->report = report(tick, actions, next);
    s->topk = {{token("cellar"), 0.61f, " cellar"},   {token("attic"), 0.17f, " attic"},
               {token("well"), 0.08f, " well"},       {token("boathouse"), 0.06f, " boathouse"},
               {token("harbour"), 0.03f, " harbour"}, {token("lantern"), 0.02f, " lantern"}};
    s->invariants = invariants(tick);
    s->alignment.checked = s->alignment.full = Tick(tick);
    if (broken(tick))
      s->alignment.findings = {{{"tags", brokenText(), CacheLayer(2), Index(brokenAt()), {}, kBroke},
                                "step (tick 17: evict) wrote the row in between"}};
    if (tick == m_options.ticks) queue(*s);
    const auto rows = static_cast<std::int64_t>(m_context.size());
    s->bytes = {1024 * 1024, rows * 256 * kLayers, actions.empty() ? 1024 : 4096};
    if (tick >= 5) s->kl = 0.002 * tick + 0.01 * noise(3, static_cast<std::uint64_t>(tick));
    s->canUndo = tick > 0;
    if (m_options.watches) s->watches = watches(*s);
    if (m_options.lanes) s->lanes = lanes(*s, tick);
    m_history.push_back(std::move(s));
  }

  static std::shared_ptr<const std::vector<WatchView>> watches(const Snapshot& s) {
    const auto tick = static_cast<std::uint64_t>(s.tick.value());
    std::vector<WatchView> out{
        {1, "brightness(ledger==44)", 255 * std::pow(0.97, s.tick.value()) + 20 * noise(5, tick)},
        {2, "rows(layer==2)", static_cast<double>(s.layers[2]->resident())},
        {4, "exactness(ledger==44)", std::string(tick < 11 ? "exact" : "context-edited")},
        {5, "changed(rows(layer==2)) and not evicted(layer==2)", tick % 3 != 0},
        {6, "kl"}};
    if (s.kl) out.back().value = *s.kl;
    return std::make_shared<const std::vector<WatchView>>(std::move(out));
  }

  /// A replaced word, a deletion, an insertion and an eviction from one layer wait for the next tick.
  void queue(Snapshot& s) {
    std::vector<LedgerId> rows;
    for (std::int32_t p = 70; p < 73; ++p)
      if (const auto& layer = m_layers[2];
          std::find(layer.begin(), layer.end(), m_context[static_cast<std::size_t>(p)]) != layer.end())
        rows.push_back(m_context[static_cast<std::size_t>(p)]);
    s.pending = {Replace{{Position(36)}, {token("barn")}}, Delete{Position(50)},
                 Insert{Position(60), {token("the"), token("well")}}};
    const LedgerId next(static_cast<std::int32_t>(m_ledger.size()));
    auto plan = std::make_shared<PlanView>();
    plan->edits = {{0, {Position(36)}, Position(36), Position(36), {next}},
                   {1, {Position(50)}, Position(50), Position(50), {}},
                   {2, {}, Position(60), Position(59), {LedgerId(next.value() + 1), LedgerId(next.value() + 2)}}};
    if (!rows.empty()) {
      s.pending.push_back(Evict{Layer(2), {}, rows});
      plan->evictions = {{CacheLayer(2), rows}};
    }
    plan->stale = {{37, 50}, {51, s.length()}};
    plan->lengthBefore = s.length();
    plan->lengthAfter = s.length() + 1;
    plan->newRows = 3;
    plan->staleRows = s.length() - 38;
    plan->phaseShifted = s.length() - 51;
    plan->bytes = 3 * 1024;
    s.plan = std::move(plan);
  }

  static Summary summary(double mean, std::uint64_t seed, int ticks) {
    return {mean, mean * (0.7 + noise(seed, 1)), mean * (0.5 + 0.4 * noise(seed, 2)), mean * (3 + 4 * noise(seed, 3)),
            ticks};
  }

  /// A lane that took the first `tokens` of the reference's tokens and has those of a layer that `has` says.
  template <class Has>
  LaneView lane(const char* label, const std::vector<LedgerId>& taken, const Has& has) const {
    LaneView out;
    out.label = label;
    auto s = std::make_shared<Snapshot>();
    Ledger ledger;
    std::vector<LedgerId> all;
    for (const LedgerId id : taken) all.push_back(ledger.append(m_ledger[id]));
    for (int layer = 0; layer < kLayers; ++layer) {
      auto map = std::make_shared<ResidencyView>();
      for (std::size_t place = 0; place < all.size(); ++place) {
        if (!has(layer, static_cast<int>(place))) continue;
        map->ledger.push_back(all[place]);
        map->slotOf.push_back(Slot(static_cast<std::int32_t>(place)));
        map->phases.push_back(static_cast<std::int32_t>(place));
      }
      s->bytes.live += static_cast<std::int64_t>(map->size()) * 256;
      s->layers.push_back(map);
    }
    s->info = m_info, s->settings = demoSettings(), s->ledger = ledger, s->context = Column<LedgerId>(all),
    s->bytes.allocated = 1024 * 1024;
    out.snapshot = s;
    out.taken = Column<LedgerId>(all);
    return out;
  }

  void measure(LaneView& lane, std::uint64_t seed, double kl, double kept, double overlap, int ticks) const {
    lane.kl = summary(kl, seed, ticks), lane.dnll = summary(kl * 0.8 - 0.001, seed + 20, ticks),
    lane.top1 = summary(1 - kl, seed, ticks);
    lane.massKept = summary(kept, seed, ticks), lane.us = summary(310 + 90 * noise(seed, 9), seed, ticks);
    lane.now.kl = lane.kl.last;
    lane.now.overlap.assign(kLayers, overlap), lane.now.massKept.assign(kLayers, kept),
        lane.now.needles.assign(kLayers,
                                seed == 1                  ? 1
                                    : noise(seed, 8) > 0.5 ? 1
                                                           : 0.5);
  }

  LanesViewPtr lanes(const Snapshot& snapshot, int tick) const {
    auto view = std::make_shared<LanesView>();
    std::vector<LedgerId> taken;
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(m_ledger.size()); ++i)
      if (const Source source = m_ledger[LedgerId(i)].source; source == Source::Prompt || source == Source::Model)
        taken.push_back(LedgerId(i));
    const int n = static_cast<int>(taken.size());
    LaneView first;
    first.label = "reference", first.snapshot = std::make_shared<const Snapshot>(snapshot),
    first.taken = Column<LedgerId>(taken);
    measure(first, 1, 0, 1, 1, tick);
    first.now.weightBytes = 2 * 1024 * 1024 + 340 * 1024;
    view->lanes.push_back(first);
    view->lanes.push_back(
        lane("layout=ring_fused, ring.window=40", taken, [n](int, int place) { return place >= n - 40; }));
    view->lanes.push_back(lane("kv.k=int8, kv.v=int8", taken, [](int, int) { return true; }));
    view->lanes.push_back(lane("policy.name=h2o, policy.ratio=0.5", taken, [n](int layer, int place) {
      return place < 4 || place >= n - 16 ||
          noise(static_cast<std::uint64_t>(place), static_cast<std::uint64_t>(layer), 5) < 0.4;
    }));
    view->lanes.push_back(lane("capacity=92", std::vector<LedgerId>(taken.begin(), taken.begin() + std::min(n, 92)),
                               [](int, int) { return true; }));
    measure(view->lanes[1], 2, 0.0841, 0.643, 0.42, tick);
    measure(view->lanes[2], 3, 0.00021, 1, 0.97, tick);
    measure(view->lanes[3], 4, 0.0319, 0.871, 0.53, tick);
    measure(view->lanes[4], 5, 0.0007, 1, 0.98, std::min(tick, 13));
    if (n > 92)
      view->lanes[4].exit = LaneExit{
          Tick(13),
          {"no_capacity", "the edit was refused", "93 rows are more than the capacity of 92", "raise capacity"}};
    view->ticks = tick, view->weightBytes = first.now.weightBytes, view->together = true;
    view->needles = {5, 60};
    return view;
  }

  std::vector<Exactness> exactness() const {
    std::vector<Exactness> out(m_context.size(), Exactness::Exact);
    for (std::size_t edit : m_edits)
      for (std::size_t p = edit + 1; p < out.size(); ++p)
        if (m_ledger[m_context[p]].source == Source::Prompt)
          out[p] = std::max(out[p], noise(11, p) < 0.2 ? Exactness::PhaseShifted : Exactness::ContextEdited);
    for (std::size_t p = out.size() - std::min<std::size_t>(10, out.size()); p < out.size() && m_ledger.size() > 100;
         ++p)
      if (out[p] == Exactness::Exact) out[p] = Exactness::ContextEvicted;
    return out;
  }

  std::shared_ptr<const TickReport> report(int tick, const std::vector<Action>& actions,
                                           std::optional<TokenId> next) const {
    if (tick == 0) return nullptr;
    auto report = std::make_shared<TickReport>();
    report->tick = Tick(tick);
    report->token = next;
    if (next) report->text = m_info->tokenTexts[static_cast<std::size_t>(next->value())];
    report->actions = actions;
    report->events = events(tick, actions);
    if (broken(tick))
      report->violations = {
          {"tags", brokenText(), CacheLayer(2), Index(brokenAt()), m_layers[2][at(brokenAt() + 1)], kBroke},
          {"mirror", outOfOrder(), CacheLayer(2), Index(brokenAt() + 1), m_layers[2][at(brokenAt())], kBroke}};
    return report;
  }

  const Options m_options;
  std::map<std::string, std::int32_t> m_words;
  std::shared_ptr<const SessionInfo> m_info;
  Ledger m_ledger;
  std::vector<LedgerId> m_context;
  std::vector<LedgerId> m_layers[kLayers];
  std::vector<std::size_t> m_edits;
  std::vector<SnapshotPtr> m_history;
  PolicyAudit m_audit;
};

Session::Session(Options options) : m_history(Maker(options).history()) {}

LifespanView lifespans(const SnapshotPtr& s) {
  LifespanView view{1, s->tick, s->length(), 0.05f, {}};
  for (std::size_t layer = 0; layer < s->layers.size(); ++layer) {
    view.layers.emplace_back();
    if (!s->policies || s->policies->layers[layer].policy != "smartkv") continue;
    for (std::uint64_t head = 0; head < 2; ++head) {
      std::vector<float> predicted, actual;
      std::vector<std::uint8_t> cut;
      for (std::uint64_t p = 0; p < static_cast<std::uint64_t>(s->length()); ++p) {
        const double most = std::log2(static_cast<double>(s->length() - static_cast<std::int32_t>(p)) + 1) / 2;
        const double life = std::min(most, 4 * std::pow(noise(31, p, 8 * layer + head), 1.5));
        actual.push_back(static_cast<float>(life));
        cut.push_back(life >= most - 0.05);
        predicted.push_back(
            static_cast<float>(0.85 * life + (head ? 1.6 : 0.9) * (noise(37, p, 8 * layer + head) - 0.45)));
      }
      view.layers.back().push_back(headLifespans(predicted, actual, cut, 400));
    }
  }
  return view;
}

SnapshotPtr hugeSnapshot(int layers, int positions) {
  static const std::vector<SnapshotPtr> small = Session(Options{false, 0}).history();
  auto s = std::make_shared<Snapshot>(*small.front());
  auto info = std::make_shared<SessionInfo>(*s->info);
  info->cacheLayers.layers = layers;
  s->info = info;
  Ledger ledger;
  std::vector<LedgerId> ids;
  std::vector<Slot> slotOf;
  std::vector<std::int32_t> phases;
  for (int p = 0; p < positions; ++p) {
    LedgerRow row;
    row.token = TokenId(3 + p % (info->vocab - 3));
    row.born = Tick(p / 64);
    ids.push_back(ledger.append(row));
    slotOf.push_back(Slot(p));
    phases.push_back(p);
  }
  auto map = std::make_shared<ResidencyView>();
  map->ledger = Column<LedgerId>(ids);
  map->slotOf = Column<Slot>(slotOf);
  map->phases = Column<std::int32_t>(phases);
  s->context = Column<LedgerId>(ids);
  s->ledger = ledger;
  s->layers.assign(static_cast<std::size_t>(layers), map);
  s->exactness = std::make_shared<const std::vector<Exactness>>(ids.size(), Exactness::Exact);
  s->storage.assign(static_cast<std::size_t>(layers),
                    std::make_shared<StorageView>(plainStorage(positions, positions)));
  return s;
}

}  // namespace kvlab::fixture
