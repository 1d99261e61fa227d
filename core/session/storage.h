// SPDX-License-Identifier: Apache-2.0
// Reports how the rows of an open session are stored, and moves them to other pools. Engine thread.
#pragma once
#include <map>

#include "core/model/decoder/row_codec.h"
#include "core/session/session.h"

namespace kvlab {

/// The storage of each cache layer's rows, [layers]; layers that are stored alike share one view.
std::vector<std::shared_ptr<const StorageView>> storageOf(const Session& session);

/// Memory that the pools of a session take, in bytes. Sessions share the pages of a group.
struct PoolMemory {
  std::int64_t own = 0, shared = 0;
  std::map<const void*, std::int64_t> groups = {};  // all pages of each
};
PoolMemory memoryOf(const Session& session);
/// Addresses of all slots of the pools, in bytes. Pages that nobody has written take no memory.
std::int64_t reservedBytes(const Session& session);

/// A commit of the content in pools made as parts.manifest says, see newPools(). The old pools stay until all rows are
/// over. Errors: those of newPools().
Result<Commit> carried(SessionParts& parts, const CacheState& before, std::vector<std::int32_t> rows = {});
/// Notes that codecs have moved all rows of a layer by up to so much since they were computed.
void noteCoded(CacheState& state, CacheLayer layer, const CodecChange& change);
/// Room for `more` rows in pools that have shrunk, up to what their layers may hold. No commit. Errors: out_of_memory.
Status growPools(Session& session, std::int32_t more);
/// If policies keep less than half of the rows that the pools have slots for, the pools shrink to the kept rows. No
/// commit.
void shrinkPools(Session& session);
/// [layers] rows that the pools have slots for, and pools for other numbers of them. No commit. If memory is short, the
/// pools stay as they are.
std::vector<std::int32_t> pooledRows(const Session& session);
void resizePools(Session& session, std::vector<std::int32_t> rows);
/// Manifest and row counts that the present pools were made from.
std::shared_ptr<const StoredAs> storedAs(const SessionParts& parts);
/// Pools as parts.manifest says, and a content with its rows in slots of theirs. The rows themselves are not there yet.
struct NewPools {
  CacheStore store;
  LayoutSet layouts;
  CacheState content;
};
/// rows: as in planStorage(). Errors: capacity, out_of_memory.
Result<NewPools> newPools(const SessionParts& parts, const CacheState& content, std::vector<std::int32_t> rows = {});
/// Makes them the session's. Takes no memory.
void install(SessionParts& parts, NewPools pools);
/// A layer's group with its rows in slots of another pool, in logical order, under the rules of a group there.
LayerGroup placedIn(LayerGroup group, const GroupRules& rules, SlotAllocator& slots, Tick now);
/// Another content of the session with its rows in slots of the present pools, which grow if they must.
Result<CacheState> placedAgain(Session& session, const CacheState& content);
/// Paged layers: fills pages by moving about `most` rows per layer. Slots are not part of the session's content:
/// compaction adds no entry to the history.
Result<Compaction> compact(Session& session, std::int64_t most);
/// Fills all pages, and takes the rows of older states out of them: whether rows fit then depends on nothing but the
/// content. False where no layer has pages, or where a draft holds its slots.
bool compactPages(Session& session);

/// The records of a layer's resident rows, in logical order: [rows][stride].
using StoredRows = std::vector<std::uint8_t>;
/// rowsIn reads the records from the slots that the state needs, [layers]; the inverse writes them back.
std::vector<StoredRows> rowsIn(const SessionParts& parts, const CacheState& state);
void writeRows(SessionParts& parts, const CacheState& state, const std::vector<StoredRows>& rows);

}  // namespace kvlab
