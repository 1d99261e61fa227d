// SPDX-License-Identifier: Apache-2.0
// The bugs, each with reports of it, and their list, in the order in which lists show them.
#include "core/bugs/bug_kind.h"

#include <algorithm>
#include <cstring>
#include <ranges>

#include "core/model/decoder/frequencies.h"
#include "core/state/cache_state.h"
#include "kernels/row_checksum.h"
#include "kernels/row_quant.h"
#include "kernels/row_tag.h"

namespace kvlab {
namespace {

// Changes of the scales of stored rows, which are sealed again. For bugs of quantisation.

/// A head of K or V as it is stored.
struct HeadCodes {
  float& scale;
  std::span<std::uint8_t> codes;  // [headDim]
  kernels::DType type;
  bool key;
};

void seal(std::uint8_t* record, const kernels::RowLayout& layout) {
  const std::uint64_t sum = kernels::rowChecksum(record, layout.tag);
  std::memcpy(record + layout.checksum, &sum, sizeof sum);
}

/// Calls `change` for each quantised head of K and V of each row, which keeps its tag.
void changeScales(const WrittenBend& bend, const std::function<void(const HeadCodes&)>& change) {
  const kernels::RowFormat& format = bend.pool.format();
  const kernels::RowLayout layout = kernels::rowLayout(format);
  std::vector<std::uint8_t> record(at(bend.pool.stride()));
  for (const std::int32_t slot : bend.slots) {
    const Slot one(slot);
    bend.pool.readRecords({&one, 1}, record.data());
    const std::uint64_t tag = kernels::readTag(record.data(), layout, format);
    const auto changeAll = [&](kernels::DType type, std::int64_t codes, std::int64_t offset, bool key) {
      for (int head = 0; head < format.kvHeads && kernels::dtypeHasScale(type); ++head) {
        float scale = 0;
        std::uint8_t* place = record.data() + offset + head * 4;
        std::memcpy(&scale, place, 4);
        const std::size_t dim = at(format.headDim);
        change({scale, std::span(record).subspan(at(codes) + at(head) * dim, dim), type, key});
        std::memcpy(place, &scale, 4);
      }
    };
    changeAll(format.k, layout.k, layout.kScales, true);
    changeAll(format.v, layout.v, layout.vScales, false);
    kernels::writeTag(record.data(), layout, format, tag);
    seal(record.data(), layout);
    bend.pool.writeRecords({&one, 1}, record.data());
  }
}

/// The scales of K of some rows, [slots, kvHeads]; empty where K has none.
std::vector<float> keyScales(const RowPool& pool, std::span<const Slot> slots) {
  const kernels::RowFormat& format = pool.format();
  if (!kernels::dtypeHasScale(format.k)) return {};
  std::vector<std::uint8_t> records(slots.size() * at(pool.stride()));
  pool.readRecords(slots, records.data());
  std::vector<float> out(slots.size() * at(format.kvHeads));
  for (std::size_t i = 0; i < slots.size(); ++i)
    std::memcpy(out.data() + i * at(format.kvHeads),
                records.data() + i * at(pool.stride()) + kernels::rowLayout(format).kScales, at(format.kvHeads) * 4);
  return out;
}

/// Gives a row the scales of another one, as a copy does that counts bytes wrongly.
void takeScales(RowPool& pool, Slot from, Slot to) {
  const kernels::RowLayout layout = kernels::rowLayout(pool.format());
  const Slot both[] = {from, to};
  std::vector<std::uint8_t> records(2 * at(pool.stride()));
  pool.readRecords(both, records.data());
  std::uint8_t* own = records.data() + pool.stride();
  std::memcpy(own + layout.kScales, records.data() + layout.kScales, at(layout.tag - layout.kScales));
  seal(own, layout);
  pool.writeRecords(std::span(both).last(1), own);
}

/// mlx-lm PR#390, mlx-swift-lm PR#42: "128 or 129?"
void windowPlusOne(PassBend& bend) {
  for (std::int32_t& begin : bend.begin)
    if (bend.window > 0 && begin > 0) --begin;
}

/// VeloxQuant-MLX PR#463: the mask is not built for a single query.
void windowLostAtOne(PassBend& bend) {
  if (bend.window > 0 && bend.begin.size() == 1) bend.begin[0] = 0;
}

/// transformers PR#45940: the mask is as long as the window before that is filled.
void unfilledRingRead(PassBend& bend) {
  if (!bend.partly || bend.poolSlots == 0) return;
  bend.slots.push_back(bend.poolSlots - 1);
  bend.phases.push_back(0);
  for (std::int32_t& end : bend.end) end = static_cast<std::int32_t>(bend.slots.size());
}

/// transformers#43082: position ids of a later chunk begin at 0.
void chunkPositionsRestart(PassBend& bend) {
  if (bend.before == 0) return;
  const std::int32_t first = bend.phase.front();
  for (std::int32_t& phase : bend.phase) phase -= first;
}

/// nano-vllm PR#213: keys of the whole prompt are read while the first chunk alone is written.
void seesUnwrittenChunk(PassBend& bend) {
  if (bend.end.size() == 1) return;
  for (std::int32_t& end : bend.end) end = static_cast<std::int32_t>(bend.slots.size());
}

/// tt-metal#48899: history reaches the block size of the kernel, and what lies before the block is lost.
void blockEdgeLeak(PassBend& bend) {
  for (std::size_t i = 0; i < bend.end.size(); ++i)
    if (bend.end[i] % 64 == 1 && bend.end[i] > 64) bend.begin[i] = bend.end[i] - 1;
}

/// VeloxQuant-MLX#171, transformers#35350: the offset is the number of kept rows, not the position.
void positionIsRowCount(PassBend& bend) {
  for (std::size_t i = 0; i < bend.phase.size(); ++i) bend.phase[i] = bend.end[i] - 1;
}

/// ekryski/mlx-swift-lm PR#90: the write offset does not move.
void oneSlot(PassBend& bend) {
  for (std::int32_t& slot : bend.written) slot = bend.written.front();
}

/// FlashML/FreeToken PR#309, TensorRT-LLM PR#16916: codes are read without their scales.
void scaleIsOne(const WrittenBend& bend) {
  changeScales(bend, [](const HeadCodes& head) { head.scale = 1; });
}

/// lablup/mlxcel PR#717: max(scale, 1).
void scaleFloor(const WrittenBend& bend) {
  changeScales(bend, [](const HeadCodes& head) {
    const float floored = std::max(head.scale, 1.0f);
    for (std::uint8_t& code : head.codes)
      code = kernels::quantCode(kernels::codeValue(code, head.type) * head.scale / floored, head.type);
    head.scale = floored;
  });
}

/// tt-metal#54413, mlx#3856: rows stay zero at some lengths. The tag is written, so that no map looks wrong.
void zeroedRows(const WrittenBend& bend) {
  if (bend.length % 32 != 0 || bend.slots.empty()) return;
  const std::vector<float> zero(at(bend.pool.width()), 0.0f);
  std::uint64_t tag = 0;
  bend.pool.readTags(bend.slots.last(1), &tag, nullptr);
  bend.pool.write(bend.slots.last(1), zero.data(), zero.data(), &tag);
}

/// vllm#37076, sglang PR#27586: a block that is in use goes back to the pool.
void slotFreedTwice(StateBend& bend) {
  const CacheLayer layer(0);
  const ResidencyView& map = bend.state.map(layer);
  if (map.resident() == 0) return;
  LayerSlots back(bend.state.groupOf.size());
  back[0].push_back(map.slotOf[at(map.first)]);
  bend.store.release(back);
}

/// transformers#46629, mlx-lm PR#1109: rejected tokens leave the context, and a ring that has wrapped goes on behind
/// them.
void trimAfterWrapIgnored(StateBend& bend) {
  if (!bend.cutsTail()) return;
  for (const CacheLayer layer : bend.state.layers())
    bend.state.groups[at(bend.state.groupOf[at(layer)])].ring = bend.before.group(layer).ring;
}

/// lablup/mlxcel#994: a rollback counts the accepted tokens among the rejected ones.
void rewindTwoTooMany(StateBend& bend) {
  if (!bend.cutsTail()) return;
  for (const CacheLayer layer : bend.state.layers() | std::views::drop(1)) {
    ResidencyView& map = ownMap(bend.state, layer);
    for (int i = 0; i < 2 && map.resident() > 1; ++i) {
      map.ledger = map.ledger.prefix(map.ledger.size() - 1);
      map.phases = map.phases.prefix(map.phases.size() - 1);
      map.slotOf = map.slotOf.prefix(map.slotOf.size() - 1);
    }
  }
}

/// transformers#47433: crop(0) keeps all rows, and crop(-5) of 3 rows keeps 1.
void cropZero(StateBend& bend) {
  if (!bend.cutsTail()) return;
  bend.state.groups = bend.before.groups;
  bend.state.groupOf = bend.before.groupOf;
}

/// llama.cpp PR#24875, vllm PR#27431: keys keep the short factors when the context needs the long ones.
std::int64_t ropeFactorSwitch(const ModelConfig& config, std::int64_t reach) {
  for (const Rope& rope : config.ropes)
    if (rope.followsLength()) reach = std::min(reach, lengthOfChange(rope));
  return reach;
}

/// llama.cpp#5652, koboldcpp#2088: keys that are quantised are turned as codes.
void shiftOfCodes(const CacheState& state, CacheStore& store, const std::function<void()>& turn) {
  std::vector<std::vector<float>> before;
  for (const CacheLayer layer : state.layers())
    before.push_back(keyScales(store.pool(layer), state.map(layer).residentSlots()));
  turn();
  for (const CacheLayer layer : state.layers()) {
    std::size_t next = 0;
    changeScales({store.pool(layer), plain(state.map(layer).residentSlots()), state.length()},
                 [&](const HeadCodes& head) {
                   if (head.key) head.scale = before[at(layer)][next++];
                 });
  }
}

/// vllm#49716, kvcached#424: the stride of scales is counted without what pads a page.
void scaleOfNeighbour(const WrittenBend& bend) {
  if (bend.length <= 64 || bend.slots.empty() || bend.slots.back() == 0) return;
  takeScales(bend.pool, Slot(bend.slots.back() - 1), Slot(bend.slots.back()));
}

/// Avarok/atlas#1193, tvm PR#16666: two states share the page of their last rows, and one of them writes to it.
void sharedTailPage(StateBend& bend) {
  if (!bend.cutsTail()) return;
  bend.store.release(bend.freed);
  bend.freed = LayerSlots(bend.state.groupOf.size());
}

/// sglang#27789, PR#27586: the count of free pages is one short after each eviction.
void pageLeak(StateBend& bend) {
  for (std::vector<Slot>& freed : bend.freed)
    if (!freed.empty()) return freed.pop_back();
}

/// kvcached#362, vllm#49449: a state is found again after its rows were overwritten.
void keptStateOutlived(StateBend& bend) { bend.store.keepLate(); }

/// openvino.genai#3722, vllm#44701: a key collides, and the rows of another text are taken.
void foreignRows(CacheState& state) {
  for (std::size_t i = 0, j = state.context.size(); i + 1 < j; ++i) {
    const LedgerId a = state.context[i], b = state.context[--j];
    std::swap(state.ledger.change(a).token, state.ledger.change(b).token);
  }
}

/// lmdeploy#4917, vllm#42125: weights change, and the rows that older weights made stay.
std::shared_ptr<const PlacedWeights> weightsSwapped(std::shared_ptr<const PlacedWeights> weights) {
  const Layer last(weights->model().config().layers - 1);
  const LayerWeights& before = weights->layer(Layer(last.value() - 1));
  return PlacedWeights::withLayer(weights, last, before);
}

/// KVCache-Factory#54, VeloxQuant-MLX PR#367: the policy decides, and its decision never reaches the cache.
void policyNeverRan(std::vector<Evict>& evictions) { evictions.clear(); }

/// llama-cpp-turboquant#78, ONNXim PR#34: query heads are dealt to KV heads in turn.
void wrongHeadGroup(const HeadsBend& bend) {
  const std::int64_t dim = bend.headDim;
  std::vector<float> row(at(bend.heads * dim));
  for (std::int64_t i = 0; i < bend.n; ++i) {
    float* values = bend.values + i * bend.stride;
    for (std::int64_t head = 0; head < bend.heads; ++head) {
      const std::int64_t dealt = head % bend.kvHeads * (bend.heads / bend.kvHeads) + head / bend.kvHeads;
      const std::int64_t from = bend.back ? dealt : head, to = bend.back ? head : dealt;
      std::copy_n(values + from * dim, dim, row.data() + to * dim);
    }
    std::ranges::copy(row, values);
  }
}

constexpr BugKind kBugs[] = {
    {.name = "window_plus_one", .title = "A query sees one row more than its window has", .pass = windowPlusOne},
    {.name = "window_lost_at_one", .title = "A pass of one row ignores the window", .pass = windowLostAtOne},
    {.name = "unfilled_ring_read",
     .title = "A ring that is not full yet is read beyond its rows",
     .pass = unfilledRingRead},
    {.name = "chunk_positions_restart",
     .title = "The second chunk of a prompt is turned from phase 0 on again",
     .pass = chunkPositionsRestart},
    {.name = "sees_unwritten_chunk",
     .title = "A chunk of a prompt sees the rows of the next one",
     .pass = seesUnwrittenChunk},
    {.name = "block_edge_leak", .title = "A query behind an edge of 64 rows begins at the edge", .pass = blockEdgeLeak},
    {.name = "position_is_row_count",
     .title = "After an eviction a new row is turned by the number of rows that are left",
     .pass = positionIsRowCount},
    {.name = "one_slot", .title = "Every row of a pass is written to the slot of the first", .pass = oneSlot},
    {.name = "scale_is_one",
     .title = "A quantised row loses its scales: 1 stands in their place",
     .written = scaleIsOne},
    {.name = "scale_floor", .title = "Scales of quantised rows are never below 1", .written = scaleFloor},
    {.name = "zeroed_rows", .title = "A row is left zero where the length is a multiple of 32", .written = zeroedRows},
    {.name = "slot_freed_twice", .title = "The slot of a row that stays is given back", .state = slotFreedTwice},
    // Lightning-AI/litgpt#2182, mlx-lm: a prompt longer than the window overwrites keys that its own queries need.
    {.name = "wrap_before_read",
     .title = "A chunk of a prompt overwrites rows in the ring that its own queries read",
     .fullLaps = true},
    {.name = "trim_after_wrap_ignored",
     .title = "Rows at the end leave the context, and the pointer of the ring stays",
     .state = trimAfterWrapIgnored},
    {.name = "rewind_two_too_many",
     .title = "Rows at the end leave the context, and two more leave every layer but the first",
     .state = rewindTwoTooMany},
    {.name = "crop_zero", .title = "Rows at the end leave the context, and the layers keep them", .state = cropZero},
    {.name = "rope_factor_switch",
     .title = "A context that has outgrown the short factors of rotation keeps them",
     .reach = ropeFactorSwitch},
    {.name = "shift_of_codes",
     .title = "Keys are turned to new phases as codes: their scales stay",
     .turning = shiftOfCodes},
    {.name = "scale_of_neighbour",
     .title = "Behind 64 rows a quantised row has the scales of the row before it",
     .written = scaleOfNeighbour},
    {.name = "shared_tail_page",
     .title = "The slots of rows that history keeps are given back",
     .state = sharedTailPage},
    {.name = "page_leak", .title = "The slot of a row that has left is never given back", .state = pageLeak},
    {.name = "kept_state_outlived",
     .title = "Rows that history needs are copied after they were overwritten",
     .state = keptStateOutlived},
    {.name = "foreign_rows", .title = "A loaded cache has the rows of other tokens", .imported = foreignRows},
    {.name = "weights_swapped", .title = "A layer gets other weights, and the rows stay", .weights = weightsSwapped},
    {.name = "policy_never_ran", .title = "What the eviction policy decides is not done", .evicted = policyNeverRan},
    {.name = "wrong_head_group",
     .title = "A query head reads KV head q % kvHeads in place of its group's",
     .heads = wrongHeadGroup},
};

}  // namespace

std::span<const BugKind> bugKinds() { return kBugs; }

const BugKind& bugDrawn(std::uint64_t seed) { return kBugs[kernels::mix64(seed + 1) % std::size(kBugs)]; }

const BugKind* bugNamed(std::string_view name) {
  const auto found = std::ranges::find(kBugs, name, &BugKind::name);
  return found == std::end(kBugs) ? nullptr : found;
}

}  // namespace kvlab
