// SPDX-License-Identifier: Apache-2.0
#include "core/state/ledger.h"

#include <algorithm>

namespace kvlab {

LedgerId Ledger::append(LedgerRow row) {
  const LedgerId id = nextId();
  const std::size_t within = m_size % kChunk;
  if (within == 0) {
    m_chunks.push_back(std::make_shared<Chunk>());
    m_chunks.back()->reserve(kChunk);
  }
  std::shared_ptr<Chunk>& tail = m_chunks.back();
  // Append in place only if this copy is the longest one: readers of shorter copies never read further.
  if (tail->size() != within) {
    auto own = std::make_shared<Chunk>();
    own->reserve(kChunk);
    own->assign(tail->begin(), tail->begin() + static_cast<std::ptrdiff_t>(within));
    tail = std::move(own);
  }
  tail->push_back(std::move(row));
  ++m_size;
  return id;
}

LedgerRow& Ledger::change(LedgerId id) {
  const auto i = static_cast<std::size_t>(id.value());
  std::shared_ptr<Chunk>& chunk = m_chunks[i / kChunk];
  if (chunk.use_count() > 1) {
    auto own = std::make_shared<Chunk>();
    own->reserve(kChunk);
    own->assign(chunk->begin(), chunk->end());
    chunk = std::move(own);
  }
  return (*chunk)[i % kChunk];
}

Ledger Ledger::ownCopy() const {
  Ledger copy = *this;
  for (std::size_t c = 0; c < copy.m_chunks.size(); ++c) {
    const std::size_t rows = std::min(kChunk, m_size - c * kChunk);
    auto own = std::make_shared<Chunk>();
    own->reserve(kChunk);
    own->assign(m_chunks[c]->begin(), m_chunks[c]->begin() + static_cast<std::ptrdiff_t>(rows));
    copy.m_chunks[c] = std::move(own);
  }
  return copy;
}

}  // namespace kvlab
