// SPDX-License-Identifier: Apache-2.0
#include "core/selftest/self_test_room.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/model/files/strict_json.h"
#include "core/verbs/verbs.h"
#include "kernels/backend/cuda_ops.h"
#include "kernels/numerics.h"

namespace kvlab {
namespace {

using nlohmann::json;

constexpr std::size_t kMostTokens = 1024, kLeastTokens = 48;
constexpr std::size_t kMostBytesOfText = std::size_t{16} << 20;

/// The story that the demo model was trained on the like of, or plain English.
std::string textFor(const SelfTestOrder& order) {
  if (!order.text.empty()) return order.text;
  const bool demo = order.manifest.value("model", "demo") == "demo";
  return order.resources + (demo ? "/selftest/demo.txt" : "/selftest/text.txt");
}

json manifestWith(const json& given, const json& more) {
  json out = given;
  if (!out.contains("capacity")) out["capacity"] = kMostTokens;
  if (!out.contains("check")) out["check"] = {{"level", "off"}};
  if (!out.contains("history_bytes")) out["history_bytes"] = 0;
  out.update(more);
  return out;
}

}  // namespace

Result<SelfTestRoom> SelfTestRoom::open(SelfTestOrder order) {
  SelfTestRoom out;
  out.m_order = std::move(order);
  out.m_session = KV_TRY(out.session());
  const std::string path = textFor(out.m_order);
  const std::string text = KV_TRY(readFile(path, "unreadable_file", kMostBytesOfText));
  const std::vector<TokenId> tokens = KV_TRY(out.m_session->model().tokenizer().encode(text, true));
  const auto room = static_cast<std::size_t>(std::max(1, out.config().maxPositions));
  for (std::size_t i = 0; i < std::min({tokens.size(), kMostTokens, room}); ++i) out.m_ids.push_back(tokens[i].value());
  if (out.m_ids.size() >= kLeastTokens) return out;
  return Error("short_text", "no test was run", path + " gives " + std::to_string(out.m_ids.size()) + " tokens",
               "give a text of " + std::to_string(kLeastTokens) + " tokens or more", "text", path);
}

Result<std::unique_ptr<Session>> SelfTestRoom::session(const json& more) const {
  const Manifest manifest = KV_TRY(Manifest::fromJson(manifestWith(m_order.manifest, more)));
  std::unique_ptr<Session> session = KV_TRY(openSession(manifest, m_order.resources, m_order.progress));
  if (m_order.opened) KV_TRY(m_order.opened(*session));
  return session;
}

Result<std::unique_ptr<Session>> SelfTestRoom::prompted(std::span<const std::int32_t> ids, const json& more) const {
  std::unique_ptr<Session> out = KV_TRY(session(more));
  KV_TRY(readIds(*out, ids));
  return out;
}

bool SelfTestRoom::rounds() const {
  const std::string& chosen = m_session->manifest().numerics;
  return kernels::dtypeHasScale(m_session->model().layer(Layer(0)).q.dtype) || chosen == kernels::kBf16NumericsId ||
      chosen == kernels::kQ8NumericsId || chosen == kernels::kCudaFastId;
}

std::size_t SelfTestRoom::affordable(std::size_t most) const {
  constexpr std::int64_t kSmall = 20'000'000;
  return config().parameters() < kSmall ? kMostTokens : most;
}

std::vector<std::int32_t> SelfTestRoom::ids(std::size_t most) const {
  return {m_ids.begin(), m_ids.begin() + static_cast<std::ptrdiff_t>(std::min(most, m_ids.size()))};
}

Status SelfTestRoom::tell(const std::string& what, std::int64_t done, std::int64_t all) const {
  if (report(m_order.progress, what, done, all)) return ok();
  return Error("cancelled", "the tests were stopped", "in the test " + what, "start them again");
}

Status readIds(Session& session, std::span<const std::int32_t> ids) {
  KV_TRY(execute(session, "promptIds", {{"ids", std::vector(ids.begin(), ids.end())}}));
  return ok();
}

Status stepIds(Session& session, std::span<const std::int32_t> ids) {
  for (const std::int32_t id : ids) KV_TRY(execute(session, "step", {{"tokens", {id}}}));
  return ok();
}

std::vector<float> logitsOf(const Session& session) {
  return session.state().logits ? *session.state().logits : std::vector<float>();
}

double logitsApart(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size() || a.empty()) return std::numeric_limits<double>::quiet_NaN();
  double mean = 0, square = 0, apart = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    const double x = b[i];
    mean += x;
    square += x * x;
    const double here = std::abs(static_cast<double>(a[i]) - x);
    if (std::isnan(here)) return here;
    apart = std::max(apart, here);
  }
  mean /= static_cast<double>(b.size());
  const double spread = std::sqrt(std::max(0.0, square / static_cast<double>(b.size()) - mean * mean));
  return apart == 0 ? 0 : apart / std::max(spread, 1e-12);
}

}  // namespace kvlab
