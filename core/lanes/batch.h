// SPDX-License-Identifier: Apache-2.0
// Several sequences over one model and one set of placed weights, stepped together. All begin as one session; from then
// on each is a session of its own, with tokens, policy and edits of its own, and has the bits that it would have alone.
// Forks share the pages of their common rows (Session::fork), and passes are made together where they can be
// (core/lanes/pass_group.h). Owned by one thread, which alone calls it.
//
// A sequence leaves when its text ends or a tick of it fails, for example because it is full; the others go on. It
// joins again when a verb gives it another state.
#pragma once
#include "core/lanes/pass_group.h"
#include "core/session/storage.h"

namespace kvlab {

/// The reason why a sequence is no longer stepped.
struct SequenceExit {
  Tick tick;
  std::string why;  // end_of_text or error
  std::optional<Error> error = {};
};

/// The result of one call of all sequences.
struct BatchTick {
  struct Outcome {
    bool took = false;           // false: the sequence took no part
    std::optional<Error> error;  // the error that ended it
    nlohmann::json report = {};  // report of the tick, else null
  };
  std::vector<Outcome> sequences;
  PassReport passes;
};

class Batch : public SessionGroup {
 public:
  /// Sequence 0 is the session itself, the others are forks of it. On error the caller keeps the session. Errors: those
  /// of Session::fork.
  static Result<std::unique_ptr<Batch>> around(std::unique_ptr<Session>& origin, int size, bool together = true);
  /// A copy of all sequences in their present state, to be used by any one thread. Errors: those of Session::fork.
  Result<std::unique_ptr<Batch>> fork() const;
  /// Returns the session of a sequence and ends the batch. Errors: bad_argument.
  Result<std::unique_ptr<Session>> keep(int sequence);
  /// Ends one sequence and frees its memory. Errors: bad_argument; blocked, if it is the last one.
  Status release(int sequence);

  int size() const { return static_cast<int>(m_sequences.size()); }
  /// Errors: bad_argument, if there is no such sequence or it was released.
  Status there(int sequence) const;
  bool released(int sequence) const { return !m_sequences[at(sequence)].session; }
  const Session& session(int sequence) const { return *m_sequences[at(sequence)].session; }
  Session& session(int sequence) { return *m_sequences[at(sequence)].session; }  // for measurements
  const std::optional<SequenceExit>& exit(int sequence) const { return m_sequences[at(sequence)].exit; }
  /// Some sequence would take part in a step.
  bool steps() const;
  /// The session that views show: of the first sequence that is not released.
  Session& shownSession() { return *m_sequences[at(shown())].session; }

  /// One tick of every sequence that has not left. forced, [size()]: tokens to take; empty = each generates its own.
  BatchTick step(const std::vector<TokenId>& forced = {});
  /// A prompt for each sequence, [size()]: a text, a list of token ids, or null for none. A prompt that is refused
  /// changes nothing.
  BatchTick prompt(const std::vector<nlohmann::json>& prompts);
  /// Runs any verb on one sequence. Errors: bad_argument and the verb's own.
  Result<nlohmann::json> call(int sequence, const std::string& verb, const nlohmann::json& args);
  /// The same on the sequence that views show: the first that is not released.
  Result<nlohmann::json> call(const std::string& verb, const nlohmann::json& args) { return call(shown(), verb, args); }

  SnapshotPtr snapshot() const { return session(shown()).snapshot(); }

 private:
  struct Sequence {
    std::unique_ptr<Session> session;  // null once released
    std::optional<SequenceExit> exit = {};
  };
  using Call = std::function<Result<nlohmann::json>(Session& session, int sequence)>;

  Batch() = default;
  int shown() const;
  void openPasses(bool together);
  BatchTick runAll(const std::function<bool(int sequence)>& takes, const Call& call);
  void publish() const {
    if (m_publish) m_publish(snapshot());
  }

  std::vector<Sequence> m_sequences;
  PassGroup m_passes;  // on the back end of the shown sequence: ends before the sequences
};

}  // namespace kvlab
