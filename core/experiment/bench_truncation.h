// SPDX-License-Identifier: Apache-2.0
// The baseline of a wLOD figure: the demo model with the last tokens of the text alone, in as many rows. No token in
// front is kept, and phases count from the first token that is left. One owner; one thread.
#pragma once
#include "core/experiment/bench_rig.h"
#include "core/experiment/prompt_set.h"

namespace kvlab {

class Truncation {
 public:
  static Result<Truncation> open(const BenchOptions& options);
  /// The logits before the deciding token of a reply, behind the last tokens of the text and the question: `rows` in
  /// all.
  Result<std::vector<float>> ask(std::span<const TokenId> text, const SweepQuestion& question, std::int64_t rows);
  Session& session() { return *m_session; }

 private:
  explicit Truncation(std::unique_ptr<Session> session) : m_session(std::move(session)) {}
  std::unique_ptr<Session> m_session;
};

}  // namespace kvlab
