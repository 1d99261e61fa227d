// SPDX-License-Identifier: Apache-2.0
// Every bug that can be planted is found in the tick in which its condition is met, by the check that should find it,
// in the layer and at the row that it bends; without the bug the same script finds nothing.
#include "core/bugs/bug_kind.h"
#include "support/session_fixture.h"

using namespace kvlab;

namespace {

struct Case {
  const char* bug;
  json manifest;
  std::vector<const char*> checks;           // each of them finds it
  std::function<void(SessionFixture&)> run;  // ends with the tick in which it is found
};

void steps(SessionFixture& s, int n) { s.must("step", {{"n", n}}); }

/// The last rows leave the context.
void cut(SessionFixture& s, int n) {
  json actions = json::array();
  for (int i = 0; i < n; ++i) actions.push_back({{"action", "delete"}, {"position", 19 - i}});
  s.must("inject", {{"actions", actions}, {"now", true}});
}

const json kWindow = {{"layers", {{{"match", "1-2"}, {"window", 8}}}}};
const json kCodes = {{"kv", {{"k", "int8"}, {"v", "int8"}}}};

const std::vector<Case> kCases = {
    {"window_plus_one", kWindow, {"visible_rows", "exact_rows"}, [](SessionFixture& s) { steps(s, 1); }},
    {"window_lost_at_one", kWindow, {"visible_rows", "exact_rows"}, [](SessionFixture& s) { steps(s, 1); }},
    {"unfilled_ring_read",
     {{"layout", "ring_fused"}, {"ring", {{"window", 64}}}},
     {"visible_rows", "exact_rows"},
     [](SessionFixture& s) { steps(s, 1); }},
    {"chunk_positions_restart",
     {{"prefill_chunk", 16}},
     {"visible_rows", "exact_rows"},
     [](SessionFixture& s) {
       s.must("promptIds", {{"ids", SessionFixture::ids(24, 3)}});
     }},
    {"sees_unwritten_chunk",
     {{"prefill_chunk", 16}},
     {"visible_rows"},
     [](SessionFixture& s) {
       s.must("promptIds", {{"ids", SessionFixture::ids(24, 3)}});
     }},
    {"block_edge_leak",
     json::object(),
     {"visible_rows", "exact_rows"},
     [](SessionFixture& s) {
       s.must("step", {{"tokens", SessionFixture::ids(65 - 20, 3)}});
     }},
    {"position_is_row_count",
     json::object(),
     {"visible_rows", "exact_rows"},
     [](SessionFixture& s) {
       s.must("evict", {{"layer", 2}, {"ledger", {3}}, {"now", true}});
       steps(s, 1);
     }},
    {"one_slot",
     json::object(),
     {"visible_rows", "row_tags"},
     [](SessionFixture& s) {
       s.must("promptIds", {{"ids", SessionFixture::ids(6, 3)}});
     }},
    {"scale_is_one", kCodes, {"exact_rows"}, [](SessionFixture& s) { steps(s, 1); }},
    {"scale_floor", kCodes, {"scale_law", "exact_rows"}, [](SessionFixture& s) { steps(s, 1); }},
    {"zeroed_rows", json::object(), {"exact_rows"}, [](SessionFixture& s) { steps(s, 12); }},
    {"slot_freed_twice", json::object(), {"slots_unique"}, [](SessionFixture& s) { steps(s, 1); }},
    {"wrap_before_read",
     {{"layout", "ring_fused"}, {"ring", {{"window", 16}}}},
     {"visible_rows"},
     [](SessionFixture& s) {
       s.must("promptIds", {{"ids", SessionFixture::ids(60, 3)}});
     }},
    {"trim_after_wrap_ignored",
     {{"layout", "ring_fused"}, {"ring", {{"window", 16}}}},
     {"storage_form"},
     [](SessionFixture& s) { cut(s, 3); }},
    {"rewind_two_too_many", json::object(), {"mirror_length"}, [](SessionFixture& s) { cut(s, 3); }},
    {"crop_zero", json::object(), {"residency_order"}, [](SessionFixture& s) { cut(s, 3); }},
    {"rope_factor_switch",
     {{"model", "synthetic:tiny-longrope"}},
     {"exact_rows"},
     [](SessionFixture& s) {
       s.must("promptIds", {{"ids", SessionFixture::ids(50, 3)}});
     }},
    {"shift_of_codes",
     {{"key_phase", "at_write"}, {"kv", {{"k", "int8"}, {"v", "int8"}}}},
     {"exact_rows"},
     [](SessionFixture& s) {
       s.must("inject", {{"actions", {{{"action", "delete"}, {"position", 5}}}}, {"now", true}});
     }},
    {"scale_of_neighbour",
     kCodes,
     {"row_tags"},
     [](SessionFixture& s) {
       s.must("promptIds", {{"ids", SessionFixture::ids(50, 3)}});
     }},
    {"shared_tail_page", {{"layout", "paged"}}, {"slot_conservation"}, [](SessionFixture& s) { cut(s, 3); }},
    {"page_leak", {{"layout", "paged"}}, {"slot_conservation"}, [](SessionFixture& s) { cut(s, 3); }},
    {"kept_state_outlived",
     {{"layout", "batch_splice"}},
     {"row_tags"},
     [](SessionFixture& s) {
       s.must("inject", {{"actions", {{{"action", "delete"}, {"position", 5}}}}, {"now", true}});
       s.must("undo");
     }},
    {"foreign_rows",
     json::object(),
     {"exact_rows"},
     [](SessionFixture& s) {
       const QTemporaryDir dir;
       const std::string path = dir.filePath("c.safetensors").toStdString();
       s.must("saveCache", {{"path", path}});
       s.must("loadCache", {{"path", path}});
     }},
    {"weights_swapped", json::object(), {"row_origin"}, [](SessionFixture& s) { steps(s, 1); }},
    {"policy_never_ran",
     {{"policy", {{"name", "streaming_llm"}, {"sinks", 2}, {"window", 8}}}},
     {"policy_contract"},
     [](SessionFixture& s) { steps(s, 1); }},
    {"wrong_head_group", json::object(), {"exact_rows"}, [](SessionFixture& s) { steps(s, 1); }},
};

/// The findings behind the script.
std::vector<Finding> found(const Case& one, bool planted, const char* level) {
  json manifest = one.manifest;
  manifest["faults"] = true;
  manifest["check"] = {{"level", level}};
  SessionFixture s(manifest);
  s.prompt(20);
  if (planted) s.must("bug", {{"name", one.bug}});
  one.run(s);
  return s->snapshot()->alignment.findings;
}

}  // namespace

class BugsTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void everyBugHasACase() {
    QCOMPARE(kCases.size(), bugKinds().size());
    for (std::size_t i = 0; i < kCases.size(); ++i)
      QCOMPARE(std::string(kCases[i].bug), std::string(bugKinds()[i]->name));
  }

  void isFound_data() {
    QTest::addColumn<int>("at");
    for (std::size_t i = 0; i < kCases.size(); ++i) QTest::newRow(kCases[i].bug) << static_cast<int>(i);
  }
  void isFound() {
    QFETCH(int, at);
    const Case& one = kCases[static_cast<std::size_t>(at)];
    for (const Finding& finding : found(one, false, "full")) QFAIL(finding.violation.detail.c_str());
    const std::vector<Finding> all = found(one, true, "full");
    std::string said;
    for (const Finding& finding : all) said += finding.violation.invariant + ": " + finding.violation.detail + "\n";
    for (const char* check : one.checks) {
      const auto by = std::ranges::find(all, check, [](const Finding& f) { return f.violation.invariant; });
      QVERIFY2(by != all.end(), (std::string(check) + " found nothing\n" + said).c_str());
      QVERIFY2(by->violation.layer && by->violation.ledger, said.c_str());
    }
    qInfo("%s", said.substr(0, said.find('\n')).c_str());
  }

  /// What the cheap checks of the same ticks find.
  void cheapLevel_data() { isFound_data(); }
  void cheapLevel() {
    QFETCH(int, at);
    const Case& one = kCases[static_cast<std::size_t>(at)];
    for (const Finding& finding : found(one, false, "cheap")) QFAIL(finding.violation.detail.c_str());
    const std::string_view check = one.checks.front();
    const bool expected = (check != "exact_rows" && check != "slot_conservation" && check != "scale_law") ||
        std::string_view(one.bug) == "foreign_rows";
    QCOMPARE(!found(one, true, "cheap").empty(), expected);
  }

  void doorIsShut() {
    SessionFixture s;
    QCOMPARE(s.verb("bug", {{"name", "one_slot"}}).error().code, std::string("door_closed"));
    SessionFixture open(json{{"faults", true}});
    QCOMPARE(open.verb("bug", {{"name", "bees"}}).error().code, std::string("bad_bug"));
    QCOMPARE(open.must("bug", {{"name", "one_slot"}})["name"], json("one_slot"));
    QVERIFY(open.must("bug").is_null());
    open.prompt(12);
    QVERIFY(open.sound());
    QCOMPARE(open.must("bugs").size(), bugKinds().size());
  }
};

QTEST_GUILESS_MAIN(BugsTest)
#include "bugs_test.moc"
