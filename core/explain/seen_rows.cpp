// SPDX-License-Identifier: Apache-2.0
// Queries that see other rows than they should: windows, edges of blocks, masks of chunks, rows that nobody has
// written, padding. Rows are right in layer 0, because no attention stands before them.
#include <algorithm>
#include <cmath>
#include <optional>

#include "core/explain/fault_trials.h"

namespace kvlab {
namespace {

using nlohmann::json;

/// A query may lose a row that has so little weight that the loss does not show: so many queries.
constexpr int kUnseen = 4;

/// Attention is at fault, and the rows are those of the right tokens.
bool attends(const HypothesisRoom& room) { return room.left.firstLayerRight && room.left.firstLayer > 0; }

/// Rows of `from` and later tokens see another window in layers that have `own`, or in all where it is -1.
FaultPass otherWindow(const HypothesisRoom& room, int own, int other, std::int64_t from) {
  FaultPass pass = rightPass(room);
  pass.calls = promptThenDrawn(from, tokensOf(room));
  if (from == 0) pass.calls.clear();
  pass.pass = [own, other, from](Layer, const EngineCall& call, PassBend& bent) {
    if (own >= 0 && bent.window != own) return;
    for (std::size_t i = 0; i < bent.begin.size(); ++i)
      if (call.begin + static_cast<std::int64_t>(i) >= from)
        bent.begin[i] = other > 0 ? std::max(0, bent.end[i] - other) : 0;
  };
  return pass;
}

/// The layers before the first wrong one have this window, so that a change of it is a cause.
std::vector<int> windowsThatMatter(const HypothesisRoom& room) {
  const std::vector<int> windows = windowsOf(room);
  std::vector<int> out;
  if (attends(room)) out.push_back(windows[at(room.left.firstLayer - 1)]);
  return out;
}

std::vector<int> layersWith(const HypothesisRoom& room, int window) {
  std::vector<int> out;
  const std::vector<int> windows = windowsOf(room);
  for (std::size_t l = 0; l < windows.size(); ++l)
    if (windows[l] == window) out.push_back(static_cast<int>(l));
  return out;
}

std::vector<EngineTrial> windowPlusOneTrials(const HypothesisRoom& room) {
  std::vector<EngineTrial> out;
  for (const int own : windowsThatMatter(room))
    if (own > 0 && room.left.firstToken >= own)
      out.push_back(trialOf(otherWindow(room, own, own + 1, room.left.firstToken),
                            "a query sees one row more than the window of " + std::to_string(own) + " has, in " +
                                layersText(layersWith(room, own)) + fromText(room.left.firstToken, own),
                            {{"window", own}, {"from", room.left.firstToken}}));
  return out;
}

std::vector<EngineTrial> windowLostTrials(const HypothesisRoom& room) {
  std::vector<EngineTrial> out;
  for (const int own : windowsThatMatter(room))
    if (own > 0 && room.left.firstToken > own)  // from the first token behind the window on: it is lost in all passes
      out.push_back(trialOf(otherWindow(room, own, 0, room.left.firstToken),
                            "a pass of one row ignores the window of " + std::to_string(own) + " in " +
                                layersText(layersWith(room, own)) + fromText(room.left.firstToken),
                            {{"window", own}, {"from", room.left.firstToken}}));
  return out;
}

std::string windowName(int window) { return window > 0 ? "a window of " + std::to_string(window) : "no window"; }

std::vector<EngineTrial> otherWindowTrials(const HypothesisRoom& room) {
  std::vector<EngineTrial> out;
  const auto n = static_cast<int>(tokensOf(room));
  for (const int own : windowsThatMatter(room)) {
    const std::int64_t first = room.left.firstToken;
    std::vector<int> others;
    if (own == 0 || first < own) {  // the first query that loses a row has as many before it as the window has
      for (int fewer = 0; fewer <= kUnseen && fewer < first; ++fewer) others.push_back(static_cast<int>(first) - fewer);
    } else if (first == own) {
      others = {0};
      for (int factor = 2; own * factor < n && factor <= 8; factor *= 2) others.push_back(own * factor);
      for (int size = 16; size < n; size *= 2)
        if (size > own && size % own != 0) others.push_back(size);
    }
    for (const int other : others) {
      if (other < 0 || other == own || (other == 0 && own == 0)) continue;
      const std::string text = "attention has " + windowName(other) + " in place of " + windowName(own) + " in ";
      const std::vector<int> layers = layersWith(room, own);
      out.push_back(trialOf(otherWindow(room, own, other, 0), text + layersText(layers),
                            {{"window", other}, {"own", own}}, other == 0 || other == own - 1 ? 1 : 1.5));
      if (layers.size() == 1) continue;
      FaultPass one = otherWindow(room, own, other, 0);
      one.pass = [bend = one.pass, layer = room.left.firstLayer - 1](Layer l, const EngineCall& call, PassBend& bent) {
        if (l.value() == layer) bend(l, call, bent);
      };
      out.push_back(trialOf(std::move(one), text + "layer " + std::to_string(room.left.firstLayer - 1),
                            {{"window", other}, {"own", own}, {"layer", room.left.firstLayer - 1}}, 2));
    }
  }
  return out;
}

/// Windows with the first rows of the text besides.
std::vector<EngineTrial> keptFirstRowsTrials(const HypothesisRoom& room) {
  std::vector<EngineTrial> out;
  if (!attends(room)) return out;
  const auto first = static_cast<std::int32_t>(room.left.firstToken);
  const int own = windowsOf(room)[at(room.left.firstLayer - 1)];
  std::vector<std::pair<std::int32_t, std::int32_t>> tried;  // sinks, window
  // A query of `first` is the first that lacks a row: the one behind the sinks.
  for (std::int32_t fewer = 0; fewer <= (own > 0 ? 0 : kUnseen); ++fewer)
    for (const std::int32_t sinks : {4, 1, 2, 8, 16, 64, 128})
      if (own > 0 ? first >= own : first - fewer > sinks)
        tried.emplace_back(sinks, own > 0 ? own : first - fewer - sinks);
  for (const auto& [sinks, window] : tried) {
    FaultPass pass = rightPass(room);
    pass.pass = [own, sinks = sinks, window = window](Layer, const EngineCall& call, PassBend& bent) {
      if (bent.window != own) return;
      for (std::size_t i = 0; i < bent.begin.size(); ++i) {
        const auto row = static_cast<std::int32_t>(call.begin) + static_cast<std::int32_t>(i);
        const std::int32_t from = std::max(row + 1 - window, 0);
        if (from == 0) continue;
        const auto begin = static_cast<std::int32_t>(bent.slots.size());
        for (std::int32_t seen = 0; seen <= row; ++seen)
          if (seen < sinks || seen >= from) bent.slots.push_back(seen), bent.phases.push_back(bent.phases[at(seen)]);
        bent.begin[i] = begin;
        bent.end[i] = static_cast<std::int32_t>(bent.slots.size());
      }
    };
    out.push_back(trialOf(std::move(pass),
                          "attention sees the first " + std::to_string(sinks) + " rows and a window of " +
                              std::to_string(window) + " in place of " + windowName(own),
                          {{"sinks", sinks}, {"window", window}}, 1.5));
  }
  return out;
}

std::vector<EngineTrial> blockEdgeTrials(const HypothesisRoom& room) {
  std::vector<EngineTrial> out;
  if (!attends(room)) return out;
  const std::vector<std::int64_t> wrong = wrongTokens(room, room.left.firstLayer);
  for (const std::int32_t block : {64, 32, 128, 256, 16}) {
    if (wrong.empty() || std::ranges::any_of(wrong, [&](std::int64_t t) { return t % block != 0; })) continue;
    FaultPass pass = rightPass(room);
    pass.pass = [block, from = wrong.front()](Layer, const EngineCall& call, PassBend& bent) {
      for (std::size_t i = 0; i < bent.end.size(); ++i)
        if (bent.end[i] % block == 1 && bent.end[i] > block && call.begin + static_cast<std::int64_t>(i) >= from)
          bent.begin[i] = bent.end[i] - 1;
    };
    out.push_back(trialOf(std::move(pass),
                          "a query behind an edge of " + std::to_string(block) + " rows loses the rows before the edge",
                          {{"block", block}}, block == 64 ? 1 : 1.2));
  }
  return out;
}

std::vector<EngineTrial> unfilledTrials(const HypothesisRoom& room) {
  std::vector<EngineTrial> out;
  if (!attends(room)) return out;
  for (const std::int32_t zeros : {1, 2, 4, 8, 16, 32, 64}) {
    FaultPass pass = rightPass(room);
    pass.calls = promptThenDrawn(room.left.firstToken, tokensOf(room));
    pass.partly = true;
    pass.pass = [from = room.left.firstToken, zeros](Layer, const EngineCall& call, PassBend& bent) {
      if (call.begin < from) return;
      for (std::size_t i = 0; i < bent.end.size(); ++i) {
        const auto begin = static_cast<std::int32_t>(bent.slots.size());
        for (std::int32_t seen = bent.begin[i]; seen < bent.end[i]; ++seen)
          bent.slots.push_back(seen), bent.phases.push_back(bent.phases[at(seen)]);
        for (std::int32_t zero = 0; zero < zeros; ++zero)
          bent.slots.push_back(bent.poolSlots - 1), bent.phases.push_back(0);
        bent.begin[i] = begin;
        bent.end[i] = static_cast<std::int32_t>(bent.slots.size());
      }
    };
    out.push_back(trialOf(std::move(pass),
                          "attention reads " + std::to_string(zeros) + (zeros == 1 ? " row" : " rows") +
                              " of zeros that nobody has written yet" + fromText(room.left.firstToken),
                          {{"rows", zeros}, {"from", room.left.firstToken}}, zeros == 1 ? 1 : 1.5));
  }
  return out;
}

std::vector<EngineTrial> unwrittenChunkTrials(const HypothesisRoom& room) {
  std::vector<EngineTrial> out;
  if (!attends(room)) return out;
  const std::vector<std::int64_t> wrong = wrongTokens(room, room.left.firstLayer);
  if (wrong.size() < 2) return out;
  const std::int64_t n = tokensOf(room);
  // The first row of a chunk is the first wrong one; rows of the last chunk see nothing unwritten.
  for (const std::int64_t begin : {std::int64_t{0}, std::int64_t{room.left.firstToken}})
    for (std::int64_t chunk = 2048; chunk >= 4; chunk /= 2) {
      if (chunk >= n - begin || (begin > 0 && begin == room.left.firstToken && out.size() > 20)) continue;
      for (const std::int64_t ahead : {n, chunk}) {  // the whole prompt, or one chunk
        if (ahead == chunk && begin + 2 * chunk >= n) continue;
        FaultPass pass = rightPass(room);
        pass.calls = joined(promptCalls(0, begin, 0), promptCalls(begin, n, chunk));
        pass.ordered = true;
        pass.pass = [begin, ahead](Layer, const EngineCall& call, PassBend& bent) {
          if (call.begin < begin || bent.end.size() == 1) return;
          const auto end = static_cast<std::int32_t>(std::min(call.promptEnd, call.end + ahead));
          for (std::int32_t& one : bent.end) one = end;
        };
        out.push_back(trialOf(std::move(pass),
                              "a chunk of " + std::to_string(chunk) + " tokens of the prompt sees rows that the next " +
                                  "chunk has yet to write" + fromText(begin),
                              {{"chunk", chunk}, {"from", begin}}, ahead == n ? 1.5 : 2));
      }
      if (begin == room.left.firstToken && begin == 0) break;
    }
  return out;
}

FaultPass maskedBy(const HypothesisRoom& room, std::int64_t from, std::int64_t prompt,
                   const std::function<std::int32_t(std::int32_t row, std::int32_t end)>& endOf) {
  FaultPass pass = rightPass(room);
  pass.calls = promptThenDrawn(prompt, tokensOf(room));
  pass.pass = [from, endOf](Layer, const EngineCall& call, PassBend& bent) {
    for (std::size_t i = 0; i < bent.end.size(); ++i) {
      const auto row = static_cast<std::int32_t>(call.begin) + static_cast<std::int32_t>(i);
      if (row >= from) bent.end[i] = endOf(row, static_cast<std::int32_t>(call.end));
    }
  };
  return pass;
}

std::vector<EngineTrial> causalTrials(const HypothesisRoom& room) {
  std::vector<EngineTrial> out;
  if (!attends(room)) return out;
  const std::vector<std::int64_t> wrong = wrongTokens(room, room.left.firstLayer);
  if (wrong.size() < 2) return out;
  // The last row of a prompt sees no more than it should, so it is right in the first layer.
  std::vector<std::int64_t> prompts = {tokensOf(room)};
  if (wrong.back() + 2 < tokensOf(room)) prompts.insert(prompts.begin(), wrong.back() + 2);
  for (const std::int64_t prompt : prompts) {
    const std::string where = prompt < tokensOf(room) ? ", in a prompt of " + std::to_string(prompt) + " tokens" : "";
    out.push_back(
        trialOf(maskedBy(room, 0, prompt, [](std::int32_t row, std::int32_t end) { return std::min(row + 2, end); }),
                "a query sees one row behind its own" + where, {{"ahead", 1}, {"prompt", prompt}}, 1));
    out.push_back(trialOf(maskedBy(room, 0, prompt, [](std::int32_t, std::int32_t end) { return end; }),
                          "a query of the prompt sees all rows behind its own" + where,
                          {{"ahead", "all"}, {"prompt", prompt}}, 1));
    out.push_back(trialOf(maskedBy(room, 0, prompt, [](std::int32_t row, std::int32_t) { return std::max(row, 1); }),
                          "a query does not see its own row" + where, {{"ahead", -1}, {"prompt", prompt}}, 1));
  }
  return out;
}

std::vector<EngineTrial> chunkMaskTrials(const HypothesisRoom& room) {
  std::vector<EngineTrial> out;
  if (!attends(room) || room.left.firstToken == 0) return out;
  const std::int64_t first = room.left.firstToken;
  for (const std::int64_t chunk : chunksAt(first, tokensOf(room))) {
    FaultPass pass = rightPass(room);
    pass.calls = joined(promptCalls(0, first, 0), promptCalls(first, tokensOf(room), chunk));
    pass.pass = [first](Layer, const EngineCall& call, PassBend& bent) {
      if (call.begin < first) return;
      for (std::int32_t& begin : bent.begin) begin = std::max(begin, static_cast<std::int32_t>(call.begin));
    };
    out.push_back(trialOf(std::move(pass),
                          "a chunk of " + std::to_string(chunk) +
                              " tokens of the prompt sees none of the rows before it" + fromText(first, chunk),
                          {{"chunk", chunk}, {"from", first}}, chunk == first ? 1 : 1.5));
  }
  return out;
}

// --- padding ----------------------------------------------------------------------------------------

constexpr std::int32_t kMostPadding = 512, kPadTold = 4;  // tokens of padding; tokens of the text that tell its length
constexpr double kNearPadding = 0.9, kSeemsPadding = 0.25;  // shares of how far rows without padding are

struct Padding {
  std::int32_t count = 0, id = 0;
  bool counted = false;  // it takes positions, else it has that of the first token
  double off = 0;        // of values of the first tokens in the first wrong layer, relative L2
};

/// The first tokens of the text behind padding.
FaultPass paddedPass(const HypothesisRoom& room, const Padding& padding, std::int64_t tokens) {
  FaultPass pass = rightPass(room);
  pass.stored = {};
  pass.ids.resize(at(tokens));
  pass.ids.insert(pass.ids.begin(), at(padding.count), TokenId(padding.id));
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(pass.ids.size()); ++i)
    pass.phases.push_back(padding.counted ? i : std::max(i - padding.count, 0));
  return pass;
}

/// Compares values behind padding with those of the file, in the first layer that padding changes.
class PaddingSearch {
 public:
  explicit PaddingSearch(const HypothesisRoom& room) : m_room(room) {
    for (const ExplainedLayer& one : room.theirs)
      if (one.own == room.left.firstLayer) m_layer = &one;
    m_tokens = std::min<std::int64_t>(kPadTold, tokensOf(room));
    if (m_layer) m_plain = apart(room.exact.values[at(m_layer->own)], 0);
  }

  /// The length that is nearest to the file; nothing where none is near. The farther from it, the farther are rows.
  std::optional<Padding> nearest(std::int32_t id, bool counted) const {
    Padding best{0, id, counted, kNearPadding * m_plain};
    const auto tried = [&](std::int32_t count) {
      const double off = offBy({count, id, counted, 0});
      if (off < best.off) best.count = count, best.off = off;
      return off;
    };
    double last = m_plain;
    for (std::int32_t count = 1, worse = 0; m_layer && count <= kMostPadding && worse < 2; count *= 2) {
      const double now = tried(count);
      worse = now > last ? worse + 1 : 0;
      last = now;
    }
    if (best.count == 0) return std::nullopt;
    for (std::int32_t low = best.count / 2 + 1, high = 2 * best.count - 1; low < high;) {
      const std::int32_t middle = (low + high) / 2;
      if (tried(middle) <= tried(middle + 1)) high = middle;
      else low = middle + 1;
    }
    return best.off < kSeemsPadding * m_plain ? std::optional(best) : std::nullopt;
  }

 private:
  double offBy(const Padding& padding) const {
    const Result<TokenRows> rows = faultRows(paddedPass(m_room, padding, m_tokens), m_layer->own + 1, {});
    return rows ? apart(rows->values[at(m_layer->own)], padding.count) : m_plain;
  }

  double apart(const std::vector<float>& ours, std::int64_t before) const {
    const std::size_t width = m_layer->theirValues.size() / std::max<std::size_t>(1, m_layer->tokens.size());
    double off = 0, all = 0;
    for (std::size_t row = 0; row < m_layer->tokens.size(); ++row) {
      const std::int32_t token = m_layer->tokens[row];
      if (token < 0 || token >= m_tokens) continue;
      for (std::size_t i = 0; i < width; ++i) {
        const double exact = ours[at(before + token) * width + i];
        off += std::pow(m_layer->theirValues[row * width + i] - exact, 2), all += exact * exact;
      }
    }
    return all > 0 && std::isfinite(off) ? std::sqrt(off / all) : 0;
  }

  const HypothesisRoom& m_room;
  const ExplainedLayer* m_layer = nullptr;
  std::int64_t m_tokens = 0;
  double m_plain = 0;
};

/// Tokens that programs pad with.
std::vector<std::int32_t> paddingIds(const ModelConfig& config) {
  std::vector<std::int32_t> out = {0, 1, 2, 3, config.bos, config.vocab - 1};
  out.insert(out.end(), config.eos.begin(), config.eos.end());
  std::erase_if(out, [&](std::int32_t id) { return id < 0 || id >= config.vocab; });
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// Tokens of padding on the left that attention does not mask. Of all mistakes of masks this one alone is seen by the
/// first token, which sees nothing else; later ones see the less of it the more rows they have besides.
std::vector<EngineTrial> paddingTrials(const HypothesisRoom& room) {
  std::vector<EngineTrial> out;
  if (!attends(room) || room.left.firstToken > 0) return out;
  const PaddingSearch search(room);
  std::vector<Padding> likely;
  for (const std::int32_t id : paddingIds(configOf(room)))
    for (const bool counted : {false, true})
      if (const std::optional<Padding> one = search.nearest(id, counted)) likely.push_back(*one);
  std::ranges::stable_sort(likely, {}, &Padding::off);
  if (likely.size() > 3) likely.resize(3);
  for (const Padding& padding : likely) {
    EngineTrial trial =
        trialOf(paddedPass(room, padding, tokensOf(room)),
                std::to_string(padding.count) + (padding.count == 1 ? " token" : " tokens") + " of padding (id " +
                    std::to_string(padding.id) + ") on the left " + (padding.count == 1 ? "is" : "are") + " not masked",
                {{"tokens", padding.count}, {"id", padding.id}}, padding.counted ? 1.6 : 1.5);
    trial.run = [run = trial.run, count = padding.count, phases = room.exact.phases](
                    int layers, const Progress& progress) -> Result<TokenRows> {
      TokenRows rows = KV_TRY(run(layers, progress));
      const std::size_t tokens = rows.phases.size();
      const auto behind = [&](auto& all) {
        all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / tokens * at(count)));
      };
      for (auto& layer : rows.keys) behind(layer);
      for (auto& layer : rows.values) behind(layer);
      rows.phases = phases;  // an offset of all keys is named by itself
      return rows;
    };
    out.push_back(std::move(trial));
  }
  return out;
}

constexpr EngineHypothesis kSeen[] = {
    {"window_plus_one", "a query sees one row more than its window has", windowPlusOneTrials},
    {"window_lost_at_one", "a pass of one row ignores the window", windowLostTrials},
    {"other_window", "attention has another window", otherWindowTrials},
    {"block_edge_leak", "a query behind an edge of a block begins at the edge", blockEdgeTrials},
    {"unfilled_ring_read", "attention reads rows that nobody has written", unfilledTrials},
    {"chunk_mask_restart", "a chunk of a prompt sees none of the rows before it", chunkMaskTrials},
    {"causal_mask", "the causal mask is off", causalTrials},
    {"kept_first_rows", "attention sees the first rows and a window", keptFirstRowsTrials},
    {"sees_unwritten_chunk", "a chunk of a prompt sees the rows of the next one", unwrittenChunkTrials},
    {"padding_seen", "tokens of padding are not masked", paddingTrials},
};

}  // namespace

std::span<const EngineHypothesis> seenRowsHypotheses() { return kSeen; }

}  // namespace kvlab
