// SPDX-License-Identifier: Apache-2.0
// openvino.genai#3722, vllm#44701: a key collides, and the rows of another text are taken.
#include "core/bugs/bug_file.h"

namespace kvlab {
namespace {

void foreignRows(CacheState& state) {
  for (std::size_t i = 0, j = state.context.size(); i + 1 < j; ++i) {
    const LedgerId a = state.context[i], b = state.context[--j];
    std::swap(state.ledger.change(a).token, state.ledger.change(b).token);
  }
}

}  // namespace

KVLAB_BUG_KIND(foreign_rows, .imported = foreignRows)

}  // namespace kvlab
