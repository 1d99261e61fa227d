// SPDX-License-Identifier: Apache-2.0
// nano-vllm PR#213: keys of the whole prompt are read while the first chunk alone is written.
#include "core/bugs/bug_file.h"

namespace kvlab {
namespace {

void seesUnwrittenChunk(PassBend& bend) {
  if (bend.end.size() == 1) return;
  for (std::int32_t& end : bend.end) end = static_cast<std::int32_t>(bend.slots.size());
}

}  // namespace

KVLAB_BUG_KIND(sees_unwritten_chunk, .pass = seesUnwrittenChunk)

}  // namespace kvlab
