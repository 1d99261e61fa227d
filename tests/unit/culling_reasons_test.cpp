// SPDX-License-Identifier: Apache-2.0
// Each pair that culling chose, or passed over for a brighter one, leaves its reason in the report of the tick and in
// its events. semantics.md, section 4.
#include <set>

#include "support/runner.h"
#include "support/session_fixture.h"

using namespace kvlab;

namespace {

SessionFixture cullingSession(double minCosine, int target = 20) {
  return SessionFixture(
      json{{"brightness", {{"compressor", "nearest"}, {"target", target}, {"min_cosine", minCosine}}}});
}

/// Ledger rows of a prompt are their positions.
void dimRows(const SessionFixture& s, std::initializer_list<int> rows, double value) {
  for (const int row : rows) s.must("setBrightness", {{"ledger", row}, {"value", value}});
}

std::vector<std::pair<int, std::string>> outcomes(const json& report) {
  std::vector<std::pair<int, std::string>> out;
  for (const json& one : report.value("culling", json::array()))
    out.emplace_back(one.at("position").get<int>(), one.at("outcome").get<std::string>());
  return out;
}

}  // namespace

class CullingReasonsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void everyReason() {
    const SessionFixture s = cullingSession(-1);
    s.prompt(26);
    const int last = s->cacheLayers().last().value();
    s.must("evict", {{"layer", last}, {"ledger", {7}}, {"now", true}});
    dimRows(s, {1, 2}, 12);
    s.must("pin", {{"ledger", 1}});
    dimRows(s, {4, 5}, 32);
    dimRows(s, {7, 8}, 52);
    dimRows(s, {12, 13}, 72);
    dimRows(s, {14}, 92);
    dimRows(s, {20, 21}, 112);
    s.must("inject", {{"actions", {{{"action", "delete"}, {"position", 4}}}}});
    const json report = s.must("step")[0];
    QVERIFY(report.at("ok").get<bool>());
    const auto found = outcomes(report);
    QCOMPARE(found.size(), std::size_t{7});
    const std::vector<std::pair<int, std::string>> wanted{{1, "pinned"},  {4, "listed"},    {7, "not_resident"},
                                                          {12, "culled"}, {13, "overlaps"}, {20, "culled"}};
    for (std::size_t i = 0; i < wanted.size(); ++i) QVERIFY2(found[i] == wanted[i], report["culling"].dump().c_str());
    QCOMPARE(found.back().second, std::string("enough"));
    const json& pinned = report["culling"][0];
    QVERIFY(pinned["brightness"].get<double>() > 2 && pinned["brightness"].get<double>() < 22);
    QCOMPARE(pinned["ledger"], json({1, 2}));
    QVERIFY(!pinned.contains("token") && report["culling"][3]["token"].is_number());
    int replaced = 0;
    for (const json& action : report["actions"])
      for (const json& note : report["culling"])
        replaced += action["action"] == "replace_pair" && note["outcome"] == "culled" &&
            action["original_pos1"] == note["position"] && action["new_token_ids"] == json({note["token"]});
    QCOMPARE(replaced, 2);
    std::multiset<std::string> events;
    for (const json& event : report["events"]) {
      events.insert(event["name"].get<std::string>());
      if (event["name"] == "passed_over" && event["detail"].get<std::string>().starts_with("positions 1 and 2"))
        QVERIFY(event["detail"].get<std::string>().ends_with(": pinned"));
    }
    QCOMPARE(events.count("cull"), std::size_t{1});
    QCOMPARE(events.count("culled"), std::size_t{2});
    QCOMPARE(events.count("passed_over"), std::size_t{5});
  }

  void noTokenIsNear() {
    const SessionFixture s = cullingSession(1);
    s.prompt(26);
    dimRows(s, {12, 13}, 30);
    const json report = s.must("step")[0];
    QCOMPARE(outcomes(report).front(), (std::pair<int, std::string>(12, "no_near_token")));
    for (const json& action : report["actions"]) QVERIFY(action["action"] != "replace_pair");
  }

  void nothingToSay() {
    const SessionFixture small = cullingSession(-1, 400);
    small.prompt(26);
    QVERIFY(!small.must("step")[0].contains("culling"));
    const SessionFixture off;
    off.prompt(26);
    QVERIFY(!off.must("step")[0].contains("culling"));
  }

  /// A report lists few of many dim pairs that cannot be replaced.
  void manyAreNotListed() {
    const SessionFixture s = cullingSession(-1, 50);
    s.prompt(60);
    for (int row = 0; row < 50; ++row) s.must("pin", {{"ledger", row}});
    for (int row = 0; row < 50; ++row) dimRows(s, {row}, 3);
    const json report = s.must("step")[0];
    const auto found = outcomes(report);
    QCOMPARE(std::ranges::count(found, std::string("pinned"), &std::pair<int, std::string>::second), 16);
    QCOMPARE(std::ranges::count(found, std::string("culled"), &std::pair<int, std::string>::second), 2);
  }
};

KV_TEST(CullingReasonsTest)
#include "culling_reasons_test.moc"
