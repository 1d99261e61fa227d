// SPDX-License-Identifier: Apache-2.0
// Without a bug no check finds anything: random edits over layouts, formats, policies, wLOD and model families, checked
// in full after each of them. KVLAB_DEED_EDITS says how many edits each session makes.
#include "core/api/policy_spec.h"
#include "core/verbs/verbs.h"
#include "support/commits.h"
#include "support/runner.h"

using namespace kvlab;

namespace {

const std::vector<const char*> kDeedModels = {"synthetic:tiny",      "synthetic:tiny-gemma",
                                              "synthetic:tiny-nope", "synthetic:tiny-moe",
                                              "synthetic:tiny-odd",  "synthetic:tiny:dtype=bf16"};
const std::vector<json> kFormats = {json::object(),
                                    {{"kv", {{"k", "bf16"}, {"v", "fp8-e4m3"}}}},
                                    {{"kv", {{"k", "int8"}, {"v", "f16"}}}},
                                    {{"weights", "int8"}},
                                    {{"numerics", "portable-bf16"}, {"model", "synthetic:tiny:dtype=bf16"}},
                                    {{"layers", {{{"match", "1-2"}, {"window", 9}}}}}};

}  // namespace

class DeedsTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void nothingIsFound_data() {
    QTest::addColumn<QString>("manifest");
    const auto row = [](const json& manifest) {
      const std::string text = manifest.dump();
      QTest::newRow(text.c_str()) << QString::fromStdString(text);
    };
    for (const json& one : historyManifests())
      for (const char* model : kDeedModels) {
        json manifest = one;
        manifest["model"] = model;
        row(manifest);
      }
    for (const json& format : kFormats)
      for (const json& one : {historyManifests()[0], historyManifests()[3], historyManifests()[10]}) {
        json manifest = one;
        manifest.update(format);
        row(manifest);
      }
    for (const char* layout : {"batch_splice", "boolean_gather"}) row({{"layout", layout}});
    for (const char* ring : {"ring_roll", "ring_lut", "ring_block_roll"})
      row({{"layout", ring}, {"ring", {{"window", 12}}}});
    for (const PolicyName& policy : policies()) {
      if (policy.name == "full") continue;
      const json manifest{{"policy", {{"name", policy.name}, {"capacity", 14}}}, {"model", "synthetic:tiny"}};
      const Result<Manifest> parsed = Manifest::fromJson(manifest);
      if (parsed && openSession(*parsed, KVLAB_RESOURCES_DIR)) row(manifest);  // others need a file
    }
  }
  void nothingIsFound() {
    QFETCH(QString, manifest);
    json full = json::parse(manifest.toStdString());
    full["check"] = {{"level", "full"}};
    const Result<Manifest> parsed = Manifest::fromJson([&] {
      json all{{"capacity", 400}};
      all.update(full);
      return all;
    }());
    QVERIFY2(parsed, parsed ? "" : parsed.error().text().c_str());
    SessionFixture s(full);
    s.prompt(24, 7);
    std::mt19937 random(11);
    const int edits = std::max(24, qEnvironmentVariableIntValue("KVLAB_DEED_EDITS"));
    for (int i = 0; i < edits; ++i) {
      randomCommit(s, random);
      if (s->state().length() > 0 && i % 3 == 0) (void)s.verb("step");
      for (const InvariantState& one : s->snapshot()->invariants)
        QVERIFY2(one.ok, ("edit " + std::to_string(i) + ", " + std::string(one.id) + ": " + one.detail).c_str());
    }
  }
};

KV_TEST(DeedsTest)
#include "deeds_test.moc"
