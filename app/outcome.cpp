// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/outcome.h"

#include <QCoreApplication>
#include <QHash>
#include <algorithm>

#include "widgets/base/format.h"

namespace kvlab {
namespace {
using nlohmann::json;

QString tr(const char* text) { return QCoreApplication::translate("outcome", text); }

/// What the checks of the last tick found, and between which ticks it came: no tick is blamed alone.
QString damageIn(const json& reports) {
  const json violations = reports.empty() ? json::array() : reports.back().value("violations", json::array());
  for (const json& one : violations)
    if (const std::string when = one.value("since", json::object()).value("text", ""); !when.empty())
      return tr("; %1 broke %2").arg(QString::fromStdString(one.value("invariant", "")), QString::fromStdString(when));
  return {};
}

QString stopped(const std::string& why, std::size_t ticks) {
  const QString after = counted(static_cast<qint64>(ticks), tr("tick"), tr("ticks"));
  if (why == "max_ticks") return tr("Ran %1, as many as asked for").arg(after);
  if (why == "cancelled") return tr("Stopped by hand after %1").arg(after);
  if (why == "error") return tr("Stopped after %1").arg(after);
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
  const std::string why = reply.value("stoppedBy", "");
  const std::size_t count = reply.value("count", std::size_t{0});
  if (why != "error") return stopped(why, count) + damageIn(reply.value("ticks", json::array()));
  return stopped(tickCancelled(reply.value("ticks", json::array())) ? "cancelled" : why, count > 0 ? count - 1 : 0);
}

QString ofStep(const json& reply, const json& args) {
  if (!reply.empty() && reply.back().contains("stoppedBy"))
    return stopped(reply.back()["stoppedBy"], reply.size()) + damageIn(reply);
  if (const auto asked = static_cast<std::size_t>(args.value("n", 1.0)); asked > 1)
    return stopped(tickCancelled(reply)       ? "cancelled"
                       : failedTick(reply)    ? "error"
                       : reply.size() < asked ? "cancelled"
                                              : "max_ticks",
                   ticksOf(reply));
  return {};
}

QString ofPrompt(const json& reply, const json&) {
  return tr("The context took the text at tick %1").arg(reply.value("tick", std::int64_t{0}));
}

QString ofQuantisation(const json&, const json&) { return tr("Measured what the stored rows lost"); }

QString ofLanes(const json& reply, const json&) {
  return tr("Opened %1").arg(counted(static_cast<qint64>(reply.size()), tr("lane"), tr("lanes")));
}

QString ofDrift(const json& reply, const json&) {
  const auto worst = [&](const char* which) {
    double most = 0;
    for (const json& one : reply.value(which, json::array()))
      most = std::max(most, one.is_number() ? one.get<double>() : 0);
    return formatNumber(most);
  };
  QString text = tr("Drift from a rebuild, worst layer: K %1, V %2").arg(worst("k"), worst("v"));
  if (reply.contains("kl") && reply["kl"].is_number())
    text += tr("; KL of the next token %1").arg(formatNumber(reply["kl"].get<double>()));
  return text;
}

QString ofRebuild(const json& reply, const json&) {
  if (reply.value("cancelled", false)) return tr("The rebuild was cancelled; nothing has changed");
  return tr("Computed %1 again").arg(counted(reply.value("rows", 0), tr("row"), tr("rows")));
}

QString ofSave(const json& reply, const json&) {
  return tr("Saved %1, %2").arg(QString::fromStdString(reply.value("path", "")), formatBytes(reply.value("bytes", 0)));
}

QString ofTravel(const json& reply, const json&) {
  const std::string branch = reply.value("branch", "main");
  const QString text = tr("At tick %1").arg(reply.value("tick", std::int64_t{0}));
  return branch == "main" ? text : tr("%1 of %2").arg(text, QString::fromStdString(branch));
}

QString ofRunBack(const json& reply, const json& args) {
  const QString asked = QString::fromStdString(args.value("condition", ""));
  if (reply["stoppedBy"].is_string())
    return tr("%1: %2 held there").arg(ofTravel(reply, args), QString::fromStdString(reply["stoppedBy"]));
  return asked.isEmpty() ? tr("No breakpoint held at any tick before this one")
                         : tr("%1 held at no tick before this one").arg(asked);
}

/// "Row 9 is stale since tick 41: replace “silver” → “copper”; it began with row 6"
QString ofWhy(const json& reply, const json&) {
  const json& cause = reply["cause"];
  const QString row = tr("Row %1").arg(reply.value("ledger", std::int64_t{0}));
  if (cause.is_null()) return tr("%1 is what a rebuild would compute").arg(row);
  const QString text = tr("%1 is stale since tick %2: %3")
                           .arg(row)
                           .arg(cause.value("tick", std::int64_t{0}))
                           .arg(QString::fromStdString(cause.value("edit", "")));
  const json& rows = cause["rows"];
  if (rows.size() < 2) return text;
  return tr("%1; it began with row %2").arg(text).arg(rows.back().get<std::int64_t>());
}

QString ofInject(const json&, const json& args) {
  return args.value("now", false) ? tr("Applied; Ctrl+Z takes it back") : tr("Queued for the next tick");
}

QString ofInvariants(const json& reply, const json&) {
  const bool all = std::all_of(reply.begin(), reply.end(), [](const json& one) { return one.value("ok", true); });
  return all ? tr("All %1 invariants hold, checked in full").arg(reply.size()) : QString();
}

}  // namespace

/// Of lanes the reference decides.
std::optional<Error> failedTick(const json& reports) {
  for (const json& report : reports) {
    if (!report.is_object()) continue;
    const json& one = report.contains("lanes") && !report["lanes"].empty() ? report["lanes"][0] : report;
    if (one.contains("error") && one["error"].is_object()) return Error::fromJson(one["error"]);
  }
  return {};
}

JobOutcome endOf(const Error& error) {
  const bool byHand = error.code == "cancelled";
  const QString what = QString::fromStdString(error.what), why = QString::fromStdString(error.why);
  const QString how = why.isEmpty() ? what : what + ": " + why;
  return {byHand ? JobState::Stopped : JobState::Failed, (byHand ? tr("Stopped by hand: %1") : tr("%1")).arg(how)};
}

namespace {

QString outcomeOf(const CommandReply& command) {
  using Say = QString (*)(const json& reply, const json& args);
  static const QHash<QString, Say> kSays{{"run", ofRun},
                                         {"step", ofStep},
                                         {"prompt", ofPrompt},
                                         {"chat", ofPrompt},
                                         {"quantisation_measure", ofQuantisation},
                                         {"lanes_open", ofLanes},
                                         {"drift", ofDrift},
                                         {"rebuild", ofRebuild},
                                         {"save_capture", ofSave},
                                         {"save_cache", ofSave},
                                         {"undo", ofTravel},
                                         {"redo", ofTravel},
                                         {"step_back", ofTravel},
                                         {"note_go", ofTravel},
                                         {"run_back", ofRunBack},
                                         {"why", ofWhy},
                                         {"inject", ofInject},
                                         {"check_invariants", ofInvariants}};
  const Say say = kSays.value(command.id, nullptr);
  if (!say) return {};
  const bool list = say == ofStep || say == ofInvariants || say == ofLanes;
  return (list ? command.reply->is_array() : command.reply->is_object()) ? say(*command.reply, command.args)
                                                                         : QString();
}

/// The ticks of a run or of a list of steps.
json reportsOf(const json& reply) {
  if (reply.is_array()) return reply;
  return reply.is_object() ? reply.value("ticks", json::array()) : json::array();
}

bool byHand(const CommandReply& command) {
  const json& reply = *command.reply;
  if (command.id == "step")
    return reply.is_array() && static_cast<double>(reply.size()) < command.args.value("n", 1.0) && !failedTick(reply);
  return reply.is_object() && (reply.value("stoppedBy", "") == "cancelled" || reply.value("cancelled", false));
}

}  // namespace

JobOutcome endOf(const CommandReply& command) {
  if (const auto refused = refusalOf(command.reply)) return endOf(*refused);
  const QString how = outcomeOf(command);
  const json reports = reportsOf(*command.reply);
  const auto error = failedTick(reports);
  if (!error) return {byHand(command) ? JobState::Stopped : JobState::Done, how};
  if (tickCancelled(reports) && !how.isEmpty()) return {JobState::Stopped, how};
  const QString why = endOf(*error).how;
  return {JobState::Failed, how.isEmpty() ? why : tr("%1; %2").arg(how, why)};
}

}  // namespace kvlab
