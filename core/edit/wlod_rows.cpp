// SPDX-License-Identifier: Apache-2.0
#include "core/edit/wlod_rows.h"

#include <algorithm>
#include <deque>

#include "core/model/decoder/backend_status.h"
#include "kernels/backend/staging.h"
#include "kernels/ops/attention.h"

namespace kvlab {
namespace {

constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// What the queries of a chunk look at: the lists of its blocks one behind another, each from a border of attention's
/// blocks of keys on, so that a query's bits do not tell where its list stands. Lives until the pass is done.
struct Lists {
  std::vector<std::int32_t> rows;                           // of the state
  std::vector<std::int32_t> phases, begin, end;             // [rows], [queries], [queries]
  std::vector<bool> self;                                   // [queries]
  std::vector<std::vector<std::int32_t>> slots, selfSlots;  // [layers][rows], [layers][queries]

  bool anySelf() const { return std::find(self.begin(), self.end(), true) != self.end(); }
};

class WlodPass {
 public:
  WlodPass(Transformer& transformer, CacheStore& store, FaultDoor& faults, const WlodJob& job)
      : m_transformer(transformer),
        m_store(store),
        m_faults(faults),
        m_job(job),
        m_state(job.state),
        m_staging(transformer.backend()),
        m_coverage(m_state.context, m_state.rows.span(), m_state.rules.attention, m_state.rules.pyramid),
        m_newest(lastEntry()) {
    for (const WlodRow& row : m_state.rows) m_phases.push_back(phaseOf(row.node));
    m_list = job.rows;
    for (std::int32_t row = job.from; job.rows.empty() && row < m_state.count(); ++row) m_list.push_back(row);
    m_transformer.table();  // goes up before anything reads it
    m_x = m_staging.temporary<float>(
        at(std::min(static_cast<std::int64_t>(m_list.size()), std::int64_t{transformer.maxRows()}) *
           transformer.hidden()));
    if (!job.wantLogits) return;
    m_result.logits.resize(at(transformer.model().config().vocab));
    m_logits = m_staging.out(m_result.logits.data(), m_result.logits.size());
  }

  Result<WlodResult> run(const Progress& progress) {
    const std::span<const std::int32_t> all = m_list;
    for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
      if (progress &&
          !progress("computing rows", static_cast<std::int64_t>(begin), static_cast<std::int64_t>(all.size())))
        return Error{"cancelled", "the operation was cancelled",
                     "after " + std::to_string(begin) + " of " + std::to_string(all.size()) + " rows",
                     "nothing has changed; start it again"};
      end = chunkEnd(begin);
      if (Status done = runChunk(all.subspan(begin, end - begin)); !done) return done.error();
    }
    m_staging.finish();
    if (Status done = backendStatus(m_transformer.backend(), "the forward pass"); !done) return done.error();
    m_result.rows = static_cast<std::int64_t>(m_list.size());
    spreadMass();
    return std::move(m_result);
  }

 private:
  bool flat() const { return m_state.rules.attention == WlodAttention::Flat; }

  /// A row of the rotary table: the centre of what the node covers, blurred by half its span.
  std::int32_t phaseOf(TreeNode node) {
    return m_transformer.rotary().index(Phase(node.phase()), node.level ? m_state.rules.sigma * node.span() / 2 : 0.0);
  }

  /// The newest entry: summaries may have arrived behind it.
  std::int32_t lastEntry() const {
    std::int32_t row = m_state.count() - 1;
    while (!m_state.rows[at(row)].entry) --row;
    return row;
  }

  bool keepsLayer0(std::int32_t row) const {
    return !m_job.keepsLayer0.empty() && m_job.keepsLayer0[at(row - m_job.from)];
  }

  /// Rows of a chunk are alike in whether their layer 0 is there; the newest entry stands last in its chunk.
  std::size_t chunkEnd(std::size_t begin) const {
    const std::size_t most = std::min(m_list.size(), begin + at(m_transformer.maxRows()));
    std::size_t end = begin + 1;
    while (end < most && m_list[end - 1] != m_newest && keepsLayer0(m_list[end]) == keepsLayer0(m_list[begin])) ++end;
    return end;
  }

  void addBlock(Lists& lists, const QueryBlock& block, std::span<const std::int32_t> chunk) {
    lists.rows.resize((lists.rows.size() + kernels::kAttentionBlock - 1) / kernels::kAttentionBlock *
                      kernels::kAttentionBlock);
    const auto begin = static_cast<std::int32_t>(lists.rows.size());
    lists.rows.insert(lists.rows.end(), block.rows.begin(), block.rows.end());
    for (std::size_t q = 0; q < block.queries.size(); ++q) {
      const auto query = at(std::lower_bound(chunk.begin(), chunk.end(), block.queries[q]) - chunk.begin());
      lists.begin[query] = begin;
      lists.end[query] = begin + block.seen[q];
      lists.self[query] = block.self[q];
      m_result.pairs += block.seen[q] + (block.self[q] ? 1 : 0);
    }
  }

  Lists& listsOf(std::span<const std::int32_t> chunk) {
    Lists& lists = m_lists.emplace_back();
    const std::size_t n = chunk.size();
    lists.begin.resize(n), lists.end.resize(n), lists.self.resize(n);
    for (const QueryBlock& block : m_coverage.blocks(chunk)) addBlock(lists, block, chunk);
    if (flat()) return lists;  // reads the state's own columns
    for (const std::int32_t row : lists.rows) lists.phases.push_back(m_phases[at(row)]);
    for (const Column<Slot>& column : m_state.slots) {
      std::vector<std::int32_t>&slots = lists.slots.emplace_back(), &self = lists.selfSlots.emplace_back();
      for (const std::int32_t row : lists.rows) slots.push_back(column[at(row)].value());
      for (std::size_t q = 0; q < n; ++q) self.push_back(lists.self[q] ? column[at(chunk[q])].value() : -1);
    }
    return lists;
  }

  /// The vectors of the rows, [n, hidden]: tokens from the model's table, gists from the tree.
  void embed(std::span<const std::int32_t> chunk) {
    std::vector<std::int32_t>& tokens = m_picked.emplace_back();
    for (const std::int32_t row : chunk)
      tokens.push_back(m_state.rows[at(row)].node.level ? 0 : m_job.tokenOf(m_state.ledger[at(row)]).value());
    m_transformer.embed(m_staging.in(tokens), static_cast<std::int64_t>(chunk.size()), m_x);
    float* x = m_x;
    for (const std::int32_t row : chunk) {
      if (const TreeNode node = m_state.rows[at(row)].node; node.level) {
        const std::span<const float> gist = m_state.tree.gist(node);
        m_transformer.backend().upload(x, gist.data(), static_cast<std::int64_t>(gist.size_bytes()));
      }
      x += m_transformer.hidden();
    }
  }

  /// The values of some rows, where ops read them.
  const std::int32_t* pick(std::span<const std::int32_t> values, std::span<const std::int32_t> chunk) {
    if (at(chunk.back() - chunk.front()) + 1 == chunk.size())
      return m_staging.in(values.subspan(at(chunk.front()), chunk.size()));
    std::vector<std::int32_t>& picked = m_picked.emplace_back();
    for (const std::int32_t row : chunk) picked.push_back(values[at(row)]);
    return m_staging.in(picked);
  }

  /// What all layers of a chunk share.
  LayerPass passOf(const Lists& lists, std::span<const std::int32_t> chunk) {
    std::vector<std::uint64_t>& tags = m_tags.emplace_back();
    for (const std::int32_t row : chunk) tags.push_back(static_cast<std::uint64_t>(m_state.ledger[at(row)].value()));
    LayerPass pass;
    pass.phase = pick(m_phases, chunk);
    pass.tags = m_staging.in(tags);
    pass.rowBegin = m_staging.in(lists.begin);
    pass.rowEnd = m_staging.in(lists.end);
    pass.phases =
        m_staging.in(flat() ? std::span<const std::int32_t>(m_phases) : std::span<const std::int32_t>(lists.phases));
    pass.rows = static_cast<std::int64_t>(lists.rows.size());
    return pass;
  }

  Status runChunk(std::span<const std::int32_t> chunk) {
    const Lists& lists = listsOf(chunk);
    LayerPass pass = passOf(lists, chunk);
    const auto n = static_cast<std::int64_t>(chunk.size());
    const bool newest = chunk.back() == m_newest, self = lists.anySelf();
    embed(chunk);
    for (int layer = 0; layer < (m_job.layers ? m_job.layers : m_store.layers()); ++layer) {
      if (Status passed = m_faults.pass(FaultPoint::Kernel, "a forward pass"); !passed) return passed;
      RowPool& pool = m_store.pool(layer);
      const std::span<const std::int32_t> own = plain(m_state.slots[at(layer)].span());
      const bool kept = layer == 0 && keepsLayer0(chunk.front());
      pass.pool = pool.data();
      pass.format = pool.format();
      pass.stats = pool.stats();
      pass.write = kept ? nullptr : pick(own, chunk);
      pass.slots = m_staging.in(flat() ? own : std::span<const std::int32_t>(lists.slots[at(layer)]));
      pass.selfSlot = self ? m_staging.in(lists.selfSlots[at(layer)]) : nullptr;
      if (newest && m_job.wantAttention) pass.newestMass = massOf(pass.rows);
      m_transformer.layer(layer, {&pass, 1}, n, m_x);
      if (!kept) m_result.bytes += n * pool.stride();
    }
    if (newest) m_newestList = &lists;
    if (newest && m_logits) m_transformer.logits(m_x + (n - 1) * m_transformer.hidden(), 1, m_logits);
    return ok();
  }

  float* massOf(std::int64_t rows) {
    std::vector<float>& mass = m_masses.emplace_back(at(rows + 1));
    return m_staging.out(mass.data(), mass.size());
  }

  /// Masses by row of the state.
  void spreadMass() {
    for (const std::vector<float>& mass : m_masses) {
      std::vector<float>& out = m_result.mass.emplace_back(at(m_state.count()));
      for (std::int32_t i = m_newestList->begin.back(); i < m_newestList->end.back(); ++i)
        out[at(m_newestList->rows[at(i)])] = mass[at(i)];
    }
  }

  Transformer& m_transformer;
  CacheStore& m_store;
  FaultDoor& m_faults;
  const WlodJob& m_job;
  const WlodState& m_state;
  kernels::Staging m_staging;
  Coverage m_coverage;
  std::int32_t m_newest;                      // row of the last entry
  std::vector<std::int32_t> m_phases;         // [rows] of the rotary table
  float *m_x = nullptr, *m_logits = nullptr;  // [chunk, hidden], [vocab] or null
  std::deque<Lists> m_lists;                  // addresses stay until the pass is done
  std::vector<std::int32_t> m_list;           // rows to compute, ascending
  std::deque<std::vector<std::int32_t>> m_picked;
  std::deque<std::vector<std::uint64_t>> m_tags;
  std::deque<std::vector<float>> m_masses;  // [layers]
  const Lists* m_newestList = nullptr;      // whose last query the newest entry is
  WlodResult m_result;
};

}  // namespace

Result<WlodResult> computeWlodRows(Transformer& transformer, CacheStore& store, FaultDoor& faults, const WlodJob& job,
                                   const Progress& progress) {
  if (job.from >= job.state.count()) return WlodResult{};
  return WlodPass(transformer, store, faults, job).run(progress);
}

}  // namespace kvlab
