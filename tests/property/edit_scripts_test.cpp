// SPDX-License-Identifier: Apache-2.0
// Random edit scripts through the verbs of a session: lists good and bad, ticks, culling, evictions,
// rebuilds, full caches, resets, cache files, history. After every operation the invariants hold, a
// refused one has changed nothing, and a state of the past comes back with its hash; at the end a
// capture of it all replays to the same state. A failure prints the seed and the last operations.
#include "support/session_fixture.h"

#include <QTemporaryDir>
#include <map>

#include "core/parts/call_context.h"
#include "core/session/truth.h"
#include "core/verbs/capture_session.h"
#include "support/runner.h"

using namespace kvlab;

namespace {

int totalOperations() {
  bool given = false;
  const int ops = qEnvironmentVariableIntValue("KVLAB_PROPERTY_OPS", &given);
  return given && ops > 0 ? ops : 10000;
}

class Script {
 public:
  using Counts = std::map<std::string, int>;  // numbers of events by name: verbs, refusals, kinds of actions

  Script(const json& manifest, unsigned seed, Counts& counts)
      : m_random(seed), m_counts(counts), m_session(manifest), m_ragged(m_random() % 2 == 0) {
    m_converted = turnsKeys();
    note();
    run("promptIds", {{"ids", SessionFixture::ids(24, seed)}});
  }

  /// False after an error; said() describes it.
  bool step() {
    const int kind = pick(106);
    if (length() > 120) return shrink();
    if (kind < 26) return edit();
    if (kind < 40) return run("step", {{"n", 1 + pick(2)}}, true);
    if (kind < 42) return run("run", {{"maxTicks", 1 + pick(3)}}, true);
    if (kind < 50) return run("step", {{"tokens", {pick(SessionFixture::kVocab)}}}, true);
    if (kind < 60) return badList();
    if (kind < 66) return run("apply", json::object(), !m_session->pending().empty());
    if (kind < 70) return run("stepAction", json::object(), true);
    if (kind < 76) return evict();
    if (kind < 82) return backAndForth();
    if (kind < 84) return history("goto");
    if (kind < 87) return rebuild();
    if (kind < 90) return run("setBrightness", {{"ledger", someLedger()}, {"value", pick(256)}}, length() > 0);
    if (kind < 93) return run("pin", {{"ledger", someLedger()}, {"on", pick(2) == 1}}, length() > 0);
    if (kind < 96) return checkDrift();
    if (kind < 98) return run("clearPending", json::object(), true);
    if (kind < 101) return prompt();
    if (kind < 102) return m_counts["reset"] >= m_counts["step"] / 60 || reset();
    return saveOrLoad();
  }

  /// A capture of the whole script, replayed, ends in the same state.
  bool finish() {
    const std::string path = m_folder.filePath("script.capture").toStdString();
    if (!run("clearPending", json::object(), true) || !run("saveCapture", {{"path", path}}, true)) return false;
    const Result<Replay> replay = replayCapture(path, KVLAB_RESOURCES_DIR, {.to = {}, .verify = true});
    if (!replay) return fail("the capture was refused: " + QByteArray::fromStdString(replay.error().text()));
    for (const ReplayStep& step : replay->steps)
      if (!step.ok) return fail("replayed otherwise: " + QByteArray::fromStdString(toJson(step).dump()));
    m_counts["replayed"] += static_cast<int>(replay->steps.size());
    const Session& again = *replay->session;  // pending actions of its last command were forgotten here
    return stateHash(again.state(), again.store(), {}) == m_session.hash() ||
        fail("the capture replays to another state");
  }

  QByteArray said() const {
    QByteArray out = m_said;
    const std::size_t from = m_log.size() > 8 ? m_log.size() - 8 : 0;
    for (std::size_t i = from; i < m_log.size(); ++i) out += "\n  " + QByteArray::fromStdString(m_log[i]);
    return out;
  }

 private:
  int pick(int below) { return static_cast<int>(m_random() % static_cast<unsigned>(below)); }
  int length() const { return m_session->state().length(); }
  bool turnsKeys() const { return m_session->manifest().keyPhase == "at_write"; }
  int someLedger() {
    const CacheState& state = m_session->state();
    if (state.context.empty()) return 0;
    return state.context[static_cast<std::size_t>(pick(state.length()))].value();
  }

  bool fail(const QByteArray& what) {
    m_said = what;
    return false;
  }

  /// Notes the hashes of the state that the history stands at.
  void note() {
    const int entry = m_session->timeline().currentId();
    m_hashes[entry] = m_session.hash();
    m_parts[entry] = m_session.parts();
  }

  /// The differences between the present state and the noted state of an entry.
  QByteArray differences(int entry) {
    QByteArray out;
    const std::map<std::string, std::string> now = m_session.parts();
    for (const auto& [part, then] : m_parts[entry])
      if (!now.contains(part) || now.at(part) != then)
        out += QByteArray::fromStdString("\n  " + part + ": " + (now.contains(part) ? now.at(part) : "gone") + " was " +
                                         then);
    return out.isEmpty() ? "\n  rows" : out;
  }

  /// Runs a verb. `sure`: it must succeed unless the cache is full; otherwise a refusal must change nothing.
  bool run(const std::string& verb, const json& args, bool sure = false) {
    m_log.push_back(verb + " " + args.dump());
    const std::string before = stateHash(*m_session);
    const Result<json> result = m_session.verb(verb, args);
    const std::optional<Error> error = errorOf(result);
    m_refusal = error ? error->code : "";
    ++m_counts[error ? "refused " + error->code : verb];
    if (error) {
      ++m_counts["refused"];
      m_log.back() += " -> " + error->code;
      if (sure && !expected(error->code)) return fail("refused: " + QByteArray::fromStdString(error->text()));
      const bool several =
          args.contains("n") || args.contains("maxTicks");  // earlier ticks of the call may have been committed
      if (!several && stateHash(*m_session) != before) return fail("a refused call changed the state");
    }
    return sound(result);
  }

  /// Errors that a random script runs into by right.
  static bool expected(const std::string& code) {
    return code == "capacity" || code == "no_phase_room" || code == "staging" || code == "empty" || code == "pinned";
  }

  static std::optional<Error> errorOf(const Result<json>& result) {
    if (!result) return result.error();
    const json& all = result->is_object() && result->contains("ticks") ? (*result)["ticks"] : *result;  // run
    const json& last = all.is_array() && !all.empty() ? all.back() : *result;
    if (last.is_object() && last.contains("ok") && last["ok"] == false) return Error::fromJson(last["error"]);
    return std::nullopt;
  }

  bool sound(const Result<json>& result) {
    if (m_session->health().status == SessionState::Broken) return fail("the session is broken");
    if (result && !soundReports(*result)) return false;
    if (!roomAddsUp()) return fail("position, remaining and isFull do not fit each other");
    const bool full = ++m_operations % 4 == 0;
    const Session& s = *m_session.session;
    const std::vector<Violation> found = checkAll(
        {s.state(), s.store(), s.manifest(), s.parts().capacity, full, false, m_operations, SessionFixture::kVocab});
    for (const Violation& v : found) m_said += QByteArray::fromStdString(v.invariant + ": " + v.detail + "; ");
    if (!found.empty()) return false;
    note();
    return true;
  }

  bool soundReports(const json& result) {
    const json& all = result.is_object() && result.contains("ticks") ? result["ticks"] : result;
    for (const json& report : all.is_array() ? all : json::array({all})) {
      if (!report.is_object()) continue;
      if (report.contains("violations") && !report["violations"].empty())
        return fail("a tick reports " + QByteArray::fromStdString(report["violations"].dump()));
      if (report.contains("actions") && report["actions"].is_array())
        for (const json& action : report["actions"])
          if (action.contains("action")) ++m_counts["applied " + action["action"].get<std::string>()];
    }
    return true;
  }

  /// semantics.md, section 5: exactly `remaining` tokens fit.
  bool roomAddsUp() {
    const auto number = [this](const char* verb) { return m_session.must(verb).get<std::int64_t>(); };
    const std::int64_t left = number("remaining");
    const auto fits = [&](std::int64_t tokens) {
      const std::vector<Action> adds(static_cast<std::size_t>(tokens), Add{TokenId(1)});
      return bool(planEdit(m_session->state(), planRules(m_session->parts(), Source::User), adds));
    };
    return number("position") == length() && number("length") == length() && left >= 0 && fits(left) &&
        !fits(left + 1) && m_session.must("isFull") == json(left == 0);
  }

  std::vector<int> someIds(int most) {
    std::vector<int> out;
    for (int i = 1 + pick(most); i > 0; --i) out.push_back(pick(SessionFixture::kVocab));
    return out;
  }

  /// One to three actions at random places, not always compatible with each other or with pending ones.
  bool edit() {
    json actions = json::array();
    for (int i = 1 + pick(3); i > 0; --i) {
      const int n = std::max(1, length()), p = pick(n);
      switch (pick(5)) {
        case 0:
          actions.push_back({{"action", "replace_pair"},
                             {"original_pos1", p},
                             {"original_pos2", p + 1},
                             {"new_token_ids", someIds(2)}});
          break;
        case 1:
          actions.push_back(
              {{"action", "replace"}, {"positions", {p, p + 1 + pick(3), p + 5}}, {"new_token_ids", someIds(4)}});
          break;
        case 2: actions.push_back({{"action", "delete"}, {"position", p}}); break;
        case 3: actions.push_back({{"action", "insert"}, {"position", pick(n + 1)}, {"token_ids", someIds(3)}}); break;
        default: actions.push_back({{"action", "add"}, {"token_id", pick(SessionFixture::kVocab)}}); break;
      }
    }
    if (!run("inject", {{"actions", actions}})) return false;
    return !m_refusal.empty() || pick(2) || run(pick(2) ? "step" : "apply", json::object(), true);
  }

  bool badList() {
    const int n = length();
    const json bad[] = {
        {{"action", "delete"}, {"position", n}},
        {{"action", "delete"}, {"position", -1}},
        {{"action", "delete"}, {"position", 1.5}},
        {{"action", "delete"}},
        {{"action", "insert"}, {"position", n + 1}, {"token_ids", {1}}},
        {{"action", "insert"}, {"position", 0}, {"token_ids", json::array()}},
        {{"action", "insert"}, {"position", 0}, {"token_ids", {SessionFixture::kVocab}}},
        {{"action", "replace"}, {"positions", {3, 2}}, {"new_token_ids", {1}}},
        {{"action", "replace_pair"}, {"original_pos1", 1}, {"original_pos2", 1}, {"new_token_ids", {1}}},
        {{"action", "replace_pair"}, {"original_pos1", 0}, {"original_pos2", n}, {"new_token_ids", {1}}},
        {{"action", "evict"}, {"layer", 99}, {"ledger", {0}}},
        {{"action", "evict"}, {"layer", 0}, {"ledger", {1 << 30}}},
        {{"action", "explode"}},
        json::array({1, 2}),
        nullptr,
    };
    json actions = json::array();
    if (pick(2)) actions.push_back({{"action", "add"}, {"token_id", 1}});
    actions.push_back(bad[pick(static_cast<int>(std::size(bad)))]);
    if (!run("inject", {{"actions", actions}})) return false;
    return !m_refusal.empty() || fail("a bad list was accepted");
  }

  bool evict() {
    const int layer = pick(m_session->cacheLayers().count());
    const ResidencyView& map = m_session->state().map(CacheLayer(layer));
    if (map.size() < 6 || !m_ragged) return true;
    json ids = json::array();
    for (std::size_t i = static_cast<std::size_t>(pick(5)); i < map.size() && ids.size() < 4;
         i += 3 + static_cast<std::size_t>(pick(9)))
      ids.push_back(map.ledger[i].value());
    return run("evict", {{"layer", layer}, {"ledger", ids}, {"now", pick(2) == 1}});
  }

  bool prompt() {
    const json args{{"ids", SessionFixture::ids(1 + pick(12), static_cast<unsigned>(m_random()))}};
    if (pick(2)) return run("promptIds", args, true);
    return run("prefill", args, true) && run("prefill", args, true) && run("endPrefill", json::object(), true);
  }

  bool reset() {
    if (!run("reset", json::object(), true)) return false;
    if (length() != 0 || m_session->state().tick != Tick(0)) return fail("a reset left something");
    m_hashes.clear(), m_parts.clear();
    m_saved.clear();
    m_converted = turnsKeys();
    note();
    return true;
  }

  /// Writes a file, or reads one written before. A native file brings back the state it was made of.
  bool saveOrLoad() {
    if (m_saved.empty() || pick(2)) {
      const std::string path = m_folder.filePath(QString::number(m_files++)).toStdString();
      const char* form = pick(3) ? "native" : pick(2) ? "hf_dynamic" : "hf_tuple";
      const std::string hash = stateHash(*m_session);
      if (!run("saveCache", {{"path", path}, {"form", form}})) return false;
      if (stateHash(*m_session) != hash) return fail("saving changed the state");
      if (m_refusal.empty()) m_saved.push_back({path, form, hash});
      const bool rightly = m_refusal.empty() || (form[0] == 'h' && (m_refusal == "ragged" || m_refusal == "empty")) ||
          (form[0] == 'n' && turnsKeys() && m_refusal == "other_format");
      return rightly || fail("saving was refused");
    }
    const Saved file = m_saved[static_cast<std::size_t>(pick(static_cast<int>(m_saved.size())))];
    if (!run("loadCache", {{"path", file.path}}, true)) return false;
    ++m_counts["loaded " + file.form];
    if (file.form == "native") return stateHash(*m_session) == file.hash || fail("a native file brought another state");
    m_converted = true;
    return true;
  }

  bool shrink() {
    json positions = json::array();
    for (int p = 0; p < length() - 30; ++p) positions.push_back(p);
    if (!run("clearPending", json::object(), true)) return false;
    if (!run("inject", {{"actions", {{{"action", "replace"}, {"positions", positions}, {"new_token_ids", {5}}}}}},
             true))
      return false;
    return run("apply", json::object(), true);
  }

  bool backAndForth() {
    const int back = 1 + pick(4);
    for (int i = 0; i < back; ++i)
      if (!history("undo")) return false;
    for (int i = pick(back + 2); i > 0; --i)
      if (!history("redo")) return false;
    return true;
  }

  /// A state of the past has the hash it had.
  /// A tick some entries back; a loaded file may have left out ticks between.
  std::int64_t pastTick() {
    const Timeline& all = m_session->timeline();
    int entry = all.currentId();
    for (int back = pick(6); back > 0 && all.entry(entry).parent >= 0; --back) entry = all.entry(entry).parent;
    return all.entry(entry).tick.value();
  }

  bool history(const std::string& verb) {
    json args = json::object();
    if (verb == "goto") args["tick"] = pastTick();
    m_log.push_back(verb + " " + args.dump());
    const Result<json> result = m_session.verb(verb, args);
    if (!result && verb != "goto" && result.error().code == "nothing_to_" + verb) return true;
    if (!result) return fail("refused: " + QByteArray::fromStdString(result.error().text()));
    ++m_counts[verb];
    const int entry = m_session->timeline().currentId();
    if (m_hashes.contains(entry) && m_hashes[entry] != m_session.hash())
      return fail("the state of entry " + QByteArray::number(entry) + " came back with another hash" +
                  differences(entry));
    return sound(result);
  }

  bool rebuild() {
    if (!run("rebuild", json::object(), true)) return false;
    const Result<Drift> drift = measureDrift(*m_session);
    if (!drift) return fail("no drift after a rebuild");
    return !drift->worstLayer || fail("rows differ from a rebuild right after one");
  }

  bool checkDrift() {
    m_log.push_back("drift");
    const std::string before = m_session.hash();
    const Result<Drift> drift = measureDrift(*m_session);
    if (!drift) return fail("drift was refused: " + QByteArray::fromStdString(drift.error().text()));
    ++m_counts["drift"];
    if (m_converted) return m_session.hash() == before || fail("measuring drift changed the state");
    if (!drift->k.empty() && (drift->k[0] != 0 || drift->v[0] != 0)) return fail("layer 0 differs from a rebuild");
    if (!exactRowsAreExact(*drift)) return false;
    const bool untouched = !m_session->state().edited;
    if (untouched && drift->worstLayer) return fail("an unedited cache drifts");
    return m_session.hash() == before || fail("measuring drift changed the state");
  }

  /// A row with the label exact equals the row that a rebuild computes.
  bool exactRowsAreExact(const Drift& drift) {
    const ExactnessMap& map = exactnessMap(*m_session);
    for (std::size_t layer = 0; layer < map.layers.size(); ++layer)
      for (std::size_t i = 0; i < map.layers[layer].size(); ++i) {
        if (map.layers[layer][i] != Exactness::Exact) continue;
        ++m_counts["exact rows"];
        if (drift.kRows[layer][i] > 0 || drift.vRows[layer][i] > 0)
          return fail("row " + QByteArray::number(static_cast<int>(i)) + " of layer " +
                      QByteArray::number(static_cast<int>(layer)) + " is said to be exact and drifts");
      }
    return true;
  }

  struct Saved {
    std::string path, form, hash;
  };

  std::mt19937 m_random;
  Counts& m_counts;
  QTemporaryDir m_folder;
  SessionFixture m_session;
  std::vector<Saved> m_saved;
  int m_files = 0;
  const bool m_ragged;       // rows are evicted in this script: Hugging Face forms refuse that
  bool m_converted = false;  // rows came through another form, or keys are turned: no claim of exactness holds
  std::map<int, std::string> m_hashes;  // [timeline entry] its state hash
  std::map<int, std::map<std::string, std::string>> m_parts;
  std::vector<std::string> m_log;
  std::string m_refusal;  // code of the last refused call
  QByteArray m_said;
  std::int64_t m_operations = 0;
};

}  // namespace

class EditScriptsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void scripts_data() {
    QTest::addColumn<QByteArray>("manifest");
    QTest::addColumn<unsigned>("seed");
    const json after[] = {"keep", "recompute", {{"selective", {{"ratio", 0.3}}}}};
    int row = 0;
    test::SanitizerSample sample(3);
    for (const char* position : {"context", "absolute", "cache"})
      for (const char* executor : {"batch", "descending"})
        for (const json& each : after)
          for (int seed = 1; seed <= kSeeds; ++seed, ++row) {
            // The rest takes turns, so that every value meets every other.
            json manifest{{"position", position},
                          {"executor", executor},
                          {"after_edit", each},
                          {"layout", row % 2 ? "contiguous_splice" : "indirection"},
                          {"absolute_overflow", row % 3 ? "shift" : "refuse"},
                          {"dtype", row % 5 == 1 ? "bf16" : "f32"},
                          {"new_rows", row % 7 == 3 ? "embedding_only" : "forward"},
                          {"history_bytes", row % 4 == 2 ? 0 : 64 << 20},
                          {"sampling", {{"temperature", row % 2}, {"seed", seed}}},
                          {"prefill_chunk", row % 3 == 1 ? 8 : 256},
                          {"key_phase", row % 13 < 3 ? "at_write" : "on_read"},
                          {"capacity", row % 11 == 5 ? 40 : 400}};
            constexpr const char* kFamilies[] = {"synthetic:tiny-gemma", "synthetic:tiny-nope", "synthetic:tiny-moe"};
            if (row % 7 > 3) manifest["model"] = kFamilies[row % 7 - 4];
            if (row % 4 == 1)
              manifest["brightness"] = {{"target", 30}, {"compressor", "nearest"}, {"min_cosine", -1}, {"decay", 20}};
            if (!sample.takes()) continue;
            QTest::addRow("seed %d, %s", seed + 10 * row, manifest.dump().c_str())
                << QByteArray::fromStdString(manifest.dump()) << static_cast<unsigned>(seed + 10 * row);
          }
    m_rows = row;
  }
  void scripts() {
    QFETCH(QByteArray, manifest);
    QFETCH(unsigned, seed);
    const int operations = std::max(20, totalOperations() / m_rows);
    constexpr int kEach = 150;  // a session's history is executed again by undo: keep it short
    for (int done = 0; done < operations; done += kEach) {
      const unsigned script = seed + 10000 * static_cast<unsigned>(done / kEach);
      Script run(json::parse(manifest.toStdString()), script, m_counts);
      const auto said = [&](int i) {
        return "script seed " + QByteArray::number(script) + ", operation " + QByteArray::number(i) + ": " + run.said();
      };
      const int here = std::min(kEach, operations - done);
      for (int i = 0; i < here; ++i) QVERIFY2(run.step(), said(i));
      QVERIFY2(run.finish(), said(here));
      m_operations += here;
    }
  }

  /// The scripts reach the cases that they are made for.
  void scriptsReachEverything() {
    QByteArray all;
    for (const auto& [what, times] : m_counts)
      all += QByteArray::fromStdString(what) + " " + QByteArray::number(times) + ", ";
    qInfo("%d operations: %s", m_operations, all.constData());
    for (const char* what : {"promptIds",
                             "prefill",
                             "step",
                             "run",
                             "stepAction",
                             "inject",
                             "apply",
                             "evict",
                             "rebuild",
                             "reset",
                             "undo",
                             "redo",
                             "goto",
                             "pin",
                             "setBrightness",
                             "drift",
                             "saveCache",
                             "loadCache",
                             "loaded native",
                             "loaded hf_dynamic",
                             "loaded hf_tuple",
                             "replayed",
                             "applied add",
                             "applied delete",
                             "applied insert",
                             "applied replace",
                             "applied replace_pair",
                             "applied evict",
                             "refused capacity",
                             "refused out_of_range",
                             "refused bad_order",
                             "refused overlap",
                             "refused bad_token",
                             "refused bad_action",
                             "refused nothing_pending"})
      QVERIFY2(m_counts[what] > 0, what);
    QVERIFY2(m_counts["refused"] > m_operations / 50, "hardly anything was refused");
    QVERIFY2(m_counts["undo"] + m_counts["redo"] + m_counts["goto"] > m_operations / 100, "hardly anything was undone");
  }

 private:
  static constexpr int kSeeds = 5;
  Script::Counts m_counts;
  int m_rows = 1, m_operations = 0;
};

KV_TEST(EditScriptsTest)
#include "edit_scripts_test.moc"
