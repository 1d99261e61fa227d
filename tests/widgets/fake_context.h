// SPDX-License-Identifier: GPL-3.0-or-later
// An InspectorContext without an engine: serves the snapshots of a fixture session, tiles from a
// formula, canned replies to verbs, and remembers the requests. Replies are queued, as those of
// the engine thread are. Lives on the test's thread.
#pragma once
#include <QMetaObject>
#include <QPointer>
#include <algorithm>
#include <deque>
#include <functional>
#include <map>

#include "fixture_session.h"
#include "jobs_fixture.h"
#include "sweep_fixture.h"
#include "widgets/base/inspector_context.h"
#include "widgets/base/sweep_source.h"
#include "wlod_view_fixture.h"

namespace kvlab {

class FakeContext : public InspectorContext {
 public:
  struct Call {
    std::string verb;
    nlohmann::json args;
  };
  using Answer = std::function<Result<nlohmann::json>(const nlohmann::json& args)>;

  explicit FakeContext(fixture::Options options = {})
      : m_history(options.wlod ? fixture::wlodHistory(options.broken) : fixture::Session(options).history()) {
    m_shown = m_history.size();
    SweepSource::of(*this).setSweep(fixture::sweep());
    fixture::addJobs(JobList::of(*this));
    cannedReplies();
  }
  /// Before a session is open.
  struct Nothing {};
  explicit FakeContext(Nothing) {}
  explicit FakeContext(SnapshotPtr only) : m_history{std::move(only)}, m_shown(1) { cannedReplies(); }

  std::vector<Call> submitted, queried;  // verbs, oldest first
  std::vector<Call> commands;            // runCommand
  std::vector<std::string> lines;        // evaluate
  std::vector<TileRequest> fetched;
  std::map<std::string, Answer> answers;  // by verb; others answer null
  bool isBusy = false;
  bool measured = false;           // lifespans were recorded
  std::optional<float> sameValue;  // brightness of every row
  bool holdTiles = false;          // keep tile replies back until releaseTiles()

  SnapshotPtr snapshot() const override { return m_shown ? m_history[m_shown - 1] : nullptr; }
  const std::vector<SnapshotPtr>& history() const override { return m_history; }
  bool busy() const override { return isBusy; }

  void submit(const std::string& verb, const nlohmann::json& args, QObject* receiver, Reply reply) override {
    submitted.push_back(asked(verb, args));
    answer(verb, args, receiver, std::move(reply));
  }
  void query(const std::string&, const std::string& verb, const nlohmann::json& args, QObject* receiver,
             Reply reply) override {
    queried.push_back(asked(verb, args));
    answer(verb, args, receiver, std::move(reply));
  }
  void fetch(const std::string&, const TileRequest& request, QObject* receiver, TileReply reply) override {
    fetched.push_back(request);
    const auto of = std::ranges::find_if(
        m_history, [&](const SnapshotPtr& one) { return one->tick == request.tick.value_or(m_history.back()->tick); });
    auto tile = std::make_shared<Tile>(*makeTile(**of, request));
    if (sameValue && request.quantity == Quantity::Brightness) tile->values.assign(tile->values.size(), *sameValue);
    auto deliver = [receiver = QPointer<QObject>(receiver), reply = std::move(reply), tile] {
      if (receiver) reply(tile);
    };
    if (holdTiles) m_held.push_back(deliver);
    else QMetaObject::invokeMethod(this, deliver, Qt::QueuedConnection);
  }
  void releaseTiles(std::size_t most = SIZE_MAX) {
    for (; most > 0 && !m_held.empty(); --most) {
      const auto deliver = m_held.front();
      m_held.pop_front();
      deliver();
    }
  }
  void showTick(Tick tick) override {
    for (std::size_t i = 0; i < m_history.size(); ++i)
      if (m_history[i]->tick == tick) m_shown = i + 1;
    Focus next = focus();
    next.tick = tick;
    setFocus(next);
    Q_EMIT snapshotChanged();
  }
  /// Answers as the command's verb would.
  void runCommand(const QString& id, const nlohmann::json& args, QObject* receiver = nullptr,
                  Reply reply = {}) override {
    static const std::map<std::string, std::string> kVerbs{{"quantisation_measure", "quantisation"},
                                                           {"attention_measure", "attentionMatrix"},
                                                           {"check_invariants", "invariants"},
                                                           {"break_add", "break"},
                                                           {"watch_add", "watch"},
                                                           {"ticks_where", "ticksWhere"},
                                                           {"wlod_expand", "expand"},
                                                           {"wlod_collapse", "collapse"},
                                                           {"wlod_refocus", "refocus"}};
    commands.push_back({id.toStdString(), args});
    const auto verb = kVerbs.find(id.toStdString());
    const auto found = answers.find(verb == kVerbs.end() ? id.toStdString() : verb->second);
    Result<nlohmann::json> result = found == answers.end() ? nlohmann::json() : found->second(args);
    if (result && (id == "check_invariants" || id == "ticks_where")) result = tableOf(*result, "tick");
    const auto answer = [this, id, args, result, reply, guard = QPointer<QObject>(receiver), of = sessionNumber()] {
      if (of == sessionNumber()) Q_EMIT commandReplied({id, args, result});
      if (reply && guard) reply(result);
      else if (!reply && !result) Q_EMIT failed(result.error());
    };
    QMetaObject::invokeMethod(this, answer, Qt::QueuedConnection);
  }
  void evaluate(const QString& line, QObject* receiver, std::function<void(const QString&, bool)> reply) override {
    lines.push_back(line.toStdString());
    const bool bad = line.contains("throw");
    const QString text = bad ? QStringLiteral("Error: thrown by the line") : "= " + line;
    QMetaObject::invokeMethod(
        receiver, [reply, text, bad] { reply(text, bad); }, Qt::QueuedConnection);
  }
  /// Adds a snapshot and shows it, as a tick would.
  void push(SnapshotPtr next) {
    m_history.push_back(std::move(next));
    m_shown = m_history.size();
    Q_EMIT snapshotChanged();
  }

  /// Another session takes the place of the shown one, as far as it has come.
  void open(std::vector<SnapshotPtr> history) {
    m_history = std::move(history);
    m_shown = m_history.size();
    meetSession();
    Q_EMIT snapshotChanged();
  }

  static std::shared_ptr<const Tile> makeTile(const Snapshot& s, const TileRequest& request);

 private:
  /// A question to a table goes by the table's name.
  static Call asked(const std::string& verb, const nlohmann::json& args) {
    return verb == "table" ? Call{args.at("name"), args.at("of")} : Call{verb, args};
  }
  /// The answer of a table: of its rows as objects, or of the cells of its one column.
  static nlohmann::json tableOf(const nlohmann::json& rows, const char* column = "") {
    if (!rows.is_array()) return rows;
    nlohmann::json columns = nlohmann::json::object();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const nlohmann::json row = rows[i].is_object() ? rows[i] : nlohmann::json{{column, rows[i]}};
      for (const auto& [name, cell] : row.items()) columns[name][i] = cell;
    }
    for (auto& cells : columns)
      while (cells.size() < rows.size()) cells.push_back(nullptr);
    return {{"columns", columns}, {"next", nullptr}};
  }
  void answer(const std::string& verb, const nlohmann::json& args, QObject* receiver, Reply reply) {
    const Call call = asked(verb, args);
    const auto found = answers.find(call.verb);
    Result<nlohmann::json> result = found == answers.end() ? nlohmann::json() : found->second(call.args);
    if (result && verb == "table") result = tableOf(*result);
    QMetaObject::invokeMethod(
        receiver, [reply = std::move(reply), result] { reply(result); }, Qt::QueuedConnection);
  }
  static float value(const Snapshot& s, Quantity quantity, std::size_t layer, std::size_t p);
  void cannedReplies();
  nlohmann::json rowHistory(LedgerId id) const;
  nlohmann::json rows(const nlohmann::json& args) const;
  nlohmann::json storage(const nlohmann::json& args) const;

  std::vector<SnapshotPtr> m_history;
  std::size_t m_shown = 0;  // place in m_history plus one; 0 = nothing
  std::deque<std::function<void()>> m_held;
};

}  // namespace kvlab
