// SPDX-License-Identifier: Apache-2.0
// Asking an older tick: every verb that reads or measures gives the same answer as when the tick was the newest, and
// the session stays where it is.
#include <algorithm>
#include <bit>
#include <set>

#include "core/lanes/session_holder.h"
#include "support/runner.h"
#include "support/session_fixture.h"

using namespace kvlab;

namespace {

struct Question {
  std::string verb;
  json args = json::object();
};

const std::vector<Question> kQuestions = {
    {"tokenise", {{"text", "the cat"}}},
    {"detokenise", {{"ids", {5, 6}}}},
    {"state", {{"columns", {"tick", "length", "remaining", "text", "stateHash"}}}},
    {"tokens"},
    {"stage"},
    {"pos2ledger"},
    {"pos2ledger", {{"layer", 1}}},
    {"rows", {{"layer", 0}}},
    {"rows", {{"layer", 2}, {"begin", 2}, {"end", 5}}},
    {"rows", {{"layer", 1}, {"where", "read > 0.02 or index > 2"}}},
    {"ledger", {{"id", 4}}},
    {"ticks", {{"where", "not evicted"}, {"columns", {"tick", "kl", "surprise"}}}},
    {"history", {{"ledger", 4}}},
    {"logits"},
    {"topk", {{"k", 4}}},
    {"value", {{"expression", "length * 2 + rows(layer==1)"}}},
    {"value", {{"expression", "kl"}}},
    {"lastTick", {{"condition", "written(ledger==4)"}}},
    {"firstTick", {{"condition", "written(ledger==4)"}}},
    {"ticksWhere", {{"condition", "changed(length)"}}},
    {"story", {{"ledger", 4}, {"layer", 1}}},
    {"why", {{"ledger", 4}, {"layer", 1}}},
    {"reads", {{"ledger", 4}, {"layer", 1}}},
    {"decisions", {{"ledger", 4}}},
    {"rowsWhere", {{"condition", "brightness > 3 and exactness == 'exact'"}}},
    {"knockOut", {{"ledger", {4}}}},
    {"difference", {{"tick", 1}}},
    {"drift", {{"rows", true}}},
    {"attention", {{"layer", 1}}},
    {"attentionMatrix", {{"layer", 1}, {"head", 0}}},
    {"row", {{"layer", 1}, {"index", 3}}},
    {"ring", {{"layer", 0}}},
    {"storage", {{"layer", 0}}},
    {"quantisation", {{"rows", true}}},
    {"measureLifespans", {{"points", 8}}},
    {"policies"},
    {"tree"},
    {"plan", {{"actions", {{{"action", "delete"}, {"position", 2}}}}}}};

/// The replies of these verbs are about the session as it stands, about others, or a file.
const std::set<std::string> kOfNow = {
    "bugs",        "at",          "breaks",          "watches",        "notes",           "facts",
    "edits",       "branches",    "bytes",           "timeline",       "invariants",      "lifespans",
    "saveCache",   "saveCapture", "recordLifespans", "differenceFrom", "firstDifference", "lanesDifference",
    "lanesReport", "lanesLosses", "batchReport",     "batchBytes"};

/// Without times and the reasons that name them, what pools hold for history and have counted since they are there, and
/// which check came last.
void eraseWhatIsOfNow(json& value) {
  static const std::set<std::string> kFields = {"us",     "fullUs", "incrementalUs", "costs",
                                                "reason", "held",   "counts",        "advice"};
  if (value.is_array())
    std::erase_if(value.get_ref<json::array_t&>(),
                  [](const json& line) { return line.is_object() && line.value("event", json()) == "verified"; });
  if (value.is_object())
    for (const std::string& field : kFields) value.erase(field);
  if (value.is_structured())
    for (json& one : value) eraseWhatIsOfNow(one);
}

/// Erases the slots of rows: when the rows were made, rows of another branch held slots.
void eraseSlots(json& value) {
  if (value.is_object()) value.erase("slot");
  if (value.is_structured())
    for (json& one : value) eraseSlots(one);
}

/// The answer, or the code of the refusal.
json asked(const SessionFixture& s, const Question& question, std::optional<std::int64_t> tick = {}) {
  const Result<json> answer = tick ? s.verb("at", {{"tick", *tick}, {"verb", question.verb}, {"args", question.args}})
                                   : s.verb(question.verb, question.args);
  if (!answer) return json{{"refused", answer.error().code}};
  json out = *answer;
  eraseWhatIsOfNow(out);
  return out;
}

/// Commits of all sorts, one after another; at(i) makes the i-th.
bool commit(SessionFixture& s, int i) {
  const auto now = [&](json action) {
    return static_cast<bool>(s.verb("inject", {{"actions", {action}}, {"now", true}}));
  };
  switch (i % 8) {
    case 1: return now({{"action", "replace"}, {"positions", {4}}, {"new_token_ids", {30 + i}}});
    case 3: return now({{"action", "delete"}, {"position", 6}});
    case 5: return now({{"action", "insert"}, {"position", 3}, {"token_ids", {40 + i, 41}}});
    case 6: {
      const ResidencyView& map = s->state().map(CacheLayer(1));
      if (map.size() == 0) return false;
      return static_cast<bool>(
          s.verb("evict", {{"layer", 1}, {"ledger", {map.ledger[map.size() / 2].value()}}, {"now", true}}));
    }
    default: return static_cast<bool>(s.verb("step"));
  }
}

/// The state that a window shows of a tick: the maps, the values of a watch and of two quantities.
json shownOf(SessionHolder& holder, Tick tick, bool newest) {
  const Result<SnapshotPtr> snapshot = newest ? Result<SnapshotPtr>(holder.snapshot()) : holder.snapshotAt(tick);
  if (!snapshot) return snapshot.error().text();
  const Snapshot& s = **snapshot;
  json out{{"tick", s.tick.value()}, {"length", s.length()}, {"stale", s.logitsStale}, {"watches", json::array()}};
  for (const LedgerId id : s.context) out["context"].push_back(id.value());
  for (const auto& map : s.layers) {
    json rows = json::array();
    for (std::size_t i = at(map->first); i < map->size(); ++i) rows.push_back({map->ledger[i].value(), map->phases[i]});
    out["layers"].push_back(rows);
  }
  if (s.watches)
    for (const WatchView& one : *s.watches) out["watches"].push_back(toJson(one));
  for (const TokenChance& one : s.topk) out["topk"].push_back({one.id.value(), one.p});
  for (const Quantity quantity : {Quantity::Brightness, Quantity::KNorm}) {
    TileRequest request{quantity};
    if (!newest) request.tick = tick;
    const auto pending = holder.tile(request);
    if (!pending) return pending.error().text();
    const Result<Tile> tile = (*pending)->take();
    if (!tile || tile->tick != tick) return "no tile";
    for (const float value : tile->values) out["values"].push_back(std::bit_cast<std::uint32_t>(value));
  }
  return out;
}

}  // namespace

class PastTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void everyVerbIsAsked() {
    std::set<std::string> known = kOfNow;
    for (const Question& one : kQuestions) known.insert(one.verb);
    for (const VerbInfo& verb : verbs())
      if ((verb.effect == Effect::Reads || verb.effect == Effect::Measures) && verb.name != "table")
        QVERIFY2(known.contains(verb.name), verb.name.c_str());
    for (const TableInfo& table : tables()) QVERIFY2(known.contains(table.name), table.name.c_str());
  }

  /// Ticks and entries of the new history have the numbers of those before it.
  void aResetForgetsWhatWasAsked() {
    for (const char* bytes : {"0", "20000", "1073741824"}) {
      SessionFixture s(json{{"history_bytes", std::stoll(bytes)}});
      s.prompt(16);
      for (int i = 0; i < 8; ++i) QVERIFY(commit(s, i));
      QVERIFY(s.verb("break", {{"condition", "length > 0"}, {"log", true}}));
      QVERIFY(s.verb("step") && s->breakpoints().points().front().view.last);
      QVERIFY(s.verb("at", {{"tick", 5}, {"verb", "tokens"}}));
      QVERIFY(s.verb("difference", {{"tick", 4}}));
      const std::uint32_t leaps = s->snapshot()->leaps;
      QVERIFY(s.verb("reset"));
      QVERIFY(s->snapshot()->leaps != leaps && !s->breakpoints().points().front().view.last);
      s.prompt(12, 90);
      std::map<std::int64_t, std::string> then;
      for (int i = 0; i < 8; ++i) {
        QVERIFY(s.verb("step", {{"tokens", {50 + i}}}));
        then[s->state().tick.value()] = s.verb("tokens")->dump();
      }
      for (const auto& [tick, tokens] : then)
        QCOMPARE(s.verb("at", {{"tick", tick}, {"verb", "tokens"}})->dump(), tokens);
      const json apart = *s.verb("difference", {{"tick", 5}});
      SessionFixture fresh(json{{"history_bytes", std::stoll(bytes)}});
      fresh.prompt(12, 90);
      for (int i = 0; i < 8; ++i) QVERIFY(fresh.verb("step", {{"tokens", {50 + i}}}));
      QCOMPARE(apart.dump(), fresh.verb("difference", {{"tick", 5}})->dump());
    }
  }

  void answersAreThoseOfThen_data() {
    QTest::addColumn<QString>("manifest");
    const auto row = [](const char* name, const json& manifest) {
      QTest::newRow(name) << QString::fromStdString(manifest.dump());
    };
    row("plain", json::object());
    row("history kept for some states", {{"history_bytes", 4096}});
    row("no history", {{"history_bytes", 0}});
    row("rows in context order", {{"layout", "contiguous_splice"}});
    row("pages, int8", {{"layout", "paged:block=4"}, {"kv", {{"k", "int8"}, {"v", "int8"}}}});
    row("ring", {{"layout", "ring_fused"}, {"ring", {{"window", 10}}}});
    row("policy", {{"policy", "h2o:ratio=0.5,window=4"}});
    row("wLOD", {{"capacity", 0}, {"wlod", {{"budget", 160}, {"moments", 512}}}});
  }
  void answersAreThoseOfThen() {
    QFETCH(QString, manifest);
    SessionFixture s(json::parse(manifest.toStdString()));
    s.prompt(16);
    std::map<std::int64_t, std::vector<json>> then;
    const auto note = [&] {
      auto& answers = then[s->state().tick.value()];
      answers.clear();
      for (const Question& one : kQuestions) answers.push_back(asked(s, one));
    };
    note();
    int commits = 0;
    for (int i = 0; i < 14; ++i)
      if (commit(s, i)) ++commits, note();
    QVERIFY2(commits > 4, qPrintable(QString::number(commits)));
    const std::string hash = s.hash();
    const int entry = s->timeline().currentId();
    std::vector<std::int64_t> ticks;
    for (const auto& [tick, answers] : then) ticks.push_back(tick);
    std::shuffle(ticks.begin(), ticks.end(), std::mt19937(3));
    for (const std::int64_t tick : ticks)
      for (std::size_t q = 0; q < kQuestions.size(); ++q) {
        const json answer = asked(s, kQuestions[q], tick);
        if (answer.dump() != then[tick][q].dump())
          QFAIL(qPrintable(QString("%1 at tick %2: %3")
                               .arg(QString::fromStdString(kQuestions[q].verb))
                               .arg(tick)
                               .arg(QString::fromStdString(json::diff(then[tick][q], answer).dump()).left(600))));
      }
    QCOMPARE(s.hash(), hash);
    QCOMPARE(s->timeline().currentId(), entry);
    QVERIFY(s.sound());
  }

  void olderTicksLookAsTheyDid_data() { answersAreThoseOfThen_data(); }
  void olderTicksLookAsTheyDid() {
    QFETCH(QString, manifest);
    SessionFixture s(json::parse(manifest.toStdString()));
    s.prompt(16);
    Result<std::unique_ptr<Session>> copy = s->fork();
    QVERIFY(copy);
    SessionHolder holder(copy.take());
    QVERIFY(holder.execute("watch", {{"expression", "rows(layer==1)"}}));
    std::map<std::int64_t, json> then;
    for (int i = 0; i < 12; ++i) {
      const json replaced{{"action", "replace"}, {"positions", {4}}, {"new_token_ids", {30 + i}}};
      if (i % 4 == 1) QVERIFY(holder.execute("inject", {{"actions", {replaced}}, {"now", true}}));
      QVERIFY(holder.execute("step", json::object()));
      const Tick tick = holder.snapshot()->tick;
      then[tick.value()] = shownOf(holder, tick, true);
    }
    const std::uint64_t serial = holder.snapshot()->serial;
    std::set<std::uint64_t> serials;
    std::vector<std::int64_t> ticks;
    for (const auto& [tick, shown] : then) ticks.push_back(tick);
    const std::int64_t newest = ticks.back();
    std::shuffle(ticks.begin(), ticks.end(), std::mt19937(5));
    for (const std::int64_t tick : ticks) {
      const json now = shownOf(holder, Tick(tick), false);
      QVERIFY2(now == then[tick], json::diff(then[tick], now).dump().substr(0, 600).c_str());
      const SnapshotPtr snapshot = *holder.snapshotAt(Tick(tick));
      QVERIFY(snapshot->info == holder.snapshot()->info && snapshot->leaps == holder.snapshot()->leaps);
      QVERIFY(serials.insert(snapshot->serial).second);
      QVERIFY(tick == newest || snapshot->serial < serial);
    }
    QCOMPARE(holder.snapshot()->serial, serial);
    QCOMPARE(holder.snapshotAt(Tick(99)).error().code, std::string("out_of_range"));
  }

  void refusals() {
    SessionFixture s;
    s.prompt(10);
    s.must("step");
    const auto code = [&](std::int64_t tick, const char* verb) {
      const Result<json> answer = s.verb("at", {{"tick", tick}, {"verb", verb}});
      return answer ? std::string() : answer.error().code;
    };
    QCOMPARE(code(99, "text"), std::string("out_of_range"));
    QCOMPARE(code(1, "step"), std::string("not_a_query"));
    QCOMPARE(code(1, "at"), std::string("not_a_query"));
    QCOMPARE(code(1, "lunch"), std::string("unknown_verb"));
    const std::int64_t newest = s->state().tick.value();
    s.must("undo");
    QCOMPARE(code(newest, "text"), std::string());
    QCOMPARE(code(newest + 1, "text"), std::string("out_of_range"));
    QCOMPARE(code(s->state().tick.value(), "text"), std::string());
    s.must("redo");
    QCOMPARE(code(newest, "text"), std::string());
  }

  /// A tick of another branch gives the same answer as when that branch was the present one.
  void otherBranches_data() { answersAreThoseOfThen_data(); }
  void otherBranches() {
    QFETCH(QString, manifest);
    SessionFixture s(json::parse(manifest.toStdString()));
    s.prompt(16);
    const std::int64_t parting = s->state().tick.value();
    std::map<std::pair<std::string, std::int64_t>, std::vector<json>> then;
    for (const int first : {1, 3, 5}) {
      s.must("goto", {{"tick", parting}});
      for (int i = first; i < first + 5; ++i) {
        if (!commit(s, i)) continue;
        auto& answers = then[{s->timeline().branch(), s->state().tick.value()}];
        answers.clear();
        for (const Question& one : kQuestions) answers.push_back(asked(s, one));
      }
    }
    QCOMPARE(s->timeline().branches().size(), std::size_t(3));
    const std::string hash = s.hash();
    for (const auto& [where, answers] : then)
      for (std::size_t q = 0; q < kQuestions.size(); ++q) {
        const Question& one = kQuestions[q];
        if (one.verb == "difference") continue;  // names a tick of its own branch
        // It gives the answers of kept states, and states of another branch are not kept.
        if (one.verb == "history" && s->manifest().historyBytes < 1 << 20) continue;
        const Result<json> answer =
            s.verb("at", {{"tick", where.second}, {"branch", where.first}, {"verb", one.verb}, {"args", one.args}});
        json got = answer ? *answer : json{{"refused", answer.error().code}};
        eraseWhatIsOfNow(got);
        json wanted = answers[q];
        eraseSlots(got), eraseSlots(wanted);
        if (got.dump() != wanted.dump())
          QFAIL(qPrintable(QString("%1 at tick %2 of %3: %4 %5")
                               .arg(QString::fromStdString(one.verb))
                               .arg(where.second)
                               .arg(QString::fromStdString(where.first))
                               .arg(QString::fromStdString(json::diff(wanted, got).dump()).left(400))));
      }
    QCOMPARE(s.hash(), hash);
    QCOMPARE(s.verb("at", {{"tick", 1}, {"branch", "twig"}, {"verb", "text"}}).error().code,
             std::string("unknown_branch"));
    QVERIFY(s.sound());
  }

  /// Rows that were moved, overwritten or made again since the last question are not taken for those of then.
  void rowsAreThoseOfThen_data() { answersAreThoseOfThen_data(); }
  void rowsAreThoseOfThen() {
    QFETCH(QString, manifest);
    for (unsigned seed = 0; seed < 6; ++seed) {
      SessionFixture s(json::parse(manifest.toStdString()));
      s.prompt(16);
      std::mt19937 random(seed);
      std::map<std::int64_t, std::string> then;
      const auto here = [&] { return s->state().tick.value(); };
      then[here()] = s.hash();
      const std::int64_t first = here();
      for (int i = 0; i < 60; ++i) {
        const auto sort = random() % 8;
        const std::int64_t before = here(), some = first + static_cast<std::int64_t>(random() % 12);
        if (sort == 0) (void)s.verb("undo", {{"n", 1 + random() % 4}});
        if (sort == 1) (void)s.verb("redo", {{"n", 1 + random() % 4}});
        if (sort == 2) (void)s.verb("goto", {{"tick", some}});
        if (sort < 3) continue;
        if (sort < 5) {
          if (!then.contains(some) || some == before) continue;
          QVERIFY2(asked(s, {"stateHash"}, some) == json(then[some]),
                   qPrintable(QString("seed %1, call %2: tick %3").arg(seed).arg(i).arg(some)));
          continue;
        }
        if (sort == 5) (void)s.verb("rebuild");
        else (void)commit(s, static_cast<int>(random() % 8));
        if (here() == before) continue;
        std::erase_if(then, [&](const auto& one) { return one.first > before; });  // now of another branch
        then[here()] = s.hash();
      }
    }
  }

  /// Pending actions and later branches leave the past as it was.
  void thePastStays() {
    SessionFixture s;
    s.prompt(10);
    const std::int64_t first = s->state().tick.value();
    const json text = s.must("text"), hash = s.must("stateHash");
    s.must("step", {{"n", 3}});
    s.must("inject", {{"actions", {{{"action", "delete"}, {"position", 1}}}}});
    const auto same = [&] {
      QCOMPARE(asked(s, {"text"}, first), text);
      QCOMPARE(asked(s, {"stateHash"}, first), hash);
    };
    same();
    QCOMPARE(s->pending().size(), std::size_t(1));
    s.must("clearPending");
    s.must("undo", {{"n", 2}});
    s.must("step", {{"tokens", {77}}});
    same();
    s.must("step");
    const json before = s.must("text");
    s.must("step");
    QCOMPARE(asked(s, {"text"}, s->state().tick.value() - 1), before);
  }
};

KV_TEST(PastTest)
#include "past_test.moc"
