// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/base/session_script.h"

#include <algorithm>

#include "app/plain/script_lines.h"
#include "core/api/read_json.h"

namespace kvlab {

namespace {
using nlohmann::json;

bool changes(const VerbInfo& info) {
  const bool writes = std::any_of(info.args.begin(), info.args.end(), [](const ArgInfo& arg) { return arg.written; });
  return info.effect != Effect::Reads && info.effect != Effect::Measures && !writes && info.name != "stopCapture";
}

/// Ticks of a list of reports that were not cancelled.
std::int64_t ticksMade(const json& reports) {
  const json& last = element(reports, reports.size() - 1);
  const bool cancelled =
      !memberOr(last, "ok", true) && memberOr(member(last, "error"), "code", std::string()) == "cancelled";
  return static_cast<std::int64_t>(reports.size()) - cancelled;
}

/// Tokens of a prompt among the rows that the ledger has had since.
json promptIds(const SnapshotPtr& before, const SnapshotPtr& after) {
  json ids = json::array();
  const std::size_t first = before ? before->ledger.size() : 0;
  for (std::size_t id = first; after && id < after->ledger.size(); ++id) {
    const LedgerRow& row = after->ledger[LedgerId(static_cast<std::int32_t>(id))];
    if (row.kind == RowKind::Token && row.source == Source::Prompt) ids.push_back(row.token.value());
  }
  return ids;
}

}  // namespace

json argsDone(const std::string& verb, const json& args, const json& reply, const Snapshot* after) {
  json done = args.is_object() ? args : json::object();
  if (after && after->stage) return done;  // a breakpoint stopped inside a tick, and will again
  if (verb == "run" && reply.is_object()) {
    done.erase("reports");
    const json& reports = member(reply, "ticks");
    const std::int64_t unmade = static_cast<std::int64_t>(reports.size()) - ticksMade(reports);
    const std::int64_t count = memberOr(reply, "count", std::int64_t{0}) - unmade;
    if (count == 0) return nullptr;
    done["maxTicks"] = count;
  }
  if (verb == "step" && reply.is_array()) {
    const std::int64_t count = ticksMade(reply);
    if (count == 0) return nullptr;
    if (count < memberOr(done, "n", std::int64_t{1})) done["n"] = count;
  }
  return done;
}

SessionScript::SessionScript(std::vector<VerbInfo> verbs, const json& request) : m_verbs(std::move(verbs)) {
  add(QString::fromStdString("let " + openingLine(request) + ";"));
}

QString SessionScript::line(const std::string& verb, const json& args) const {
  return QString::fromStdString(callLine(m_verbs, verb, args));
}

void SessionScript::add(const QString& line) {
  if (line.isEmpty()) return;
  if (!m_lines.empty() && m_lines.back().text == line) ++m_lines.back().times;
  else m_lines.push_back({line});
}

/// A refused call may have changed something all the same: a cancelled prompt keeps the tokens that it has read, and a
/// drill's fault is used up.
QString SessionScript::refusedLine(const std::string& verb, const json& args, const Error& error,
                                   const SnapshotPtr& newest) const {
  if (newest == m_before) return {};
  if (error.code != "cancelled")
    return QString("expectError(() => %1, \"%2\");").arg(line(verb, args), error.code.c_str());
  const VerbInfo* info = infoOf(m_verbs, verb);
  const json ids = info && info->sort == EditSort::Prompt ? promptIds(m_before, newest) : json::array();
  return ids.empty() ? QString()
                     : QString("s.prefill(%1, {last: false});").arg(QString::fromStdString(scriptText(ids)));
}

void SessionScript::answered(const std::string& verb, const json& args, const Result<json>& reply,
                             const SnapshotPtr& newest) {
  const VerbInfo* info = infoOf(m_verbs, verb);
  if (!info) return;
  if (changes(*info)) {
    if (!reply) add(refusedLine(verb, args, reply.error(), newest));
    else if (const json done = argsDone(verb, args, *reply, newest.get()); !done.is_null())
      add(memberOr(*reply, "cancelled", false) ? "// " + line(verb, done) + " was cancelled" : line(verb, done) + ";");
    if (verb == "note" && reply) m_notes[memberOr(*reply, "id", 0)] = m_lines.size();
  }
  m_before = newest;
}

std::int64_t SessionScript::calls() const {
  std::int64_t sum = 0;
  for (const Line& line : m_lines) sum += line.times;
  return sum;
}

QString SessionScript::textTo(int note) const {
  const auto written = m_notes.find(note);
  return textOf(written == m_notes.end() ? std::min<std::size_t>(m_lines.size(), 1) : written->second);
}

QString SessionScript::textOf(std::size_t lines) const {
  QString out;
  for (std::size_t i = 0; i < lines; ++i) {
    const Line& line = m_lines[i];
    out += line.times == 1 ? line.text + '\n'
                           : QString("for (let i = 0; i < %1; ++i) %2\n").arg(line.times).arg(line.text);
  }
  return out;
}

}  // namespace kvlab
