// SPDX-License-Identifier: Apache-2.0
#include "core/explain/fault_pass.h"

#include <algorithm>
#include <numeric>

#include "core/files/key_rotation.h"
#include "core/model/decoder/backend_status.h"
#include "core/model/decoder/transformer.h"
#include "core/state/row_pool.h"

namespace kvlab {
namespace {

constexpr std::int64_t kTogether = 256;  // rows of calls that are computed together

class FaultRun {
 public:
  static Result<FaultRun> create(const FaultPass& pass, int layers) {
    const ModelConfig& config = pass.weights->model().config();
    if (!pass.backend->onHost())
      return Error("unsupported", "no fault was tried", "the weights lie on a device", "give the backend cpu");
    FaultRun run(pass, layers > 0 ? std::min(layers, config.layers) : config.layers);
    const std::int64_t n = run.count();
    std::int64_t most = std::min(kTogether, n);
    for (const EngineCall& call : run.m_calls) most = std::max(most, call.end - call.begin);
    const std::int32_t last = n == 0 ? 0 : std::ranges::max(run.m_phases);
    run.m_transformer = KV_TRY(Transformer::create(pass.weights, *pass.backend, last + 1, static_cast<int>(most)));
    run.m_transformer->rotary().index(Phase(last));
    run.m_transformer->rotary().reach(pass.reach > 0 ? pass.reach : n);
    run.m_pool = KV_TRY(RowPool::create(*pass.backend, {config.kvHeads, config.headDim, pass.keys, pass.values},
                                        static_cast<std::int32_t>(n) + 1));
    return run;
  }

  Result<TokenRows> rows(const Progress& progress) {
    const ModelConfig& config = m_pass.weights->model().config();
    TokenRows out;
    out.phases.assign(m_phases.begin(), m_phases.end());
    std::vector<float> x(at(count() * config.hidden));
    std::vector<std::int32_t> ids;
    for (const TokenId id : m_pass.ids) ids.push_back(id.value());
    for (std::int64_t begin = 0; begin < count(); begin += m_transformer->maxRows())
      m_transformer->embed(ids.data() + begin, std::min<std::int64_t>(m_transformer->maxRows(), count() - begin),
                           x.data() + begin * config.hidden);
    for (const Layer l : idRange<Layer>(0, m_layers)) {
      if (!report(progress, "trying a fault", l.value(), m_layers))
        return Error("cancelled", "the search was stopped", "while a fault was tried", "start it again");
      m_pool.zero(m_slots);
      layer(l, x);
      KV_TRY(backendStatus(*m_pass.backend, "trying a fault"));
      take(l, out);
    }
    return out;
  }

 private:
  FaultRun(const FaultPass& pass, int layers) : m_pass(pass), m_calls(pass.calls), m_layers(layers) {
    const ModelConfig& config = pass.weights->model().config();
    if (m_calls.empty()) m_calls = promptCalls(0, count(), 0);
    m_slots.resize(pass.ids.size() + 1);
    std::iota(m_slots.begin(), m_slots.end(), 0);
    m_phases = pass.phases;
    if (m_phases.empty()) m_phases.assign(m_slots.begin(), m_slots.end() - 1);
    for (const std::int32_t slot : m_slots) m_tags.push_back(static_cast<std::uint64_t>(slot));
    m_windows = pass.windows;
    if (m_windows.empty()) m_windows = config.windowPerLayer;
    m_windows.resize(at(config.layers), m_windows.empty() ? config.slidingWindow : 0);
  }

  std::int64_t count() const { return static_cast<std::int64_t>(m_pass.ids.size()); }

  /// What a call sees as a right engine has it.
  PassBend right(const EngineCall& call, int window) const {
    PassBend out;
    out.slots.assign(m_slots.begin(), m_slots.begin() + call.promptEnd);
    out.phases.assign(m_phases.begin(), m_phases.begin() + call.promptEnd);
    for (std::int64_t i = call.begin; i < call.end; ++i) {
      const auto row = static_cast<std::int32_t>(i);
      out.phase.push_back(m_phases[at(i)]);
      out.begin.push_back(window > 0 ? std::max(0, row + 1 - window) : 0);
      out.end.push_back(row + 1);
      out.written.push_back(row);
    }
    out.window = window;
    out.before = call.begin - call.promptBegin;
    out.partly = m_pass.partly;
    out.poolSlots = m_pool.slots();
    return out;
  }

  /// The lists of calls that are computed together; lists that a call changed stand behind the others.
  struct Lists {
    std::vector<std::int32_t> slots, phases, phase = {}, begin = {}, end = {}, written = {};
  };
  void add(Lists& to, Layer l, const EngineCall& call) const {
    PassBend bent = right(call, m_windows[at(l)]);
    if (m_pass.pass) m_pass.pass(l, call, bent);
    const bool shared = bent.slots.size() <= to.slots.size() &&
        std::equal(bent.slots.begin(), bent.slots.end(), to.slots.begin()) &&
        std::equal(bent.phases.begin(), bent.phases.end(), to.phases.begin());
    const auto from = shared ? 0 : static_cast<std::int32_t>(to.slots.size());
    if (!shared) {
      to.slots.insert(to.slots.end(), bent.slots.begin(), bent.slots.end());
      to.phases.insert(to.phases.end(), bent.phases.begin(), bent.phases.end());
    }
    for (std::int32_t& begin : bent.begin) begin += from;
    for (std::int32_t& end : bent.end) end += from;
    const auto append = [](auto& all, const auto& more) { all.insert(all.end(), more.begin(), more.end()); };
    append(to.phase, bent.phase), append(to.begin, bent.begin), append(to.end, bent.end);
    append(to.written, bent.written);
  }

  bool later(std::size_t call) const { return m_pass.later > 0 && m_calls[call].begin >= m_pass.later; }

  void layer(Layer l, std::vector<float>& x) {
    for (std::size_t first = 0, next = 0; first < m_calls.size(); first = next) {
      const std::int64_t begin = m_calls[first].begin;
      Lists lists{{m_slots.begin(), m_slots.end() - 1}, m_phases};
      do add(lists, l, m_calls[next++]);
      while (!m_pass.ordered && next < m_calls.size() && later(next) == later(first) &&
             m_calls[next].end - begin <= m_transformer->maxRows());
      m_transformer->setWeights(later(first) && m_pass.laterWeights ? m_pass.laterWeights : m_pass.weights);
      if (m_pass.laterReach > 0) m_transformer->rotary().reach(later(first) ? m_pass.laterReach : m_pass.reach);
      compute(l, begin, m_calls[next - 1].end - begin, lists, x);
      if (!m_pass.written) continue;
      m_pass.written(l, m_calls[first], {m_pool, lists.written, static_cast<std::int32_t>(m_calls[first].end)});
    }
  }

  void compute(Layer l, std::int64_t begin, std::int64_t n, const Lists& lists, std::vector<float>& x) {
    LayerPass pass;
    pass.pool = m_pool.data();
    pass.format = m_pool.format();
    pass.slots = lists.slots.data();
    pass.phases = lists.phases.data();
    pass.rows = static_cast<std::int64_t>(lists.slots.size());
    pass.phase = lists.phase.data();
    pass.write = lists.written.data();
    pass.tags = m_tags.data() + begin;
    pass.rowBegin = lists.begin.data();
    pass.rowEnd = lists.end.data();
    float* rows = x.data() + begin * m_transformer->hidden();
    const bool last = l.value() + 1 == m_layers;
    if (last || m_pass.stored) {
      m_transformer->project(l, {&pass, 1}, n, rows);
      pass.write = nullptr;
      if (m_pass.stored) change(l, begin, lists.written);
    }
    if (last) return;
    if (m_pass.heads)
      m_transformer->setHeadsBend(
          [&](const LayerPass& one, float* values, std::int64_t some, std::int64_t stride, int heads, bool back) {
            m_pass.heads(l, begin, {values, some, stride, heads, one.format.kvHeads, one.format.headDim, back});
          });
    m_transformer->layer(l, {&pass, 1}, n, rows);
    m_transformer->setHeadsBend({});
  }

  void change(Layer l, std::int64_t begin, const std::vector<std::int32_t>& slots) {
    std::vector<float> k(slots.size() * at(m_pool.width())), v(k.size());
    m_pool.gather(slots, k.data(), v.data());
    m_pass.stored(l, begin, k, v);
    m_pool.write(slots, k.data(), v.data(), m_tags.data() + begin);
  }

  void take(Layer l, TokenRows& out) const {
    const ModelConfig& config = m_pass.weights->model().config();
    const std::span<const std::int32_t> slots = std::span(m_slots).first(m_pass.ids.size());
    std::vector<float> k(at(count() * m_pool.width())), v(k.size());
    m_pool.gather(slots, k.data(), v.data());
    if (!engineOrder(config).empty()) {
      const std::int64_t heads = count() * config.kvHeads;
      std::vector<double> wide(k.begin(), k.end());
      KeyRotation(config, l, count()).outside(static_cast<int>(heads), wide.data());
      std::ranges::transform(wide, k.begin(), [](double value) { return static_cast<float>(value); });
    }
    out.keys.push_back(std::move(k));
    out.values.push_back(std::move(v));
  }

  const FaultPass& m_pass;
  std::vector<EngineCall> m_calls;
  int m_layers;
  std::vector<std::int32_t> m_slots;   // [tokens + 1]
  std::vector<std::int32_t> m_phases;  // [tokens]
  std::vector<std::uint64_t> m_tags;   // [tokens + 1]
  std::vector<int> m_windows;          // [layers]
  std::unique_ptr<Transformer> m_transformer;
  RowPool m_pool;
};

}  // namespace

std::vector<EngineCall> promptCalls(std::int64_t begin, std::int64_t end, std::int64_t chunk) {
  std::vector<EngineCall> out;
  for (std::int64_t from = begin, size = chunk > 0 ? chunk : end - begin; from < end; from += size)
    out.push_back({from, std::min(from + size, end), begin, end});
  return out;
}

std::vector<EngineCall> drawnCalls(std::int64_t begin, std::int64_t end) {
  std::vector<EngineCall> out;
  for (std::int64_t i = begin; i < end; ++i) out.push_back({i, i + 1, i, i + 1});
  return out;
}

std::vector<EngineCall> joined(std::vector<EngineCall> first, const std::vector<EngineCall>& behind) {
  first.insert(first.end(), behind.begin(), behind.end());
  return first;
}

Result<TokenRows> faultRows(const FaultPass& pass, int layers, const Progress& progress) {
  FaultRun run = KV_TRY(FaultRun::create(pass, layers));
  return run.rows(progress);
}

}  // namespace kvlab
