// SPDX-License-Identifier: Apache-2.0
// llama-cpp-turboquant#78, ONNXim PR#34: query heads are dealt to KV heads in turn.
#include "core/bugs/bug_file.h"

#include <algorithm>

namespace kvlab {
namespace {

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

}  // namespace

KVLAB_BUG_KIND(wrong_head_group, .heads = wrongHeadGroup)

}  // namespace kvlab
