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

QString stopped(const std::string& why, std::size_t ticks) {
  const QString after = counted(static_cast<qint64>(ticks), tr("tick"), tr("ticks"));
  if (why == "max_ticks") return tr("Ran %1, as many as asked for").arg(after);
  if (why == "cancelled") return tr("Stopped by hand after %1").arg(after);
  if (why == "end_of_text") return tr("The text ended after %1").arg(after);
  return why == "error" ? QString()
                        : tr("Stopped at the breakpoint %1 after %2").arg(QString::fromStdString(why), after);
}

QString ofRun(const json& reply, const json&) {
  return stopped(reply.value("stoppedBy", ""), reply.value("count", std::size_t{0}));
}

QString ofStep(const json& reply, const json&) {
  if (reply.empty() || !reply.back().contains("stoppedBy")) return {};
  return stopped(reply.back()["stoppedBy"], reply.size());
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

QString ofInject(const json&, const json& args) {
  return args.value("now", false) ? tr("Applied; Ctrl+Z takes it back") : tr("Queued for the next tick");
}

QString ofInvariants(const json& reply, const json&) {
  const bool all = std::all_of(reply.begin(), reply.end(), [](const json& one) { return one.value("ok", true); });
  return all ? tr("All %1 invariants hold, checked in full").arg(reply.size()) : QString();
}

}  // namespace

std::optional<Error> failedTick(const json& reports) {
  for (const json& report : reports)
    if (!report.value("ok", true) && report.contains("error")) return Error::fromJson(report["error"]);
  return {};
}

QString outcomeOf(const CommandReply& command) {
  using Say = QString (*)(const json& reply, const json& args);
  static const QHash<QString, Say> kSays{{"run", ofRun},
                                         {"step", ofStep},
                                         {"drift", ofDrift},
                                         {"rebuild", ofRebuild},
                                         {"save_capture", ofSave},
                                         {"save_cache", ofSave},
                                         {"undo", ofTravel},
                                         {"redo", ofTravel},
                                         {"step_back", ofTravel},
                                         {"inject", ofInject},
                                         {"check_invariants", ofInvariants}};
  const Say say = kSays.value(command.id, nullptr);
  if (!say || !command.reply || refusalOf(command.reply)) return {};
  const bool list = say == ofStep || say == ofInvariants;
  return (list ? command.reply->is_array() : command.reply->is_object()) ? say(*command.reply, command.args)
                                                                         : QString();
}

}  // namespace kvlab
