// SPDX-License-Identifier: Apache-2.0
// Working contexts with gists against resources/gists/reference.json, which PyTorch computed in f64: the gists of the
// demo model, mean and trained, and the next token's logits over tilings of tokens, LOD1 and LOD2, damped and not.
#include "core/kinds/wlod/state/wlod_state.h"
#include "core/model/files/strict_json.h"
#include "support/runner.h"
#include "support/session_fixture.h"

using namespace kvlab;

namespace {

json referenceCases() {
  const Result<json> file = readJsonFile(std::string(KVLAB_RESOURCES_DIR) + "/gists/reference.json", "bad_file");
  if (!file) qFatal("%s", file.error().text().c_str());
  return file->at("cases");
}

/// Collapses from the finest level up to a tiling.
json collapsesTo(const json& tiling) {
  json actions = json::array();
  const auto add = [&](TreeNode node) { actions.push_back({{"action", "collapse"}, {"node", node.id().value()}}); };
  for (const json& entry : tiling) {
    const TreeNode node{entry.at("level").get<int>(), entry.at("start").get<int>()};
    for (int i = 0; node.level == 2 && i < kGistBlock; ++i) add(node.child(i));
    if (node.level > 0) add(node);
  }
  return actions;
}

}  // namespace

class WlodReference : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void transformersArithmetic_data() {
    QTest::addColumn<int>("number");
    QTest::addColumn<QString>("net");
    for (int i = 0; i < static_cast<int>(referenceCases().size()); ++i)
      for (const char* net : {"mean", "trained"}) QTest::addRow("%d %s", i, net) << i << QString(net);
  }
  void transformersArithmetic() {
    QFETCH(int, number);
    QFETCH(QString, net);
    const json one = referenceCases()[static_cast<std::size_t>(number)];
    const json wanted = one.at("results").at(net.toStdString());
    const SessionFixture s({{"model", "demo"},
                            {"dtype", "f32"},
                            {"capacity", 0},
                            {"history_bytes", 0},
                            {"wlod",
                             {{"budget", 4096},
                              {"moments", 4096},
                              {"lens", "off"},
                              {"protect", 0},
                              {"cooldown", 0},
                              {"sigma", one.at("sigma")},
                              {"gist", net.toStdString()}}}});
    s.must("promptIds", {{"ids", one.at("tokens")}});
    s.must("inject", {{"actions", collapsesTo(one.at("tiling"))}});
    s.must("apply");
    QCOMPARE(s->state().length(), static_cast<int>(one.at("tiling").size()));
    std::size_t gist = 0;
    for (const TreeNode entry : wlodIn(s->state()).context.entries()) {
      if (entry.level == 0) continue;
      const json values = wanted.at("gists").at(gist++);
      double largest = 1;
      for (const json& value : values) largest = std::max(largest, std::abs(value.get<double>()));
      for (std::size_t d = 0; d < values.size(); ++d) {
        const double have = static_cast<double>(wlodIn(s->state()).tree.gist(entry)[d]), want = values[d].get<double>();
        QVERIFY2(std::abs(have - want) <= 2e-5 * largest,
                 (entry.text() + ": " + std::to_string(have) + " for " + std::to_string(want)).c_str());
      }
    }
    QVERIFY(gist > 0);
    const std::vector<float>& logits = *s->state().logits;
    for (const json& top : wanted.at("top")) {
      const double have = static_cast<double>(logits[top[0].get<std::size_t>()]), want = top[1].get<double>();
      QVERIFY2(std::abs(have - want) <= 2e-4, (std::to_string(have) + " for " + std::to_string(want)).c_str());
    }
  }
};

KV_TEST(WlodReference)
#include "wlod_reference_test.moc"
