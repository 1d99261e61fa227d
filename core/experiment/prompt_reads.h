// SPDX-License-Identifier: Apache-2.0
// Reads the prompts of sweeps, each as rarely as possible. A policy decides when a prompt ends. So cells whose
// manifests differ in their policies alone go on from one session that has read the prompt and not ended it: a fork
// takes the cell's policies and ends the prompt there. What a policy gathers while tokens come (received attention,
// gates, the memory of an added policy) is gathered by a session whose policies gather the same, or more; what it looks
// at when the prompt ends is looked at once for all that ask for the same. Results have the bits of a session that
// reads the prompt alone. Any thread; several at a time.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/session/session.h"

namespace kvlab {

struct FutureMass;

class PromptReads {
 public:
  /// Seconds that sessions spent reading and looking, and tokens that they read.
  struct Work {
    double seconds = 0;
    std::int64_t tokens = 0;
  };

  /// most: bytes of rows that are kept for other cells. Beyond them, cells read their prompts alone.
  explicit PromptReads(std::int64_t most = std::int64_t{2} << 30);
  ~PromptReads();

  /// A cell with this manifest will come. Cells whose policies gather nothing then go on from a session that gathers
  /// for others. Before the first call of the functions below.
  void expect(const Session& host, const Manifest& manifest);

  /// A session under the manifest, behind the end of the prompt. `host` lends model and weights. shares = false: it
  /// reads alone, and its ticks are those of a session that was given the prompt. future: attention that an oracle
  /// policy is told; null = nothing. Errors: as for sessions.
  Result<std::unique_ptr<Session>> ended(const Session& host, const Manifest& manifest,
                                         const std::vector<TokenId>& prompt, std::shared_ptr<const FutureMass> future,
                                         bool shares);
  /// The work that ended() shares, ahead of it.
  Status ahead(const Session& host, const Manifest& manifest, const std::vector<TokenId>& prompt);
  Work work() const;

  /// Equal for manifests that share a read.
  std::string keyOf(const Manifest& manifest) const;

 private:
  struct Read;
  /// The manifest under which a prompt is read for this one: its own, or that of an expected cell that gathers more.
  const Manifest& readerOf(const Manifest& manifest) const;
  using Looks = std::shared_ptr<const PromptLooks>;
  /// A session with the manifest's policies whose prompt has not ended, and what they look at when it does.
  Result<std::pair<std::unique_ptr<Session>, Looks>> open(const Session& host, std::unique_ptr<Session> fresh,
                                                          const Manifest& manifest, const std::vector<TokenId>& prompt);
  Result<std::unique_ptr<Session>> forked(Read& read, std::unique_ptr<Session> fresh,
                                          const std::vector<TokenId>& prompt);
  Result<Looks> looked(Read& read, Session& session);
  /// ends: the prompt ends with its last token.
  Status append(Session& session, const std::vector<TokenId>& prompt, bool ends);
  Read& readOf(const std::string& key, const std::vector<TokenId>& prompt);
  bool hasRoom(std::int64_t bytes);
  void count(double seconds, std::int64_t tokens);

  std::map<std::string, Manifest> m_gatherers;  // of received attention, by what other manifests share with them
  mutable std::mutex m_mutex;                   // for the members below
  std::map<std::pair<std::string, std::vector<TokenId>>, std::unique_ptr<Read>> m_reads;
  const std::int64_t m_most;
  std::int64_t m_held = 0;  // bytes of rows that m_reads keep
  Work m_work;
};

}  // namespace kvlab
