// SPDX-License-Identifier: Apache-2.0
#include "core/edit/wlod_rows.h"

#include <algorithm>
#include <deque>

#include "core/model/backend_status.h"
#include "kernels/backend/staging.h"
#include "kernels/ops/attention.h"

namespace kvlab {
namespace {

constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// What the queries of a chunk look at: the lists of its blocks one behind another, each from a border of attention's
/// blocks of keys on, so that a query's bits do not tell where its list stands. Lives until the pass is done.
struct Lists {
  std::vector<std::int32_t> rows;                // of the state
  std::vector<std::int32_t> phases, begin, end;  // [rows], [queries], [queries]
  std::vector<bool> self;                        // [queries]
  std::vector<std::vector<std::int32_t>> slots, selfSlots;  // [layers][rows], [layers][queries]

  bool anySelf() const { return std::find(self.begin(), self.end(), true) != self.end(); }
};

class WlodPass {
 public:
  WlodPass(Transformer& transformer, CacheStore& store, FaultDoor& faults, const WlodJob& job)
      : m_transformer(transformer), m_store(store), m_faults(faults), m_job(job), m_state(job.state), m_staging(transformer.backend()),
        m_coverage(m_state.context, m_state.rows.span(), m_state.rules.attention, m_state.rules.pyramid), m_newest(lastEntry()) {
    for (const WlodRow& row : m_state.rows) m_phases.push_back(phaseOf(row.node));
    m_transformer.table();  // goes up before anything reads it
    m_x = m_staging.temporary<float>(at(std::min<std::int64_t>(m_state.count() - job.from, transformer.maxRows()) * transformer.hidden()));
    if (!job.wantLogits) return;
    m_result.logits.resize(at(transformer.model().config().vocab));
    m_logits = m_staging.out(m_result.logits.data(), m_result.logits.size());
  }

  Result<WlodResult> run(const Progress& progress) {
    const std::int32_t total = m_state.count() - m_job.from;
    for (std::int32_t begin = m_job.from, end = begin; begin < m_state.count(); begin = end) {
      if (progress && !progress("computing rows", begin - m_job.from, total))
        return Error{"cancelled", "the operation was cancelled", "after " + std::to_string(begin - m_job.from) + " of " + std::to_string(total) + " rows",
                     "nothing has changed; start it again"};
      end = chunkEnd(begin);
      if (Status done = runChunk(begin, end); !done) return done.error();
    }
    m_staging.finish();
    if (Status done = backendStatus(m_transformer.backend(), "the forward pass"); !done) return done.error();
    m_result.rows = total;
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

  bool keepsLayer0(std::int32_t row) const { return !m_job.keepsLayer0.empty() && m_job.keepsLayer0[at(row - m_job.from)]; }

  /// Rows of a chunk are alike in whether their layer 0 is there; the newest entry stands last in its chunk.
  std::int32_t chunkEnd(std::int32_t begin) const {
    const std::int32_t most = std::min(m_state.count(), begin + m_transformer.maxRows());
    std::int32_t end = begin + 1;
    while (end < most && end != m_newest + 1 && keepsLayer0(end) == keepsLayer0(begin)) ++end;
    return end;
  }

  void addBlock(Lists& lists, const QueryBlock& block, std::int32_t chunk) {
    lists.rows.resize((lists.rows.size() + kernels::kAttentionBlock - 1) / kernels::kAttentionBlock * kernels::kAttentionBlock);
    const auto begin = static_cast<std::int32_t>(lists.rows.size());
    lists.rows.insert(lists.rows.end(), block.rows.begin(), block.rows.end());
    for (std::size_t q = 0; q < block.queries.size(); ++q) {
      const std::size_t query = at(block.queries[q] - chunk);
      lists.begin[query] = begin;
      lists.end[query] = begin + block.seen[q];
      lists.self[query] = block.self[q];
      m_result.pairs += block.seen[q] + (block.self[q] ? 1 : 0);
    }
  }

  Lists& listsOf(std::int32_t begin, std::int32_t end) {
    Lists& lists = m_lists.emplace_back();
    const std::size_t n = at(end - begin);
    lists.begin.resize(n), lists.end.resize(n), lists.self.resize(n);
    for (const QueryBlock& block : m_coverage.blocks(begin, end)) addBlock(lists, block, begin);
    if (flat()) return lists;  // reads the state's own columns
    for (const std::int32_t row : lists.rows) lists.phases.push_back(m_phases[at(row)]);
    for (const Column<Slot>& column : m_state.slots) {
      std::vector<std::int32_t>&slots = lists.slots.emplace_back(), &self = lists.selfSlots.emplace_back();
      for (const std::int32_t row : lists.rows) slots.push_back(column[at(row)].value());
      for (std::size_t q = 0; q < n; ++q) self.push_back(lists.self[q] ? column[at(begin) + q].value() : -1);
    }
    return lists;
  }

  /// The vectors of the rows, [n, hidden]: tokens from the model's table, gists from the tree.
  void embed(std::int32_t begin, std::int32_t end) {
    std::vector<std::int32_t>& tokens = m_tokens.emplace_back();
    for (std::int32_t row = begin; row < end; ++row)
      tokens.push_back(m_state.rows[at(row)].node.level ? 0 : m_job.tokenOf(m_state.ledger[at(row)]).value());
    m_transformer.embed(m_staging.in(tokens), end - begin, m_x);
    for (std::int32_t row = begin; row < end; ++row)
      if (const TreeNode node = m_state.rows[at(row)].node; node.level) {
        const std::span<const float> gist = m_state.tree.gist(node);
        m_transformer.backend().upload(m_x + std::int64_t{row - begin} * m_transformer.hidden(), gist.data(), static_cast<std::int64_t>(gist.size_bytes()));
      }
  }

  /// What all layers of a chunk share.
  LayerPass passOf(const Lists& lists, std::int32_t begin, std::int32_t end) {
    std::vector<std::uint64_t>& tags = m_tags.emplace_back();
    for (std::int32_t row = begin; row < end; ++row) tags.push_back(static_cast<std::uint64_t>(m_state.ledger[at(row)].value()));
    LayerPass pass;
    pass.phase = m_staging.in(std::span<const std::int32_t>(m_phases).subspan(at(begin), at(end - begin)));
    pass.tags = m_staging.in(tags);
    pass.rowBegin = m_staging.in(lists.begin);
    pass.rowEnd = m_staging.in(lists.end);
    pass.phases = m_staging.in(flat() ? std::span<const std::int32_t>(m_phases) : std::span<const std::int32_t>(lists.phases));
    pass.rows = static_cast<std::int64_t>(lists.rows.size());
    return pass;
  }

  Status runChunk(std::int32_t begin, std::int32_t end) {
    const Lists& lists = listsOf(begin, end);
    LayerPass pass = passOf(lists, begin, end);
    const std::int64_t n = end - begin;
    const bool newest = end == m_newest + 1, self = lists.anySelf();
    embed(begin, end);
    for (int layer = 0; layer < m_store.layers(); ++layer) {
      if (Status passed = m_faults.pass(FaultPoint::Kernel, "a forward pass"); !passed) return passed;
      RowPool& pool = m_store.pool(layer);
      const std::span<const std::int32_t> own = plain(m_state.slots[at(layer)].span());
      const bool kept = layer == 0 && keepsLayer0(begin);
      pass.pool = pool.data();
      pass.format = pool.format();
      pass.stats = pool.stats();
      pass.write = kept ? nullptr : m_staging.in(own.subspan(at(begin), at(n)));
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
      for (std::int32_t i = m_newestList->begin.back(); i < m_newestList->end.back(); ++i) out[at(m_newestList->rows[at(i)])] = mass[at(i)];
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
  std::deque<std::vector<std::int32_t>> m_tokens;
  std::deque<std::vector<std::uint64_t>> m_tags;
  std::deque<std::vector<float>> m_masses;    // [layers]
  const Lists* m_newestList = nullptr;        // whose last query the newest entry is
  WlodResult m_result;
};

}  // namespace

Result<WlodResult> computeWlodRows(Transformer& transformer, CacheStore& store, FaultDoor& faults, const WlodJob& job, const Progress& progress) {
  if (job.from >= job.state.count()) return WlodResult{};
  return WlodPass(transformer, store, faults, job).run(progress);
}

}  // namespace kvlab
