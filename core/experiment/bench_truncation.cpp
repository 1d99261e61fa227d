// SPDX-License-Identifier: Apache-2.0
#include "core/experiment/bench_truncation.h"

#include <algorithm>

#include "core/session/requests.h"
#include "core/session/ticks.h"

namespace kvlab {

Result<Truncation> Truncation::open(const BenchOptions& options) {
  Manifest manifest = KV_TRY(Manifest::fromJson({{"model", "demo"},
                                                 {"backend", options.backend},
                                                 {"threads", threadsOf(options)},
                                                 {"probes", false},
                                                 {"check", {{"level", "off"}}}}));
  return Truncation(KV_TRY(openSession(manifest, options.resources)));
}

Result<std::vector<float>> Truncation::ask(std::span<const TokenId> text, const SweepQuestion& question,
                                           std::int64_t rows) {
  std::vector<TokenId> tokens = question.tokens;
  tokens.insert(tokens.end(), question.reply.begin(), question.reply.end() - 1);
  const std::int64_t room = std::clamp<std::int64_t>(rows - std::ssize(tokens), 0, std::ssize(text));
  const auto last = text.last(at(room));
  tokens.insert(tokens.begin(), last.begin(), last.end());
  const Tick before = m_session->state().tick;
  KV_TRY(failed(append(*m_session, tokens, Source::Prompt, false)));
  std::vector<float> logits = *m_session->state().logits;
  KV_TRY(goTo(*m_session, before));
  return logits;
}

}  // namespace kvlab
