// SPDX-License-Identifier: Apache-2.0
#include "core/kinds/wlod/edit/wlod_rows.h"

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>

#include "core/edit/row_driver.h"
#include "core/kinds/wlod/edit/wlod_given.h"

namespace kvlab {
namespace {

/// The lists of some rows of the pass, in cache layers that hold the same rows.
struct ListedAlike {
  struct Begins {
    std::vector<std::int32_t> host;  // [queries] later than those of the lists
    const std::int32_t* placed = nullptr;
  };
  SeenRows seen;
  std::vector<std::int32_t> phases;  // [rows]
  std::map<int, Begins> windows;     // by mask window: first rows that it lets through
  LayerPass shared;                  // arguments that these layers share
};

/// Rows that some chunks of the pass attend to in all layers. The passes hold addresses of the vectors, which stay.
struct ChunkLists {
  struct OfLayer {
    std::vector<std::int32_t> slots;     // [rows of the lists]
    std::vector<std::int32_t> self, to;  // [queries] slots of rows beside the lists, slots that the pass writes
    LayerPass pass;                      // arguments for all queries
  };
  std::size_t first = 0, end = 0;    // rows of the pass
  std::vector<std::int32_t> phases;  // [queries] rows of the rotary table
  std::deque<ListedAlike> alike;
  std::deque<OfLayer> layers;  // [cache layers]
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
    for (const WlodRow& row : m_state.rows)
      m_phases.push_back(transformer.rotary().index(Phase(row.node.phase()), m_state.rules.blurOf(row.node)));
    transformer.rotary().reach(m_state.tree.length());
    m_list = job.rows;
    for (std::int32_t row = job.from; job.rows.empty() && row < m_state.count(); ++row) m_list.push_back(row);
    for (const std::int32_t row : m_list) m_rows.push_back({m_state.ledger[at(row)], tokenOf(row), row, 0});
    m_newest = m_state.count() - 1;
    while (!m_state.rows[at(m_newest)].entry) --m_newest;  // summaries may follow the newest entry
    for (std::size_t layer = 0; layer < job.slots.size(); ++layer) {
      const auto same = std::find_if(m_firsts.begin(), m_firsts.end(),
                                     [&](std::size_t first) { return missing(first) == missing(layer); });
      m_alike.push_back(static_cast<std::size_t>(same - m_firsts.begin()));
      if (same == m_firsts.end()) m_firsts.push_back(layer);
    }
    transformer.rotary().reach(static_cast<std::int64_t>(m_state.context.length()));
    transformer.table();  // uploaded before a kernel reads it
    m_written.resize(store.layers().size());
    if (!job.scratch) placeCounters(store);
    if (job.scratch || job.layers) return;
    witness(store, [this](PassDeed& deed) {
      deed.given = std::make_shared<const WlodGiven>(m_state, m_job.slots[at(deed.layer)], missing(at(deed.layer)));
    });
  }

  Result<WlodResult> run(const Progress& progress) {
    static_cast<RowsBrought&>(m_result) = KV_TRY(byRows(progress));
    if (!m_job.scratch) settleCounts(m_store, m_written);
    m_result.rows = count();
    if (!m_result.attention) return std::move(m_result);
    NewestAttention& seen = *m_result.attention;
    for (std::size_t layer = 0; layer < seen.mass.size(); ++layer) {
      seen.mass[layer] = byRow(seen.mass[layer], layer, m_newestLists);
      seen.perHead[layer] = byRow(seen.perHead[layer], layer, m_newestLists);
      seen.receivedPerHead[layer] = byRow(seen.receivedPerHead[layer], layer, &m_lists.front());
    }
    return std::move(m_result);
  }

 protected:
  /// Either all rows of a chunk keep their layer 0, or none, and the queries of all or none count in sums. The newest
  /// entry is the last row of its chunk.
  RowsChunk chunk(std::int64_t begin, std::int64_t most) override {
    if (m_job.scratch) most = std::min(most, std::ssize(m_job.scratch->front()));
    const std::size_t first = at(begin), limit = std::min(m_list.size(), first + at(most));
    std::size_t end = first + 1;
    while (end < limit && m_list[end - 1] != m_newest && alike(m_list[end], m_list[first])) ++end;
    m_chunk = std::span<const std::int32_t>(m_list).subspan(first, end - first);
    if (m_lists.empty() || m_lists.back().end < end) list(first, sums() ? m_list.size() : end);
    const bool newest = m_chunk.back() == m_newest;
    if (newest) m_newestLists = &m_lists.back();
    return {begin, static_cast<std::int64_t>(m_chunk.size()), newest, counts(m_list[first])};
  }

  LayerPass pass(CacheLayer layer, const RowsChunk& chunk) override {
    const ChunkLists& lists = m_lists.back();
    LayerPass one = fromRow(lists.layers[at(layer)].pass, chunk.begin - static_cast<std::int64_t>(lists.first));
    if (m_layers.layerOf(layer) == Layer(0) && keepsLayer0(m_chunk.front())) one.write = nullptr;
    if (!one.write || m_job.scratch) return one;
    m_result.bytes += chunk.n * m_store.pool(layer).stride();
    m_written[at(layer)] += chunk.n;
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
  TokenId tokenOf(std::int32_t row) const {
    return m_state.rows[at(row)].node.level ? TokenId(0) : m_job.tokenOf(m_state.ledger[at(row)]);
  }
  const MissingRows& missing(std::size_t layer) const {
    static const MissingRows none;
    return m_job.missing.empty() ? none : m_job.missing[layer];
  }
  bool keepsLayer0(std::int32_t row) const {
    return !m_job.keepsLayer0.empty() && m_job.keepsLayer0[at(row - m_job.from)];
  }
  bool sums() const {
    return m_job.wanted.received != InLayers::None || m_job.wanted.receivedPerHead != InLayers::None;
  }
  bool counts(std::int32_t row) const {
    return m_state.rows[at(row)].node.level == 0 && m_state.ledger[at(row)] >= m_job.sumsFrom;
  }
  bool alike(std::int32_t a, std::int32_t b) const {
    return keepsLayer0(a) == keepsLayer0(b) && (!sums() || counts(a) == counts(b));
  }

  /// Attention by row of the state, [heads, rows], from that to the rows of lists and to the self row, [heads, .. + 1].
  std::vector<float> byRow(const std::vector<float>& lists, std::size_t layer, const ChunkLists* of) const {
    if (lists.empty() || !of) return {};
    const std::vector<std::int32_t>& rows = of->alike[m_alike[layer]].seen.rows;
    const std::size_t heads = lists.size() / (rows.size() + 1);
    std::vector<float> out(heads * at(m_state.count()));
    for (std::size_t head = 0; head < heads; ++head)
      for (std::size_t i = 0; i < rows.size(); ++i)
        out[head * at(m_state.count()) + at(rows[i])] += lists[head * (rows.size() + 1) + i];
    return out;
  }

  /// Makes the lists of the rows [first, end) of the pass.
  void list(std::size_t first, std::size_t end) {
    ChunkLists& lists = m_lists.emplace_back();
    lists.first = first, lists.end = end;
    const auto queries = std::span<const std::int32_t>(m_list).subspan(first, end - first);
    const std::vector<QueryBlock> blocks = m_coverage.blocks(queries);
    for (const QueryBlock& block : blocks)
      m_result.pairs += std::accumulate(block.seen.begin(), block.seen.end(), std::int64_t{0}) +
          std::count(block.self.begin(), block.self.end(), true);
    for (const std::int32_t row : queries) lists.phases.push_back(m_phases[at(row)]);
    for (const std::size_t layer : m_firsts) listAlike(lists.alike.emplace_back(), blocks, queries, missing(layer));
    for (const CacheLayer layer : m_layers.each()) listSlots(lists, layer, queries);
  }

  void listAlike(ListedAlike& alike, const std::vector<QueryBlock>& blocks, std::span<const std::int32_t> queries,
                 const MissingRows& missing) {
    alike.seen = seenRows(blocks, queries, missing);
    for (const int window : m_job.windows)
      if (window && !alike.windows.contains(window)) {
        ListedAlike::Begins& begins = alike.windows[window];
        begins.host = alike.seen.through(m_state, queries, window);
        begins.placed = m_staging.in(begins.host);
      }
    const bool whole = columnServes(missing);
    for (std::size_t i = 0; !whole && i < alike.seen.rows.size(); ++i)
      alike.phases.push_back(m_phases[at(alike.seen.rows[i])]);
    alike.shared.rowBegin = m_staging.in(alike.seen.begin);
    alike.shared.rowEnd = m_staging.in(alike.seen.end);
    alike.shared.phases = m_staging.in(whole ? m_phases : alike.phases);
    alike.shared.rows = static_cast<std::int64_t>(alike.seen.rows.size());
  }

  /// Flat attention reads the state's own columns where a layer holds every row.
  bool columnServes(const MissingRows& missing) const {
    return m_state.rules.attention == WlodAttention::Flat && missing.empty();
  }

  void listSlots(ChunkLists& lists, CacheLayer layer, std::span<const std::int32_t> queries) {
    const ListedAlike& alike = lists.alike[m_alike[at(layer)]];
    const Column<Slot>& column = m_job.slots[at(layer)];
    ChunkLists::OfLayer& own = lists.layers.emplace_back();
    own.pass = alike.shared;
    readFrom(own.pass, m_store.pool(layer), countersOf(layer, m_store.pool(layer)));
    own.pass.phase = m_staging.in(lists.phases);
    if (const int window = m_job.windows[at(layer)]) own.pass.rowBegin = alike.windows.at(window).placed;
    const bool whole = columnServes(missing(at(layer)));
    for (std::size_t i = 0; !whole && i < alike.seen.rows.size(); ++i)  // rows between two lists are not read
      own.slots.push_back(std::max(0, column[at(alike.seen.rows[i])].value()));
    own.pass.slots = m_staging.in(whole ? plain(column.span()) : std::span<const std::int32_t>(own.slots));
    bool beside = false, lacking = false;
    for (std::size_t q = 0; q < queries.size(); ++q) {
      const bool lacks = !missing(at(layer)).empty() && missing(at(layer))[at(queries[q])];
      const std::int32_t slot = column[at(queries[q])].value(),
                         spare = m_job.scratch ? spareSlot(layer, lists.first + q) : slot;
      own.to.push_back(spare);
      own.self.push_back(!alike.seen.self[q] ? -1 : lacks ? spare : slot);
      beside = beside || alike.seen.self[q];
      lacking = lacking || lacks;
    }
    if (beside) own.pass.selfSlot = m_staging.in(own.self);
    if (!m_job.scratch || lacking) own.pass.write = m_staging.in(own.to);
  }

  std::int32_t spareSlot(CacheLayer layer, std::size_t query) const {
    const std::vector<Slot>& slots = (*m_job.scratch)[at(layer)];
    return slots[query % slots.size()].value();
  }

  CacheStore& m_store;
  const WlodJob& m_job;
  const WlodState& m_state;
  Coverage m_coverage;
  std::int32_t m_newest = 0;           // row of the last entry
  std::vector<std::int32_t> m_phases;  // [rows] rows of the rotary table
  std::vector<std::int32_t> m_list;    // rows to compute, ascending
  std::vector<std::size_t> m_alike;    // [cache layers] place among the lists of layers that hold the same rows
  std::vector<std::size_t> m_firsts;   // one cache layer for each of these lists
  std::span<const std::int32_t> m_chunk;
  std::deque<ChunkLists> m_lists;             // in order; one list serves all chunks where attention is summed
  const ChunkLists* m_newestLists = nullptr;  // lists of the newest entry
  std::vector<std::int64_t> m_written;        // [cache layers] rows
  WlodResult m_result;
};

}  // namespace

Result<WlodResult> computeWlodRows(Transformer& transformer, CacheStore& store, FaultDoor& faults, const WlodJob& job,
                                   const Progress& progress) {
  if (job.from >= job.state.count()) return WlodResult{};
  return CoveredRows(transformer, store, faults, job).run(progress);
}

}  // namespace kvlab
