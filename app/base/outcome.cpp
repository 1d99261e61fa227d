// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/base/outcome.h"

#include <QCoreApplication>
#include <QHash>
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "core/api/read_json.h"
#include "core/api/table.h"
#include "widgets/base/format.h"

namespace kvlab {
namespace {
using nlohmann::json;

QString tr(const char* text) { return QCoreApplication::translate("outcome", text); }

QString wordIn(const json& from, const char* key) { return QString::fromStdString(memberOr(from, key, std::string())); }

/// As many elements as the list has; none where it is no list.
const json& listIn(const json& from, const char* key) {
  static const json none = json::array();
  const json& found = member(from, key);
  return found.is_array() ? found : none;
}

const json& lastOf(const json& list) { return element(list, list.size() - 1); }

/// The findings of the last tick's checks, and between which ticks the damage came: no tick is blamed alone.
QString damageIn(const json& reports) {
  for (const json& one : listIn(lastOf(reports), "violations"))
    if (const QString when = wordIn(member(one, "since"), "text"); !when.isEmpty())
      return tr("; %1 broke %2").arg(wordIn(one, "invariant"), when);
  return {};
}

QString stopped(const std::string& why, std::size_t ticks) {
  const QString after = counted(static_cast<qint64>(ticks), tr("tick"), tr("ticks"));
  if (why == "max_ticks") return tr("Ran %1, as many as asked for").arg(after);
  if (why == "cancelled") return tr("Stopped by hand after %1").arg(after);
  if (why == "error" || why.empty()) return tr("Stopped after %1").arg(after);
  if (why == "end_of_text") return tr("The text ended after %1").arg(after);
  return tr("Stopped at the breakpoint %1 after %2").arg(QString::fromStdString(why), after);
}

/// A tick that is cancelled on its way fails, but by hand.
bool tickCancelled(const json& reports) {
  const auto error = failedTick(reports);
  return error && error->code == "cancelled";
}

/// Without the one that failed.
std::size_t ticksOf(const json& reports) { return reports.size() - (failedTick(reports) ? 1 : 0); }

QString ofRun(const json& reply, const json&) {
  const std::string why = memberOr(reply, "stoppedBy", std::string());
  const std::size_t count = memberOr(reply, "count", std::size_t{0});
  const json& ticks = listIn(reply, "ticks");
  if (why != "error") return stopped(why, count) + damageIn(ticks);
  return stopped(tickCancelled(ticks) ? "cancelled" : why, count > 0 ? count - 1 : 0);
}

QString ofStep(const json& reply, const json& args) {
  if (const std::string by = memberOr(lastOf(reply), "stoppedBy", std::string()); !by.empty())
    return stopped(by, reply.size()) + damageIn(reply);
  if (const auto asked = memberOr(args, "n", std::size_t{1}); asked > 1)
    return stopped(tickCancelled(reply)       ? "cancelled"
                       : failedTick(reply)    ? "error"
                       : reply.size() < asked ? "cancelled"
                                              : "max_ticks",
                   ticksOf(reply));
  return {};
}

QString ofPrompt(const json& reply, const json&) {
  return tr("The context took the text at tick %1").arg(memberOr(reply, "tick", std::int64_t{0}));
}

QString ofQuantisation(const json&, const json&) { return tr("Measured what the stored rows lost"); }

QString ofLanes(const json& reply, const json&) {
  return tr("Opened %1").arg(counted(static_cast<qint64>(reply.size()), tr("lane"), tr("lanes")));
}

/// A clause about a KL divergence, which is not defined where a logit is not finite.
QString klClause(const json& kl, const QString& words) {
  const double value = jsonOr(kl, std::numeric_limits<double>::quiet_NaN());
  return std::isfinite(value) ? words.arg(formatNumber(value)) : tr("KL is not defined");
}

QString ofDrift(const json& reply, const json&) {
  constexpr double kFar = std::numeric_limits<double>::infinity();  // null: a row has a not-a-number
  const auto worst = [&](const char* which) {
    double most = 0;
    for (const json& one : listIn(reply, which)) most = std::max(most, jsonOr(one, kFar));
    return formatNumber(most);
  };
  QString text = tr("Drift from a rebuild, worst layer: K %1, V %2").arg(worst("k"), worst("v"));
  if (reply.contains("kl")) text += "; " + klClause(reply["kl"], tr("KL of the next token %1"));
  return text;
}

QString ofKnockOut(const json& reply, const json&) {
  const json& each = listIn(reply, "each");
  if (each.empty()) return tr("Model compares with the tick before");
  const QString rows = counted(static_cast<qint64>(each.size()), tr("row"), tr("rows"));
  QString text = tr("Without %1: %2").arg(rows, klClause(member(reply, "kl"), tr("KL of the next token %1")));
  const auto more = [](const json& a, const json& b) { return memberOr(a, "kl", 0.0) < memberOr(b, "kl", 0.0); };
  if (each.size() > 1)
    text += tr("; most by row %1 alone, %2")
                .arg(memberOr(*std::max_element(each.begin(), each.end(), more), "ledger", 0))
                .arg(formatNumber(memberOr(*std::max_element(each.begin(), each.end(), more), "kl", 0.0)));
  return text;
}

/// The layer and query head whose attention is farthest from that over all rows.
QString ofAttentionError(const json& reply, const json&) {
  const json& layers = listIn(reply, "attention");
  double worst = -1;
  std::size_t where = 0, which = 0;
  for (std::size_t layer = 0; layer < layers.size(); ++layer)
    for (std::size_t head = 0; layers[layer].is_array() && head < layers[layer].size(); ++head)
      if (const double one = jsonOr(layers[layer][head], std::numeric_limits<double>::infinity()); one > worst)
        worst = one, where = layer, which = head;
  if (worst < 0) return tr("There was nothing to measure");
  return tr("Attention error at most %1, in layer %2, query head %3").arg(formatNumber(worst)).arg(where).arg(which);
}

QString ofRebuild(const json& reply, const json&) {
  if (memberOr(reply, "cancelled", false)) return tr("The rebuild was cancelled; nothing has changed");
  QStringList out{tr("Computed %1 again").arg(counted(memberOr(reply, "rows", qint64{0}), tr("row"), tr("rows")))};
  if (const json& stale = member(reply, "stale"); stale.is_number())
    out << tr("%1 had been stale")
               .arg(jsonOr(stale, qint64{0}) ? QString::number(jsonOr(stale, qint64{0})) : tr("none"));
  if (const qint64 loaded = memberOr(reply, "loaded", qint64{0}); loaded > 0)
    out << tr("%1 had come from a file").arg(loaded);
  if (const json& kl = member(reply, "kl"); kl.is_number()) out << klClause(kl, tr("KL of the next token had been %1"));
  return out.join("; ");
}

QString ofSave(const json& reply, const json&) {
  return tr("Saved %1, %2").arg(wordIn(reply, "path"), formatBytes(memberOr(reply, "bytes", qint64{0})));
}

QString ofTravel(const json& reply, const json&) {
  const std::string branch = memberOr(reply, "branch", std::string("main"));
  const QString text = tr("At tick %1").arg(memberOr(reply, "tick", std::int64_t{0}));
  return branch == "main" ? text : tr("%1 of %2").arg(text, QString::fromStdString(branch));
}

QString ofRunBack(const json& reply, const json& args) {
  const QString asked = wordIn(args, "condition"), held = wordIn(reply, "stoppedBy");
  if (!held.isEmpty()) return tr("%1: %2 held there").arg(ofTravel(reply, args), held);
  return asked.isEmpty() ? tr("No earlier tick: no breakpoint ever held")
                         : tr("No earlier tick: %1 never held").arg(asked);
}

/// Outcome of a search for the first tick of something: the tick, or that there is none.
QString ofFirst(const json& reply, const QString& found, const QString& none) {
  const json& tick = element(cellsIn(reply, "tick"), 0);
  return tick.is_number() ? tr("At tick %1: %2").arg(QString::number(jsonOr(tick, std::int64_t{0})), found) : none;
}

QString ofDriftBegan(const json& reply, const json& args) {
  const QString kl = formatNumber(memberOr(args, "kl", kDriftCounts));
  return ofFirst(reply, tr("the first whose next token differs from that of a rebuild"),
                 tr("No tick so far has drifted: no KL of a next token is above %1").arg(kl));
}

QString ofBrokeFirst(const json& reply, const json&) {
  return ofFirst(reply, tr("the first after which a check found something"), tr("No check so far found something"));
}

QString ofSelectWhere(const json& reply, const json&) {
  const auto rows = static_cast<qint64>(cellsIn(reply, "id").size());
  return rows == 0 ? tr("No row meets the condition") : tr("Selected %1").arg(counted(rows, tr("row"), tr("rows")));
}

QString ofTicksWhere(const json& reply, const json& args) {
  const QString asked = wordIn(args, "condition");
  std::set<json> ticks(cellsIn(reply, "tick").begin(), cellsIn(reply, "tick").end());  // commits may share one
  return ticks.empty() ? tr("%1 held at no tick").arg(asked)
                       : tr("%1 held at %2").arg(asked, counted(std::ssize(ticks), tr("tick"), tr("ticks")));
}

/// "Row 9 is stale since tick 41: replace “silver” → “copper”; it began with row 6"
QString ofWhy(const json& reply, const json&) {
  const json& cause = member(reply, "cause");
  const QString row = tr("Row %1").arg(memberOr(reply, "ledger", std::int64_t{0}));
  if (cause.is_null()) return tr("%1 is what a rebuild would compute").arg(row);
  const QString text = tr("%1 is stale since tick %2: %3")
                           .arg(row)
                           .arg(memberOr(cause, "tick", std::int64_t{0}))
                           .arg(wordIn(cause, "edit"));
  const json& rows = listIn(cause, "rows");
  if (rows.size() < 2) return text;
  return tr("%1; it began with row %2").arg(text).arg(jsonOr(lastOf(rows), std::int64_t{0}));
}

QString ofInject(const json&, const json& args) {
  return memberOr(args, "now", false) ? tr("Applied; Ctrl+Z takes it back") : tr("Queued for the next tick");
}

QString ofInvariants(const json& reply, const json&) {
  const json& held = cellsIn(reply, "ok");
  const bool all = std::ranges::all_of(held, [](const json& one) { return jsonOr(one, true); });
  return all ? tr("All %1 invariants hold, checked in full").arg(held.size()) : QString();
}

QString outcomeOf(const CommandReply& command) {
  using Say = QString (*)(const json& reply, const json& args);
  static const QHash<QString, Say> kSays{{"run", ofRun},
                                         {"step", ofStep},
                                         {"prompt", ofPrompt},
                                         {"chat", ofPrompt},
                                         {"quantisation_measure", ofQuantisation},
                                         {"lanes_open", ofLanes},
                                         {"drift", ofDrift},
                                         {"attention_error", ofAttentionError},
                                         {"knock_out", ofKnockOut},
                                         {"rebuild", ofRebuild},
                                         {"save_capture", ofSave},
                                         {"save_cache", ofSave},
                                         {"undo", ofTravel},
                                         {"redo", ofTravel},
                                         {"step_back", ofTravel},
                                         {"note_go", ofTravel},
                                         {"run_back", ofRunBack},
                                         {"why", ofWhy},
                                         {"drift_began", ofDriftBegan},
                                         {"broke_first", ofBrokeFirst},
                                         {"select_where", ofSelectWhere},
                                         {"ticks_where", ofTicksWhere},
                                         {"inject", ofInject},
                                         {"check_invariants", ofInvariants}};
  const Say say = kSays.value(command.id, nullptr);
  if (!say) return {};
  const json& reply = *command.reply;
  if (say == ofDriftBegan || say == ofBrokeFirst)
    return reply.is_null() || reply.is_number() ? say(reply, command.args) : QString();
  const bool list =
      say == ofStep || say == ofInvariants || say == ofLanes || say == ofSelectWhere || say == ofTicksWhere;
  return (list ? reply.is_array() : reply.is_object()) ? say(reply, command.args) : QString();
}

/// The ticks of a run or of a list of steps.
const json& reportsOf(const json& reply) { return reply.is_array() ? reply : listIn(reply, "ticks"); }

bool byHand(const CommandReply& command) {
  const json& reply = *command.reply;
  if (command.id == "step")
    return reply.is_array() && reply.size() < memberOr(command.args, "n", std::size_t{1}) && !failedTick(reply);
  return memberOr(reply, "stoppedBy", std::string()) == "cancelled" || memberOr(reply, "cancelled", false);
}

}  // namespace

/// In reports about lanes, the error of the reference lane counts.
std::optional<Error> failedTick(const json& reports) {
  for (const json& report : reports) {
    const json& lane = element(member(report, "lanes"), 0);
    const json& error = member(lane.is_null() ? report : lane, "error");
    if (error.is_object()) return Error::fromJson(error);
  }
  return {};
}

JobOutcome endOf(const Error& error) {
  const bool byHand = error.code == "cancelled";
  const QString what = QString::fromStdString(error.what), why = QString::fromStdString(error.why);
  const QString how = why.isEmpty() ? what : what + ": " + why;
  return {byHand ? JobState::Stopped : JobState::Failed, (byHand ? tr("Stopped by hand: %1") : tr("%1")).arg(how)};
}

JobOutcome endOf(const CommandReply& command) {
  if (const auto refused = refusalOf(command.reply)) return endOf(*refused);
  const QString how = outcomeOf(command);
  const json& reports = reportsOf(*command.reply);
  const auto error = failedTick(reports);
  if (!error) return {byHand(command) ? JobState::Stopped : JobState::Done, how};
  if (tickCancelled(reports) && !how.isEmpty()) return {JobState::Stopped, how};
  const QString why = endOf(*error).how;
  return {JobState::Failed, how.isEmpty() ? why : tr("%1; %2").arg(how, why)};
}

}  // namespace kvlab
