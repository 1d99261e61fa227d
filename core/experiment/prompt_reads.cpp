// SPDX-License-Identifier: Apache-2.0
#include "core/experiment/prompt_reads.h"

#include <atomic>

#include "core/api/stopwatch.h"
#include "core/policy/policy.h"
#include "core/session/settings.h"
#include "core/session/ticks.h"
#include "core/session/truth.h"

namespace kvlab {
namespace {

using nlohmann::json;

Status done(const TickReport& report) { return report.ok ? ok() : Status(*report.error); }

constexpr const char* kReceivedOnly = "received";

/// What a policy gathers while the tokens of a prompt come.
std::string gathered(const PolicySpec& spec) {
  const unsigned needs = needsOf(spec);
  if ((needs & kGates) || policyOf(spec.name).observes) return spec.toJson().dump();
  return needs & kReceived ? kReceivedOnly : "";
}

/// What all policies of a manifest gather.
json gatheredBy(const Manifest& manifest) {
  json out = json::array({gathered(manifest.policy)});
  for (const LayerOverride& one : manifest.layers)
    if (one.policy) out.push_back(json::array({one.from.value(), one.to.value(), gathered(*one.policy)}));
  return out;
}

/// Equal for manifests that differ in their policies alone.
std::string withoutPolicies(const Manifest& manifest) {
  json out = manifest.toJson();
  out.erase("policy");
  for (json& layer : out["layers"]) layer.erase("policy");
  out["by_head"] = manifest.residentByHead();
  return out.dump();
}

Status takePolicies(Session& session, const Manifest& manifest) {
  const json all = manifest.toJson();
  return changeSettings(session, {{"policy", all.at("policy")}, {"layers", all.at("layers")}});
}

/// Equal for policies that look at the same when a prompt ends; empty: they look at nothing.
std::string looksAt(const PolicyState& policies) {
  json out = json::array();
  bool any = false;
  for (const PolicySpec& spec : policies.specs) {
    const unsigned needs = needsOf(spec) & (kObserved | kMoments);
    out.push_back(needs ? json{needs, spec.observe, spec.sinks} : json());
    any |= needs != 0;
  }
  return any ? out.dump() : "";
}

}  // namespace

struct PromptReads::Read {
  std::mutex mutex;                  // for session
  std::unique_ptr<Session> session;  // null: nobody has read, or there was no room to keep it
  std::atomic<bool> alone = false;   // there was no room: each cell reads
  std::mutex looking;                // for looks
  std::map<std::string, Looks> looks;
};

PromptReads::PromptReads(std::int64_t most) : m_most(most) {}
PromptReads::~PromptReads() = default;

void PromptReads::expect(const Session& host, const Manifest& manifest) {
  if (gatheredBy(manifest) != json::array({kReceivedOnly})) return;
  const std::string shared = withoutPolicies(manifest);
  if (!m_gatherers.contains(shared) && host.beside(manifest)) m_gatherers.emplace(shared, manifest);
}

const Manifest& PromptReads::readerOf(const Manifest& manifest) const {
  if (gatheredBy(manifest) != json::array({""})) return manifest;
  const auto found = m_gatherers.find(withoutPolicies(manifest));
  return found == m_gatherers.end() ? manifest : found->second;
}

std::string PromptReads::keyOf(const Manifest& manifest) const {
  return withoutPolicies(manifest) + gatheredBy(readerOf(manifest)).dump();
}

PromptReads::Work PromptReads::work() const {
  const std::lock_guard lock(m_mutex);
  return m_work;
}

PromptReads::Read& PromptReads::readOf(const std::string& key, const std::vector<TokenId>& prompt) {
  const std::lock_guard lock(m_mutex);
  std::unique_ptr<Read>& out = m_reads[{key, prompt}];
  if (!out) out = std::make_unique<Read>();
  return *out;
}

bool PromptReads::hasRoom(std::int64_t bytes) {
  const std::lock_guard lock(m_mutex);
  if (m_held + bytes > m_most) return false;
  m_held += bytes;
  return true;
}

void PromptReads::count(double seconds, std::int64_t tokens) {
  const std::lock_guard lock(m_mutex);
  m_work.seconds += seconds;
  m_work.tokens += tokens;
}

Status PromptReads::append(Session& session, const std::vector<TokenId>& prompt, bool ends) {
  const Stopwatch watch;
  KV_TRY(done(kvlab::append(session, prompt, Source::Prompt, ends)));
  count(watch.seconds(), std::ssize(prompt));
  return ok();
}

/// `fresh` reads the prompt where nobody has.
Result<std::unique_ptr<Session>> PromptReads::forked(Read& read, std::unique_ptr<Session> fresh,
                                                     const std::vector<TokenId>& prompt) {
  std::unique_lock lock(read.mutex);
  if (read.session) return read.session->fork();
  if (read.alone) lock.unlock();
  KV_TRY(append(*fresh, prompt, false));
  if (read.alone || !hasRoom(fresh->snapshot()->bytes.live)) {
    read.alone = true;
    return fresh;
  }
  read.session = std::move(fresh);
  return read.session->fork();
}

Result<PromptReads::Looks> PromptReads::looked(Read& read, Session& session) {
  const std::string key = session.state().policy ? looksAt(*session.state().policy) : "";
  if (key.empty()) return Looks();
  const std::lock_guard lock(read.looking);
  Looks& looks = read.looks[key];
  if (looks) return looks;
  const Stopwatch watch;
  looks = KV_TRY(lookAtPromptEnd(session));
  count(watch.seconds(), 0);
  return looks;
}

Result<std::pair<std::unique_ptr<Session>, PromptReads::Looks>> PromptReads::open(const Session& host,
                                                                                  std::unique_ptr<Session> fresh,
                                                                                  const Manifest& manifest,
                                                                                  const std::vector<TokenId>& prompt) {
  Read& read = readOf(keyOf(manifest), prompt);
  if (const Manifest& reader = readerOf(manifest); &reader != &manifest) fresh = KV_TRY(host.beside(reader));
  std::unique_ptr<Session> session = KV_TRY(forked(read, std::move(fresh), prompt));
  KV_TRY(takePolicies(*session, manifest));
  Looks looks = KV_TRY(looked(read, *session));
  return std::pair(std::move(session), std::move(looks));
}

Status PromptReads::ahead(const Session& host, const Manifest& manifest, const std::vector<TokenId>& prompt) {
  std::unique_ptr<Session> fresh = KV_TRY(host.beside(manifest));
  if (!fresh->state().kind->derivesContext()) KV_TRY(open(host, std::move(fresh), manifest, prompt));
  return ok();
}

Result<std::unique_ptr<Session>> PromptReads::ended(const Session& host, const Manifest& manifest,
                                                    const std::vector<TokenId>& prompt,
                                                    std::shared_ptr<const FutureMass> future, bool shares) {
  std::unique_ptr<Session> fresh = KV_TRY(host.beside(manifest));
  if (!shares || fresh->state().kind->derivesContext()) {  // such a kind takes a prompt as a whole
    if (future) setFuture(*fresh, std::move(future));
    KV_TRY(append(*fresh, prompt, true));
    return fresh;
  }
  auto [session, looks] = KV_TRY(open(host, std::move(fresh), manifest, prompt));
  if (!session->state().policy) return std::move(session);
  if (future) setFuture(*session, std::move(future));
  KV_TRY(done(session->tick({.adds = Source::Prompt, .pass = PassKind::PromptEnd, .looks = std::move(looks)})));
  return std::move(session);
}

}  // namespace kvlab
