// SPDX-License-Identifier: Apache-2.0
#include "core/lanes/batch.h"

#include <algorithm>

#include "core/verbs/verbs.h"

namespace kvlab {
namespace {

using nlohmann::json;

bool endsText(const Session& session, const json& report) {
  const std::vector<TokenId> eos = session.model().tokenizer().eos();
  return report.contains("token") && report["token"].is_number() &&
      std::find(eos.begin(), eos.end(), TokenId(report["token"].get<std::int32_t>())) != eos.end();
}

}  // namespace

Result<std::unique_ptr<Batch>> Batch::around(std::unique_ptr<Session>& origin, int size, bool together) {
  std::unique_ptr<Batch> batch(new Batch);
  batch->m_sequences.resize(at(size));
  for (int i = 1; i < size; ++i) {
    Result<std::unique_ptr<Session>> fork = origin->fork(origin.get());
    if (!fork) return in("sequence", i, fork.error());
    batch->m_sequences[at(i)].session = fork.take();
  }
  silence(*origin);
  batch->m_sequences[0].session = std::move(origin);
  batch->openPasses(together);
  return batch;
}

Result<std::unique_ptr<Batch>> Batch::fork() const {
  std::unique_ptr<Batch> copy(new Batch);
  const Session* first = nullptr;
  for (const Sequence& sequence : m_sequences) {
    Sequence& own = copy->m_sequences.emplace_back();
    own.exit = sequence.exit;
    if (!sequence.session) continue;
    Result<std::unique_ptr<Session>> session = sequence.session->fork(first);
    if (!session) return in("sequence", copy->size() - 1, session.error());
    own.session = session.take();
    if (!first) first = own.session.get();
  }
  copy->openPasses(m_passes.wanted());
  return copy;
}

void Batch::openPasses(bool together) {
  std::vector<Session*> all;
  for (const Sequence& sequence : m_sequences)
    if (sequence.session) all.push_back(sequence.session.get());
  m_passes.open(all, together);
}

Status Batch::there(int sequence) const {
  const bool known = sequence >= 0 && sequence < size();
  if (known && !released(sequence)) return ok();
  return Error("bad_argument", "the sequence was not called",
               known ? "sequence " + std::to_string(sequence) + " was released"
                     : "sequence " + std::to_string(sequence) + " is none of the " + std::to_string(size()),
               "give a sequence from 0 to " + std::to_string(size() - 1) + " that was not released", "sequence",
               sequence);
}

int Batch::shown() const {
  int first = 0;
  while (released(first)) ++first;
  return first;
}

bool Batch::steps() const {
  return std::any_of(m_sequences.begin(), m_sequences.end(),
                     [](const Sequence& one) { return one.session && !one.exit; });
}

Result<std::unique_ptr<Session>> Batch::keep(int sequence) {
  KV_TRY(there(sequence));
  m_passes.close();
  Session& kept = *m_sequences[at(sequence)].session;
  kept.publisher().startAfter(snapshot()->serial);
  kept.publish();
  return std::move(m_sequences[at(sequence)].session);
}

Status Batch::release(int sequence) {
  KV_TRY(there(sequence));
  const auto left =
      std::count_if(m_sequences.begin(), m_sequences.end(), [](const auto& one) { return !!one.session; });
  if (left == 1)
    return Error("blocked", "the sequence was not released", "it is the last one of the batch", "close the batch");
  const std::uint64_t serial = snapshot()->serial;
  m_passes.close();
  m_sequences[at(sequence)] = {};
  openPasses(m_passes.wanted());
  Session& first = shownSession();
  first.publisher().startAfter(serial);
  first.publish();
  publish();
  return ok();
}

/// Runs the call in every sequence that takes part. An outcome with an error has changed nothing but what the verb
/// says.
BatchTick Batch::runAll(const std::function<bool(int)>& takes, const Call& call) {
  BatchTick out;
  out.sequences.resize(m_sequences.size());
  std::vector<int> taking;
  std::vector<Session*> sessions;
  for (int i = 0; i < size(); ++i) {
    if (released(i) || !takes(i)) continue;
    out.sequences[at(i)].took = true;
    taking.push_back(i);
    sessions.push_back(m_sequences[at(i)].session.get());
  }
  const auto job = [&](std::size_t i) -> std::optional<Error> {
    Result<json> done = call(*sessions[i], taking[i]);
    if (done) out.sequences[at(taking[i])].report = done->is_array() ? done->back() : *done;
    return failureOf(done);
  };
  std::vector<PassGroup::Outcome> outcomes = m_passes.run(sessions, job);
  for (std::size_t i = 0; i < taking.size(); ++i) out.sequences[at(taking[i])].error = std::move(outcomes[i].error);
  out.passes = m_passes.last();
  return out;
}

BatchTick Batch::step(const std::vector<TokenId>& forced) {
  BatchTick out = runAll([this](int i) { return !exit(i); },
                         [&](Session& session, int i) {
                           json args = json::object();
                           if (!forced.empty()) args["tokens"] = {forced[at(i)].value()};
                           return execute(session, "step", args);
                         });
  for (int i = 0; i < size(); ++i) {
    const BatchTick::Outcome& one = out.sequences[at(i)];
    if (!one.took) continue;
    const Tick now = session(i).state().tick;
    if (one.error) m_sequences[at(i)].exit = SequenceExit{now, "error", one.error};
    else if (endsText(session(i), one.report)) m_sequences[at(i)].exit = SequenceExit{now, "end_of_text"};
  }
  publish();
  return out;
}

BatchTick Batch::prompt(const std::vector<json>& prompts) {
  BatchTick out = runAll([&](int i) { return !prompts[at(i)].is_null(); },
                         [&](Session& session, int i) {
                           const json& one = prompts[at(i)];
                           return one.is_array() ? execute(session, "promptIds", {{"ids", one}})
                                                 : execute(session, "prompt", {{"text", one}});
                         });
  for (int i = 0; i < size(); ++i)
    if (out.sequences[at(i)].took && !out.sequences[at(i)].error) m_sequences[at(i)].exit.reset();
  publish();
  return out;
}

Result<json> Batch::call(int sequence, const std::string& verb, const json& args) {
  KV_TRY(there(sequence));
  Sequence& one = m_sequences[at(sequence)];
  const SnapshotPtr before = one.session->snapshot();
  Result<json> result = execute(*one.session, verb, args);
  if (one.session->snapshot() == before) return result;  // the verb only read
  if (result) one.exit.reset();
  publish();
  return result;
}

}  // namespace kvlab
