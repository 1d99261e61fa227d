// SPDX-License-Identifier: Apache-2.0
// Tables of a session as a whole: its state, its commits, its branches and edits.
#include <algorithm>

#include "core/session/edit_words.h"
#include "core/session/look_back.h"
#include "core/session/truth.h"
#include "core/tables/tables.h"
#include "core/verbs/verbs.h"

namespace kvlab {
namespace {

using nlohmann::json;

std::string contextText(const Session& session) {
  std::vector<TokenId> tokens;
  for (const LedgerId id : session.state().context) tokens.push_back(session.state().ledger[id].token);
  return session.model().tokenizer().decode(tokens);
}

Status stateRow(const Session& session, VerbArgs&, TableRows& out) {
  const std::int64_t left = session.kind().remaining(session.parts(), session.state());
  out.add({session.state().tick.value(), session.timeline().branch(), session.state().length(), left, left <= 0,
           out.wants("text") ? TableCell(contextText(session)) : TableCell(),
           out.wants("stateHash") ? TableCell(stateHash(session)) : TableCell()});
  return ok();
}

/// True if the row passes the condition.
bool addCommit(const Timeline& line, int id, const Sight& at, TableRows& out) {
  const Timeline::Entry& entry = line.entry(id);
  const TickReport* report = entry.report.get();
  return out.add(
      {id, entry.tick.value(), line.entry(line.commandOf(id)).verb, entry.edit == id ? entry.words : "",
       report && report->token ? TableCell(report->token->value()) : TableCell(),
       report ? TableCell(report->text) : TableCell(), report ? TableCell(report->actions.size()) : TableCell(),
       rowsGone(entry), report && report->error ? TableCell(report->error->code) : TableCell(), entry.kept != nullptr,
       id == line.currentId()},
      at);
}

/// The commits behind the entry `first` of the way to the present state.
std::vector<int> commitsBehind(const Timeline& line, int first) {
  std::vector<int> out = line.path(line.currentId(), first);
  out.erase(out.begin());
  return out;
}

/// The last entry of the way before a tick; the first of all where there is none.
int before(const Timeline& line, std::int64_t tick) {
  int out = 0;
  for (const int entry : line.path(line.currentId()))
    if (line.entry(entry).tick.value() < tick) out = entry;
  return out;
}

Status commitRows(const Session& session, VerbArgs& of, TableRows& out) {
  const Timeline& line = session.timeline();
  std::vector<int> commits = commitsBehind(line, before(line, of.integer("since")));
  if (of.flag("newest")) std::reverse(commits.begin(), commits.end());
  for (std::size_t i = 0; i < commits.size() && !out.full(); ++i) addCommit(line, commits[i], {}, out);
  return ok();
}

/// The same with facts. With the newest commits first, each search ends at a row that passes.
Status commitRowsSeen(Session& session, VerbArgs& of, TableRows& out) {
  if (!out.asksFacts()) return commitRows(session, of, out);
  const Timeline& line = session.timeline();
  const int first = before(line, of.integer("since"));
  LookBack back(session, [&out](Need need) { return out.needs(need); });
  if (!of.flag("newest")) {
    KV_TRY(back.firstOf(first, line.currentId(), [&](const Sight& at, int entry) {
      addCommit(line, entry, at, out);
      return out.full();
    }));
    return ok();
  }
  for (int last = line.currentId(); last > first && !out.full();) {
    // A search may see commits behind the one that it finds: only that one is added.
    TableRows probe = out;
    const int found = KV_TRY(back.lastOf(last, [&](const Sight& at, int entry) {
      TableRows one = out;
      const bool passed = entry > first && addCommit(line, entry, at, one);
      if (passed) probe = std::move(one);
      return passed;
    }));
    if (found < 0) return ok();
    out = std::move(probe);
    last = line.entry(found).parent;
  }
  return ok();
}

Status branchRows(const Session& session, VerbArgs&, TableRows& out) {
  const Timeline& line = session.timeline();
  for (const Timeline::Branch& branch : line.branches())
    out.add({branch.name, line.entry(branch.tip).tick.value(), branch.name == line.branch()});
  return ok();
}

Status editRows(const Session& session, VerbArgs& of, TableRows& out) {
  const Timeline& line = session.timeline();
  const auto list = [&](const char* way, const std::vector<Edit>& edits) {
    for (const Edit& edit : edits) out.add({way, edit.title, line.entry(edit.last).tick.value()});
  };
  const auto most = static_cast<std::size_t>(of.integer("most"));
  list("undo", editsBack(line, most));
  list("redo", editsAhead(line, most));
  return ok();
}

}  // namespace

std::span<const TableSource> tickTables() {
  using enum ColumnType;
  static const TableSource kTables[] = {
      {{"state",
        {},
        {{"tick", Integer, "ticks so far"},
         {"branch", Text, "the branch that goes on here"},
         {"length", Integer, "tokens in the context"},
         {"remaining", Integer,
          "tokens that still fit: free rows of the fullest cache layer, as far as the model's "
          "positions reach"},
         {"isFull", Flag, "remaining is 0: the next token is refused with capacity"},
         {"text", Text, "the live context"},
         {"stateHash", Text, "one number for everything that the session remembers, 32 hexadecimal digits"}},
        "The session as a whole: one row."},
       stateRow},
      {{"ticks",
        {arg::integer("since", 0, kMostTickAsked).orElse(0), arg::flag("newest", false)},
        {{"entry", Integer, "number of the commit in the history"},
         {"tick", Integer, "tick behind it"},
         {"verb", Text, "the command that made it"},
         {"words", Text, "the edit that begins with it, in words"},
         {"token", Integer, "id of the tick's token, of a block the last one"},
         {"text", Text, "text of the tick's tokens"},
         {"actions", Integer, "actions of the tick"},
         {"left", Integer, "rows that left layers, by an action or through a window"},
         {"failed", Text, "code of the error of a tick that failed"},
         {"kept", Flag, "its state is kept"},
         {"present", Flag, "its state is the present one"}},
        "The commits that led to the present state, from a tick on, oldest first or newest first. Facts speak of the "
        "state behind a commit, the one before it, and the tick between; dropped ticks are executed again for them.",
        Effect::Reads,
        FactsIn::Ticks},
       commitRows,
       commitRowsSeen},
      {{"branches",
        {},
        {{"name", Text, "of the branch"}, {"tick", Integer, "at its tip"}, {"current", Flag, "it goes on here"}},
        "The branches of the history."},
       branchRows},
      {{"edits",
        {arg::integer("most", 1, 1 << 20).orElse(100)},
        {{"way", Text, "undo or redo"}, {"title", Text, "the edit, in words"}, {"tick", Integer, "tick at its end"}},
        "The edits that undo and redo go over, nearest first."},
       editRows},
  };
  return kTables;
}

}  // namespace kvlab
