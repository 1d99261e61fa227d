// SPDX-License-Identifier: Apache-2.0
// Whatever sequences of a batch do, each on its own and all together, each has the bits of a session that does the same
// alone: policies, rings, row types, positions, wLOD, edits, undo, changes of storage.
#include "core/lanes/batch.h"
#include "core/session/truth.h"
#include "support/runner.h"
#include "support/wlod_session.h"

using namespace kvlab;

namespace {

class Pair {
 public:
  Pair(const json& manifest, int size, unsigned seed) : m_random(seed) {
    auto begun = [&] {
      SessionFixture s(manifest);
      s.prompt(30);
      return std::move(s.session);
    };
    for (int i = 0; i < size; ++i) m_alone.push_back(begun());
    std::unique_ptr<Session> origin = begun();
    m_batch = Batch::around(origin, size).take();
  }

  /// Something that one sequence does, or all; a refused call is refused to both.
  void act() {
    const int i = below(m_batch->size());
    switch (below(10)) {
      case 0: return prompt();
      case 1: return both(i, "undo", nullptr);
      case 2: return both(i, "settings", {{"sampling", {{"temperature", 0.9}, {"seed", below(99)}}}});
      case 3: return both(i, "settings", {{"policy", kPolicies[at(below(4))]}});
      case 4: return both(i, "settings", {{"layout", kLayouts[at(below(4))]}});
      case 5: return both(i, "settings", {{"kv", {{"k", kTypes[at(below(3))]}, {"v", kTypes[at(below(3))]}}}});
      case 6: return both(i, "inject", {{"actions", {edit(i)}}});
      case 7: return both(i, "inject", {{"actions", {edit(i)}}, {"now", true}});
      default: return step();
    }
  }

  QString difference() const {
    for (int i = 0; i < m_batch->size(); ++i)
      if (stateHash(m_batch->session(i)) != stateHash(*m_alone[at(i)])) return QString("sequence %1").arg(i);
    return {};
  }

 private:
  static constexpr const char* kPolicies[] = {"full", "h2o:sinks=2,window=6,capacity=20", "knorm:capacity=24",
                                              "streaming_llm:sinks=2,window=12"};
  static constexpr const char* kLayouts[] = {"indirection", "contiguous_splice", "paged:block=4", "boolean_gather"};
  static constexpr const char* kTypes[] = {"f32", "int8", "bf16"};

  int below(int n) { return static_cast<int>(m_random() % static_cast<unsigned>(n)); }
  static std::string codeIn(const Result<json>& result) { return result ? "" : result.error().code; }

  json edit(int i) {
    const int position = below(std::max(1, m_alone[at(i)]->state().length()));
    if (below(2)) return {{"action", "delete"}, {"position", position}};
    return {{"action", "replace"}, {"positions", {position}}, {"new_token_ids", {3 + below(200), 9}}};
  }

  void both(int i, const char* verb, const json& args) {
    const Result<json> one = m_batch->call(i, verb, args), other = execute(*m_alone[at(i)], verb, args);
    QCOMPARE(QString::fromStdString(codeIn(one)), QString::fromStdString(codeIn(other)));
  }

  void prompt() {
    std::vector<json> prompts;
    for (int i = 0; i < m_batch->size(); ++i)
      prompts.push_back(below(3) ? json(SessionFixture::ids(1 + below(20), static_cast<unsigned>(m_random())))
                                 : json());
    const BatchTick tick = m_batch->prompt(prompts);
    for (int i = 0; i < m_batch->size(); ++i)
      if (!prompts[at(i)].is_null())
        QCOMPARE(!tick.sequences[at(i)].error, !!execute(*m_alone[at(i)], "promptIds", {{"ids", prompts[at(i)]}}));
  }

  void step() {
    for (int n = 1 + below(3); n > 0; --n) {
      const BatchTick tick = m_batch->step();
      for (int i = 0; i < m_batch->size(); ++i)
        if (tick.sequences[at(i)].took) QVERIFY(execute(*m_alone[at(i)], "step", nullptr));
    }
  }

  std::mt19937 m_random;
  std::vector<std::unique_ptr<Session>> m_alone;
  std::unique_ptr<Batch> m_batch;
};

}  // namespace

class BatchProperty : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void isWhatItsSequencesAreAlone_data() {
    QTest::addColumn<QString>("manifest");
    for (const char* manifest :
         {R"({})", R"({"layout":"paged:block=4","kv":{"k":"int8","v":"int8"},"prefill_chunk":7})",
          R"({"layout":"ring_fused","ring":{"window":24}})", R"({"layout":"ring_roll","ring":{"window":24}})",
          R"({"position":"cache","layout":"contiguous_splice"})", R"({"residency":"kv_head"})",
          R"({"key_phase":"at_write","executor":"descending"})",
          R"({"model":"demo","policy":"smartkv:sinks=2,window=6,capacity=24"})",
          R"({"capacity":0,"wlod":{"budget":160,"moments":1024}})"})
      QTest::newRow(manifest) << manifest;
  }
  void isWhatItsSequencesAreAlone() {
    QFETCH(QString, manifest);
    for (unsigned seed = 1; seed <= 2; ++seed) {
      json wanted = json::parse(manifest.toStdString());
      wanted["sampling"] = {{"temperature", 0.9}, {"seed", 3}};
      Pair pair(wanted, 3, seed);
      for (int i = 0; i < 24; ++i) {
        pair.act();
        if (QTest::currentTestFailed()) return;
        if (i % 6 == 5)
          QVERIFY2(pair.difference().isEmpty(),
                   qPrintable(QString("seed %1, step %2: %3").arg(seed).arg(i).arg(pair.difference())));
      }
    }
  }
};

KV_TEST(BatchProperty)
#include "batch_test.moc"
