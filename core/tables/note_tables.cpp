// SPDX-License-Identifier: Apache-2.0
// Tables of a person's settings, and of the available choices.
#include "core/bugs/bug_kind.h"
#include "core/session/breakpoints.h"
#include "core/session/notes.h"
#include "core/session/watches.h"
#include "core/tables/tables.h"

namespace kvlab {
namespace {

template <class List>
Status recordRows(const List& views, TableRows& out) {
  if (views)
    for (const auto& one : *views) out.addRecord(toJson(one));
  return ok();
}

Status breakRows(const Session& session, VerbArgs&, TableRows& out) {
  return recordRows(session.breakpoints().views(), out);
}
Status watchRows(const Session& session, VerbArgs&, TableRows& out) {
  return recordRows(session.watches().views(), out);
}
Status noteRows(const Session& session, VerbArgs&, TableRows& out) {
  return recordRows(session.notes().views(session.timeline()), out);
}

Status bugRows(const Session&, VerbArgs&, TableRows& out) {
  for (const BugKind& bug : bugKinds()) out.add({bug.name, bug.title});
  return ok();
}

Status factRows(const Session&, VerbArgs&, TableRows& out) {
  for (const Fact& fact : facts())
    out.add({fact.name, fact.keys,
             fact.type() == ValueType::Number     ? "number"
                 : fact.type() == ValueType::Flag ? "flag"
                                                  : "text",
             fact.help});
  return ok();
}

}  // namespace

std::span<const TableSource> noteTables() {
  using enum ColumnType;
  const ColumnInfo id{"id", Integer, "its number"};
  static const TableSource kTables[] = {
      {{"breaks",
        {},
        {id,
         {"condition", Text, "in the expression language"},
         {"ignore", Integer, "so many times more it does not stop yet"},
         {"once", Flag, "it goes when it has stopped a run"},
         {"log", Flag, "it writes a line to the log instead of stopping"},
         {"enabled", Flag, "it is asked"},
         {"hits", Integer, "how often it has held"},
         {"last", Integer, "tick at which it held last; null = never"}},
        "The breakpoints."},
       breakRows},
      {{"watches",
        {},
        {id,
         {"expression", Text, "in the expression language"},
         {"value", Value, "a number, a text, true or false; null where it is not known"}},
        "The watches with their values now."},
       watchRows},
      {{"notes",
        {},
        {id,
         {"text", Text, "empty = a bookmark"},
         {"tick", Integer, "where it stands"},
         {"branch", Text, "on which it was written"},
         {"layer", Integer, "of the model; null where it names none"},
         {"kvHead", Integer, "of the layer; null where it names none"},
         {"ledger", Integer, "the row; null where it names none"},
         {"here", Flag, "the state lies on the way to the present one, or is that one"},
         {"lost", Flag, "the history does not have the state any more"}},
        "The notes and bookmarks."},
       noteRows},
      {{"bugs",
        {},
        {{"name", Text, "as the verb bug takes it"}, {"title", Text, "what goes wrong"}},
        "The bugs of KV caches that can be planted."},
       bugRows},
      {{"facts",
        {},
        {{"name", Text, "as expressions write it"},
         {"keys", Text, "what its brackets compare"},
         {"type", Text, "number, flag or text"},
         {"help", Text, "what it says"}},
        "The facts that expressions can ask for."},
       factRows},
  };
  return kTables;
}

}  // namespace kvlab
