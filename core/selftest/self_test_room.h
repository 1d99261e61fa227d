// SPDX-License-Identifier: Apache-2.0
// Parts that the self-tests of a model share: the tokens of a text, and sessions over the model. Engine thread.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/selftest/self_test.h"
#include "core/session/session.h"

namespace kvlab {

class SelfTestRoom {
 public:
  /// Errors: those of opening a session, unreadable_file, short_text.
  static Result<SelfTestRoom> open(SelfTestOrder order);

  const ModelConfig& config() const { return m_session->model().config(); }
  /// An empty session over the model; `more` stands over the keys of the manifest.
  Result<std::unique_ptr<Session>> session(const nlohmann::json& more = nlohmann::json::object()) const;
  /// The same, with a prompt of these ids.
  Result<std::unique_ptr<Session>> prompted(std::span<const std::int32_t> ids, const nlohmann::json& more) const;
  /// The weights on the back end of the tests.
  std::shared_ptr<const PlacedWeights> weights() const { return m_session->parts().weights; }
  kernels::Backend& backend() const { return *m_session->parts().backend; }
  /// Products are rounded to few digits, so that equal computations in another order differ.
  bool rounds() const;

  /// The first tokens of the text, or as many as there are.
  std::vector<std::int32_t> ids(std::size_t most) const;
  /// The number of tokens that a test may read repeatedly: all with a small model, else `most`.
  std::size_t affordable(std::size_t most) const;
  std::string file(const std::string& name) const { return m_order.folder + "/" + name; }
  /// Error: cancelled.
  Status tell(const std::string& what, std::int64_t done = 0, std::int64_t all = 0) const;

 private:
  SelfTestOrder m_order;
  std::unique_ptr<Session> m_session;  // opened once, so that the weights are placed once; nothing is computed in it
  std::vector<std::int32_t> m_ids;
};

// Calls of tests on sessions. Errors: those of the verbs.
Status readIds(Session& session, std::span<const std::int32_t> ids);
/// One tick for each token, which is added in place of the drawn one.
Status stepIds(Session& session, std::span<const std::int32_t> ids);
/// A copy; empty = there are none.
std::vector<float> logitsOf(const Session& session);

/// The largest difference of two lists of logits in parts of the spread of the second; not-a-number where the lengths
/// differ.
double logitsApart(std::span<const float> a, std::span<const float> b);

}  // namespace kvlab
