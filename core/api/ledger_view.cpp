// SPDX-License-Identifier: Apache-2.0
#include "core/api/ledger_view.h"

#include <algorithm>

namespace kvlab {
namespace {
constexpr std::string_view kSources[] = {"user", "prompt", "model", "replacement", "insertion", "file"};
constexpr std::string_view kStates[] = {"live",      "replaced", "deleted",    "evicted",
                                        "collapsed", "aborted",  "left_window"};
}  // namespace

std::string_view name(RowKind kind) { return kind == RowKind::Token ? "token" : "gist"; }
std::string_view name(RowState state) { return kStates[static_cast<std::size_t>(state)]; }
std::string_view name(Source source) { return kSources[static_cast<std::size_t>(source)]; }

std::shared_ptr<LedgerView::Chunk> LedgerView::newChunk(std::span<const LedgerRow> rows) {
  auto chunk = std::make_shared<Chunk>();
  chunk->reserve(kChunk);
  chunk->assign(rows.begin(), rows.end());
  return chunk;
}

/// A block without the chunks that only longer ledgers have.
std::shared_ptr<LedgerView::Block> LedgerView::copyOf(std::size_t block) const {
  const std::size_t chunks = std::min(kBlock, (m_size - block * kRows + kChunk - 1) / kChunk);
  auto own = std::make_shared<Block>();
  std::copy_n(m_blocks[block]->begin(), chunks, own->begin());
  return own;
}

LedgerId LedgerView::append(LedgerRow row) {
  const std::size_t block = m_size / kRows, chunk = m_size / kChunk % kBlock, within = m_size % kChunk;
  if (block == m_blocks.size()) m_blocks.push_back(std::make_shared<Block>());
  // In place only if no other ledger is longer: readers of shorter ledgers never read further.
  const Chunk* tail = (*m_blocks[block])[chunk].get();
  if (tail ? tail->size() != within : within > 0) {
    m_blocks[block] = copyOf(block);
    if (within > 0) (*m_blocks[block])[chunk] = newChunk(std::span(*tail).first(within));
  }
  std::shared_ptr<Chunk>& last = (*m_blocks[block])[chunk];
  if (!last) last = newChunk({});
  last->push_back(std::move(row));
  return LedgerId(static_cast<LedgerId::rep>(m_size++));
}

LedgerRow& LedgerView::change(LedgerId id) {
  const auto i = static_cast<std::size_t>(id.value());
  std::shared_ptr<Block>& block = m_blocks[i / kRows];
  if (block.use_count() > 1) block = copyOf(i / kRows);
  std::shared_ptr<Chunk>& chunk = (*block)[i / kChunk % kBlock];
  if (chunk.use_count() > 1) chunk = newChunk(std::span(*chunk).first(std::min(kChunk, m_size - i / kChunk * kChunk)));
  return (*chunk)[i % kChunk];
}

std::size_t LedgerView::alike(const LedgerView& other) const {
  const std::size_t both = std::min(m_size, other.m_size);
  std::size_t row = 0;
  while (row < both) {
    const Block &mine = *m_blocks[row / kRows], &theirs = *other.m_blocks[row / kRows];
    const std::size_t chunk = row / kChunk % kBlock;
    if (&mine == &theirs) row += kRows;
    else if (mine[chunk] == theirs[chunk]) row += kChunk;
    else break;
  }
  return std::min(row, both);
}

void LedgerView::unshare() {
  for (std::size_t b = 0; b < m_blocks.size(); ++b) {
    m_blocks[b] = copyOf(b);
    for (std::size_t c = 0; c < kBlock && b * kRows + c * kChunk < m_size; ++c) {
      std::shared_ptr<Chunk>& chunk = (*m_blocks[b])[c];
      chunk = newChunk(std::span(*chunk).first(std::min(kChunk, m_size - b * kRows - c * kChunk)));
    }
  }
}

std::int64_t LedgerView::bytesBeside(const LedgerView& other) const {
  std::size_t bytes = m_blocks.capacity() * sizeof(m_blocks[0]);
  for (std::size_t b = 0; b < m_blocks.size(); ++b) {
    const Block* theirs = b < other.m_blocks.size() ? other.m_blocks[b].get() : nullptr;
    if (m_blocks[b].get() == theirs) continue;
    bytes += sizeof(Block);
    for (std::size_t c = 0; c < kBlock; ++c)
      if (const auto& chunk = (*m_blocks[b])[c]; chunk && !(theirs && chunk == (*theirs)[c]))
        bytes += kChunk * sizeof(LedgerRow);
  }
  return static_cast<std::int64_t>(bytes);
}

}  // namespace kvlab
