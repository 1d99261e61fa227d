// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/explain_cache.h"

#include "core/verbs/verbs.h"

namespace kvlab {

Result<Explanation> explainCache(const ForeignCache& cache, nlohmann::json manifest, const std::string& resources,
                                 const ExplainAsk& ask) {
  manifest.update(explainingChanges());
  const Manifest opens = KV_TRY(Manifest::fromJson(manifest));
  std::unique_ptr<Session> session = KV_TRY(openSession(opens, resources, ask.progress));
  return explain(cache, std::move(session), ask);
}

}  // namespace kvlab
