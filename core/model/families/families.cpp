// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/api/texts.h"
#include "core/model/families/family.h"

namespace kvlab {

#define KVLAB_FAMILY(maker) Family maker();
#include "core/model/families/families.inc"
#undef KVLAB_FAMILY

namespace {

const std::vector<Family>& families() {
  static const std::vector<Family> all{
#define KVLAB_FAMILY(maker) maker(),
#include "core/model/families/families.inc"
#undef KVLAB_FAMILY
  };
  return all;
}

}  // namespace

const Family* familyOf(std::string_view type) {
  for (const Family& one : families())
    if (type == one.name || std::find(one.types.begin(), one.types.end(), type) != one.types.end()) return &one;
  return nullptr;
}

std::string familyNames() {
  std::vector<std::string> names = namesOf(families());
  std::sort(names.begin(), names.end());
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

std::string layerName(const std::string& prefix, Layer layer, const std::string& suffix) {
  return prefix + "layers." + std::to_string(layer.value()) + "." + suffix;
}

std::vector<TensorNeed> tensorNeeds(const ModelConfig& c, const std::string& prefix) {
  const std::int64_t d = c.hidden, vocab = c.vocab;
  std::vector<TensorNeed> needs{{prefix + "embed_tokens.weight", {vocab, d}}};
  for (const Layer l : idRange<Layer>(0, c.layers))
    for (const LayerTensor& one : familyOf(c.type)->tensors(c, l))
      needs.push_back({layerName(prefix, l, one.suffix), one.shape});
  needs.push_back({prefix + "norm.weight", {d}});
  if (!c.tieEmbeddings) needs.push_back({"lm_head.weight", {vocab, d}});
  return needs;
}

std::int64_t ModelConfig::parameters() const {
  std::int64_t sum = 0;
  for (const TensorNeed& need : tensorNeeds(*this)) {
    std::int64_t values = 1;
    for (const std::int64_t n : need.shape) values *= n;
    sum += values;
  }
  return sum;
}

}  // namespace kvlab
