// SPDX-License-Identifier: Apache-2.0
#include "core/edit/wlod_rows.h"

#include <algorithm>
#include <deque>
#include <map>

#include "core/edit/row_driver.h"
#include "kernels/ops/attention.h"

namespace kvlab {
namespace {

/// The rows that the queries of a chunk attend to: the lists of its blocks, one after another. Each list starts at a
/// multiple of attention's key block, so that a query's bits do not depend on where its list starts.
struct ChunkLists {
  struct Begins {
    std::vector<std::int32_t> host;  // [queries] later than `begin`
    const std::int32_t* placed = nullptr;
  };
  std::vector<std::int32_t> rows;                           // row numbers of the state
  std::vector<std::int32_t> phases, begin, end;             // [rows], [queries], [queries]
  std::vector<bool> self;                                   // [queries]
  std::vector<std::vector<std::int32_t>> slots, selfSlots;  // [cache layers][rows], [cache layers][queries]
  std::map<int, Begins> windows;                            // what masks let through
  LayerPass shared;                                         // arguments that all layers share

  bool anySelf() const { return std::find(self.begin(), self.end(), true) != self.end(); }
};

/// Computes rows of a wLOD state over the rows that their coverage names.
class CoveredRows : public RowDriver {
 public:
  CoveredRows(Transformer& transformer, CacheStore& store, FaultDoor& faults, const WlodJob& job)
      : RowDriver(transformer, faults, job.wanted,
                  {job.layers ? job.layers : transformer.model().config().layers, job.perLayer}),
        m_store(store),
        m_job(job),
        m_state(job.state),
        m_coverage(m_state.context, m_state.rows.span(), m_state.rules.attention, m_state.rules.pyramid) {
    for (const WlodRow& row : m_state.rows) m_phases.push_back(phaseOf(row.node));
    m_list = job.rows;
    for (std::int32_t row = job.from; job.rows.empty() && row < m_state.count(); ++row) m_list.push_back(row);
    for (const std::int32_t row : m_list) m_rows.push_back({m_state.ledger[at(row)], tokenOf(row), row, 0});
    m_newest = m_state.count() - 1;
    while (!m_state.rows[at(m_newest)].entry) --m_newest;  // summaries may follow the newest entry
    transformer.table();                                   // uploaded before a kernel reads it
  }

  Result<WlodResult> run(const Progress& progress) {
    RowsBrought brought = KV_TRY(byRows(progress));
    m_result.logits = std::move(brought.logits);
    m_result.rows = count();
    if (!m_newestLists || !brought.attention) return std::move(m_result);
    for (const CacheLayer layer : idRange<CacheLayer>(0, brought.attention->mass.size())) {
      const std::vector<float>& mass = brought.attention->mass[at(layer)];
      std::vector<float>& out = m_result.mass.emplace_back(at(m_state.count()));  // [rows of the state]
      for (std::int32_t i = beginsOf(*m_newestLists, layer).back(); i < m_newestLists->end.back(); ++i)
        out[at(m_newestLists->rows[at(i)])] = mass[at(i)];
    }
    return std::move(m_result);
  }

 protected:
  /// Either all rows of a chunk keep their layer 0, or none. The newest entry is the last row of its chunk.
  RowsChunk chunk(std::int64_t begin, std::int64_t most) override {
    const std::size_t first = at(begin), limit = std::min(m_list.size(), first + at(most));
    std::size_t end = first + 1;
    while (end < limit && m_list[end - 1] != m_newest && keepsLayer0(m_list[end]) == keepsLayer0(m_list[first])) ++end;
    m_chunk = std::span<const std::int32_t>(m_list).subspan(first, end - first);
    list();
    if (m_chunk.back() == m_newest) m_newestLists = &m_lists.back();
    return {begin, static_cast<std::int64_t>(m_chunk.size()), m_chunk.back() == m_newest};
  }

  LayerPass pass(CacheLayer layer, const RowsChunk& chunk) override {
    const ChunkLists& lists = m_lists.back();
    const RowPool& pool = m_store.pool(layer);
    const std::span<const std::int32_t> own = plain(m_job.slots[at(layer)].span());
    const bool kept = m_layers.layerOf(layer) == Layer(0) && keepsLayer0(m_chunk.front());
    LayerPass one = lists.shared;
    readFrom(one, pool);
    one.write = kept ? nullptr : pick(own);
    if (const int window = m_job.windows[at(layer)]) one.rowBegin = lists.windows.at(window).placed;
    one.slots = m_staging.in(flat() ? own : std::span<const std::int32_t>(lists.slots[at(layer)]));
    one.selfSlot = lists.anySelf() ? m_staging.in(lists.selfSlots[at(layer)]) : nullptr;
    if (!kept) m_result.bytes += chunk.n * pool.stride();
    return one;
  }

  /// Overwrites the embeddings of gist rows with gists from the tree.
  void complete(WholePass& whole, const RowsChunk&) override {
    whole.given = [this](float* x) {
      for (const std::int32_t row : m_chunk) {
        if (const TreeNode node = m_state.rows[at(row)].node; node.level) {
          const std::span<const float> gist = m_state.tree.gist(node);
          m_transformer.backend().upload(x, gist.data(), static_cast<std::int64_t>(gist.size_bytes()));
        }
        x += m_transformer.hidden();
      }
    };
  }

 private:
  bool flat() const { return m_state.rules.attention == WlodAttention::Flat; }
  TokenId tokenOf(std::int32_t row) const {
    return m_state.rows[at(row)].node.level ? TokenId(0) : m_job.tokenOf(m_state.ledger[at(row)]);
  }

  /// The rotary table row for a node: the centre of its span, blurred by half its span.
  std::int32_t phaseOf(TreeNode node) {
    return m_transformer.rotary().index(Phase(node.phase()), node.level ? m_state.rules.sigma * node.span() / 2 : 0.0);
  }

  const std::vector<std::int32_t>& beginsOf(const ChunkLists& lists, CacheLayer layer) const {
    const int window = m_job.windows[at(layer)];
    return window ? lists.windows.at(window).host : lists.begin;
  }

  bool keepsLayer0(std::int32_t row) const {
    return !m_job.keepsLayer0.empty() && m_job.keepsLayer0[at(row - m_job.from)];
  }

  void addBlock(ChunkLists& lists, const QueryBlock& block) {
    lists.rows.resize((lists.rows.size() + kernels::kAttentionBlock - 1) / kernels::kAttentionBlock *
                      kernels::kAttentionBlock);
    const auto begin = static_cast<std::int32_t>(lists.rows.size());
    lists.rows.insert(lists.rows.end(), block.rows.begin(), block.rows.end());
    for (std::size_t q = 0; q < block.queries.size(); ++q) {
      const auto query = at(std::lower_bound(m_chunk.begin(), m_chunk.end(), block.queries[q]) - m_chunk.begin());
      lists.begin[query] = begin;
      lists.end[query] = begin + block.seen[q];
      lists.self[query] = block.self[q];
      m_result.pairs += block.seen[q] + (block.self[q] ? 1 : 0);
    }
  }

  /// What the mask of a window lets through of each query's list, whose phases ascend.
  void addWindow(ChunkLists& lists, int window) {
    if (!window || lists.windows.contains(window)) return;
    ChunkLists::Begins& begins = lists.windows[window];
    const auto phase = [&](std::int32_t row) { return m_state.rows[at(row)].node.phase(); };
    for (std::size_t q = 0; q < m_chunk.size(); ++q) {
      const auto from = lists.rows.begin() + lists.begin[q], to = lists.rows.begin() + lists.end[q];
      const std::int32_t last = phase(m_chunk[q]) - window;
      const auto first = std::partition_point(from, to, [&](std::int32_t row) { return phase(row) <= last; });
      begins.host.push_back(static_cast<std::int32_t>(first - lists.rows.begin()));
    }
    begins.placed = m_staging.in(begins.host);
  }

  /// Makes the lists of the current chunk.
  void list() {
    ChunkLists& lists = m_lists.emplace_back();
    const std::size_t n = m_chunk.size();
    lists.begin.resize(n), lists.end.resize(n), lists.self.resize(n);
    for (const QueryBlock& block : m_coverage.blocks(m_chunk)) addBlock(lists, block);
    for (const int window : m_job.windows) addWindow(lists, window);
    if (!flat()) {  // flat attention reads the state's own columns
      for (const std::int32_t row : lists.rows) lists.phases.push_back(m_phases[at(row)]);
      for (const Column<Slot>& column : m_job.slots) {
        std::vector<std::int32_t>&slots = lists.slots.emplace_back(), &self = lists.selfSlots.emplace_back();
        for (const std::int32_t row : lists.rows) slots.push_back(column[at(row)].value());
        for (std::size_t q = 0; q < n; ++q) self.push_back(lists.self[q] ? column[at(m_chunk[q])].value() : -1);
      }
    }
    LayerPass& shared = lists.shared;
    shared.phase = pick(m_phases);
    shared.rowBegin = m_staging.in(lists.begin);
    shared.rowEnd = m_staging.in(lists.end);
    shared.phases = m_staging.in(flat() ? m_phases : lists.phases);
    shared.rows = static_cast<std::int64_t>(lists.rows.size());
  }

  /// Uploads the values of the chunk's rows.
  const std::int32_t* pick(std::span<const std::int32_t> values) {
    if (at(m_chunk.back() - m_chunk.front()) + 1 == m_chunk.size())
      return m_staging.in(values.subspan(at(m_chunk.front()), m_chunk.size()));
    std::vector<std::int32_t>& picked = m_picked.emplace_back();
    for (const std::int32_t row : m_chunk) picked.push_back(values[at(row)]);
    return m_staging.in(picked);
  }

  CacheStore& m_store;
  const WlodJob& m_job;
  const WlodState& m_state;
  Coverage m_coverage;
  std::int32_t m_newest = 0;           // row of the last entry
  std::vector<std::int32_t> m_phases;  // [rows] rows of the rotary table
  std::vector<std::int32_t> m_list;    // rows to compute, ascending
  std::span<const std::int32_t> m_chunk;
  std::deque<ChunkLists> m_lists;  // [chunks]; a deque keeps addresses valid
  std::deque<std::vector<std::int32_t>> m_picked;
  const ChunkLists* m_newestLists = nullptr;  // its last query is the newest entry
  WlodResult m_result;
};

}  // namespace

Result<WlodResult> computeWlodRows(Transformer& transformer, CacheStore& store, FaultDoor& faults, const WlodJob& job,
                                   const Progress& progress) {
  if (job.from >= job.state.count()) return WlodResult{};
  return CoveredRows(transformer, store, faults, job).run(progress);
}

}  // namespace kvlab
