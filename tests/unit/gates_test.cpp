// SPDX-License-Identifier: Apache-2.0
// Gates: scores against a reference in double over stored keys, equal bits for one pass, chunks and decode, on
// every back end; files that do not fit are refused by name.
#include "support/session_fixture.h"

#include <QTemporaryDir>
#include <fstream>

#include "core/analysis/lifespans.h"
#include "core/edit/compute_rows.h"
#include "core/edit/recompute.h"
#include "core/files/fingerprint.h"
#include "core/model/decoder/gate_weights.h"
#include "core/session/truth.h"
#include "kernels/ops/op_table.h"
#include "support/gate_file.h"
#include "support/runner.h"

using namespace kvlab;

namespace {

const std::string kGateModels = KVLAB_TESTS_DIR "/oracle/models/";

/// The session's back end, which outlives the objects made with it here.
std::shared_ptr<kernels::Backend> borrowed(Session& s) {
  return {&s.transformer().backend(), [](kernels::Backend*) {}};
}

/// A pass over rows [begin, end) of the present context that writes nothing.
RowsResult passOver(Session& s, const Wanted& wanted, std::int32_t begin, std::int32_t end) {
  const CacheState& state = s.state();
  RowsJob job;
  job.context = state.context;
  job.contextSums = state.contextSums;
  job.groups = state.groups;
  job.groupOf = state.groupOf;
  job.write = false;
  job.wanted = wanted;
  for (std::int32_t p = begin; p < end; ++p) job.rows.push_back(targetAt(state, p));
  Result<RowsResult> result = computeRows(s.transformer(), const_cast<CacheStore&>(s.store()), s.parts().faults, job);
  if (!result) qFatal("%s", result.error().text().c_str());
  return result.take();
}

/// The scores of rows [begin, end) of the present context, [layers][rows*kvHeads].
std::vector<std::vector<float>> scoresOf(Session& s, const GateWeights* gates, std::int32_t begin, std::int32_t end) {
  return passOver(s, {.gates = gates}, begin, end).gateScores;
}

/// All rows, `each` of them per job, put together again.
std::vector<std::vector<float>> inJobs(Session& s, const GateWeights& gates, std::int32_t each) {
  std::vector<std::vector<float>> all(s.state().layers().size());
  for (std::int32_t begin = 0; begin < s.state().length(); begin += each) {
    const auto some = scoresOf(s, &gates, begin, std::min(begin + each, s.state().length()));
    for (std::size_t l = 0; l < all.size(); ++l) all[l].insert(all[l].end(), some[l].begin(), some[l].end());
  }
  return all;
}

/// Stored keys, [rows*kvHeads*headDim].
std::vector<float> storedKeys(const SessionFixture& s, int layer, bool rotated) {
  std::vector<float> all;
  for (int i = 0; i < s->state().length(); ++i)
    for (const float x : s.must("row", {{"layer", layer}, {"index", i}, {"which", "k"}, {"rotated", rotated}})["data"]
                             .get<std::vector<float>>())
      all.push_back(x);
  return all;
}

/// Keys of layer 0 before norm and rotation, from the weights, in double.
std::vector<float> freshKeys(const SessionFixture& s) {
  const Model& model = s->model();
  const ModelConfig& c = model.config();
  const std::vector<float> embed = widened(model.embed()), norm = widened(model.layer(Layer(0)).inputNorm),
                           w = widened(model.layer(Layer(0)).k), bias = widened(model.layer(Layer(0)).kBias);
  const auto hidden = static_cast<std::size_t>(c.hidden);
  std::vector<float> all;
  for (const int token : s.tokens()) {
    const float* x = embed.data() + static_cast<std::size_t>(token) * hidden;
    double squares = 0;
    for (std::size_t i = 0; i < hidden; ++i) squares += double{x[i]} * double{x[i]};
    const double factor = 1 / std::sqrt(squares / c.hidden + c.rmsEps);
    for (std::size_t o = 0; o < static_cast<std::size_t>(c.kvHeads * c.headDim); ++o) {
      double sum = bias.empty() ? 0.0 : double{bias[o]};
      for (std::size_t i = 0; i < hidden; ++i)
        sum += double{w[o * hidden + i]} * double{x[i]} * factor * double{norm[i]};
      all.push_back(static_cast<float>(sum));
    }
  }
  return all;
}

double worstScore(const GateFile& file, int layer, const std::vector<float>& keys, const std::vector<float>& scores,
                  const ModelConfig& c) {
  double apart = 0;
  for (std::size_t i = 0; i < scores.size(); ++i)
    apart = std::max(apart,
                     std::fabs(file.score(layer, static_cast<std::int64_t>(i) % c.kvHeads,
                                          keys.data() + i * static_cast<std::size_t>(c.headDim)) -
                               double{scores[i]}));
  return apart;
}

}  // namespace

class GatesTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void nothingComesUnasked() {
    const SessionFixture s(json{{"capacity", 64}});
    s.must("promptIds", {{"ids", std::vector<int>{5, 6, 7, 8}}});
    const RowsResult none = passOver(*s.session, {}, 0, 4);
    QVERIFY(none.logits.empty() && !none.attention && none.gateScores.empty() && none.moments.empty());
    const Wanted both = Wanted{.newest = InLayers::Last, .momentsFrom = 2} |
        Wanted{.logits = true, .newest = InLayers::All, .received = InLayers::Last, .momentsFrom = 1};
    QCOMPARE(both.momentsFrom, std::optional(1));
    const RowsResult all = passOver(*s.session, both, 0, 4);
    QCOMPARE(all.logits, *s->state().logits);
    QVERIFY(all.attention->whole() && all.attention->received.front().empty());
    QCOMPARE(all.attention->received.back().size(), std::size_t{5});
    QCOMPARE(all.moments.size(), all.attention->mass.size());
    QVERIFY(all.attention->perHead.back().empty() && all.attention->receivedPerHead.back().empty());
  }

  void scores_data() {
    QTest::addColumn<QString>("model");
    QTest::addColumn<QString>("input");
    QTest::addColumn<QString>("keyPhase");
    for (const char* model : {"synthetic:tiny", "qwen3_f32", "qwen2_tied_f32"})
      for (const char* input : {"pre_rope", "post_rope"})
        for (const char* keyPhase : {"on_read", "at_write"})
          QTest::addRow("%s %s %s", model, input, keyPhase) << model << input << keyPhase;
  }

  void scores() {
    QFETCH(QString, model);
    QFETCH(QString, input);
    QFETCH(QString, keyPhase);
    const std::string name = model.toStdString();
    const SessionFixture s({{"model", name.starts_with("synth") ? name : kGateModels + name},
                            {"dtype", "f32"},
                            {"key_phase", keyPhase.toStdString()},
                            {"capacity", 128}});
    std::vector<int> ids = SessionFixture::ids(45);
    for (int& id : ids) id %= s->model().config().vocab;
    s.must("promptIds", {{"ids", ids}});
    const ModelConfig& c = s->model().config();
    GateFile file(c, 48);
    file.metadata["input"] = input.toStdString();
    const auto gates = loaded(file, *s.session);
    const auto scores = scoresOf(*s.session, gates.get(), 0, 45);
    QCOMPARE(scores.size(), static_cast<std::size_t>(c.layers));
    const bool rotated = input == "post_rope";
    for (int l = 0; l < c.layers; ++l) {
      QCOMPARE(scores[static_cast<std::size_t>(l)].size(), static_cast<std::size_t>(45 * c.kvHeads));
      const bool first = l == 0 && !rotated;
      if (c.qkNorm != QkNorm::None && !rotated && !first) continue;  // keys before their norm are not stored
      const std::vector<float> keys = first ? freshKeys(s) : storedKeys(s, l, rotated);
      const double apart = worstScore(file, l, keys, scores[static_cast<std::size_t>(l)], c);
      QVERIFY2(apart < 2e-5, qPrintable(QString("layer %1: %2 from the reference, tolerance 2e-5").arg(l).arg(apart)));
    }
    QVERIFY(scoresOf(*s.session, nullptr, 0, 45).empty());
  }

  void oneShotChunksAndDecodeAgree() {
    const auto manifest = [](int chunk, int threads, const char* backend) {
      return json{{"prefill_chunk", chunk}, {"threads", threads}, {"backend", backend}};
    };
    std::vector<std::vector<float>> first;
    std::vector<const char*> backends{"cpu"};
    if (qEnvironmentVariableIsSet("KVLAB_CUDA_MODULE")) backends.push_back("cuda");
    for (const char* backend : backends)
      for (const int chunk : {256, 9, 7, 1}) {
        const SessionFixture s(manifest(chunk, chunk % 3 + 1, backend));
        s.prompt(40);
        const auto gates = loaded(GateFile(s->model().config(), 32, Element::BF16), *s.session);
        for (const std::int32_t each : {40, 13, 1}) {
          const auto scores = inJobs(*s.session, *gates, each);
          if (first.empty()) first = scores;
          QVERIFY2(scores == first,
                   qPrintable(QString("%1, chunks of %2, %3 rows per job").arg(backend).arg(chunk).arg(each)));
        }
      }
  }

  /// Rows are the same as without gates, and recorded scores show a change of gates.
  void changesNothingElse() {
    const SessionFixture s, other;
    for (const SessionFixture* one : {&s, &other}) one->prompt(30);
    const auto gates = loaded(GateFile(s->model().config(), 32), *s.session),
               more = loaded(GateFile(s->model().config(), 32, Element::F16, 9), *s.session);
    const auto a = scoresOf(*s.session, gates.get(), 29, 30), b = scoresOf(*s.session, more.get(), 29, 30),
               again = scoresOf(*s.session, gates.get(), 29, 30);
    QVERIFY(a != b);
    QVERIFY(a == again);
    QCOMPARE(s.rows(), other.rows());
  }

  void knowsItsFile() {
    const SessionFixture s;
    GateFile file(s->model().config(), 20, Element::F16);
    file.metadata["input"] = "post_rope";
    const auto gates = loaded(file, *s.session);
    QCOMPARE(gates->input(), GateInput::PostRope);
    QCOMPARE(gates->model(), std::string("some model"));
    QCOMPARE(gates->threshold(), 0.05);
    QCOMPARE(gates->cap(), 6.0);
    QCOMPARE(gates->hidden(), 20);
    QCOMPARE(gates->layers(), s->model().config().layers);
    std::int64_t bytes = 0;
    for (const auto& [name, t] : file.tensors) bytes += static_cast<std::int64_t>(t.bytes().size());
    QCOMPARE(gates->bytes(), bytes);
  }

  void refusesWhatDoesNotFit_data() {
    QTest::addColumn<QString>("field");
    QTest::addColumn<int>("damage");
    const char* kFields[] = {"input",       "input",       "model",       "threshold",   "cap",         "layers.1.w2",
                             "layers.0.w1", "layers.0.w1", "layers.0.w3", "layers.1.b4", "layers.9.w1", "layers.0.w4",
                             "layers.1.b1", "layers.0.b2", "layers.0.w1", "threshold"};
    for (int i = 0; i < static_cast<int>(std::size(kFields)); ++i)
      QTest::addRow("%d %s", i, kFields[i]) << kFields[i] << i;
  }

  void refusesWhatDoesNotFit() {
    QFETCH(QString, field);
    QFETCH(int, damage);
    const SessionFixture s;
    GateFile file(s->model().config(), 24);
    const auto zeros = [](std::vector<std::int64_t> shape, Element element = Element::F32) {
      std::int64_t n = 1;
      for (const std::int64_t d : shape) n *= d;
      return GateFile::Tensor{shape, std::vector<float>(static_cast<std::size_t>(n)), element};
    };
    const std::int64_t heads = s->model().config().kvHeads, dim = s->model().config().headDim;
    const std::function<void()> kDamage[] = {[&] { file.metadata.erase("input"); },
                                             [&] { file.metadata["input"] = "rope"; },
                                             [&] { file.metadata.erase("model"); },
                                             [&] { file.metadata["threshold"] = "0.05x"; },
                                             [&] { file.metadata["cap"] = "nan"; },
                                             [&] { file.tensors.erase("layers.1.w2"); },
                                             [&] {
                                               file.tensors["layers.0.w1"] = zeros({heads, 1025, dim});
                                             },
                                             [&] {
                                               file.tensors["layers.0.w1"] = zeros({heads, 24, dim + 1});
                                             },
                                             [&] {
                                               file.tensors["layers.0.w3"] = zeros({heads, 24, 24}, Element::BF16);
                                             },
                                             [&] { file.tensors["layers.1.b4"] = zeros({heads}); },
                                             [&] { file.tensors["layers.9.w1"] = zeros({1}); },
                                             [&] { file.tensors["layers.0.w4"].values[3] = INFINITY; },
                                             [&] { file.tensors["layers.1.b1"].values[0] = NAN; },
                                             [&] { file.tensors.erase("layers.0.b2"); },
                                             [&] {
                                               file.tensors["layers.0.w1"] = zeros({heads, 24});
                                             },
                                             [&] { file.metadata["threshold"] = "-1"; }};
    kDamage[damage]();
    const std::string path = m_directory.filePath("bad.safetensors").toStdString();
    QVERIFY(file.write(path));
    const auto gates = GateWeights::load(path, s->model().config(), borrowed(*s.session));
    QVERIFY(!gates);
    QCOMPARE(gates.error().code, std::string("bad_gates"));
    QCOMPARE(gates.error().field, field.toStdString());
    QVERIFY(gates.error().why.find(path) != std::string::npos &&
            gates.error().why.find(field.toStdString()) != std::string::npos);
    QVERIFY(!gates.error().remedy.empty());
  }

  /// The gates that come with the demo model, on a story that neither it nor they have seen.
  void shippedGatesPredict() {
    const SessionFixture s({{"model", "demo"}, {"capacity", 1200}});
    auto gates =
        GateWeights::load(KVLAB_RESOURCES_DIR "/gates/demo.safetensors", s->model().config(), borrowed(*s.session));
    if (!gates) qFatal("%s", gates.error().text().c_str());
    QCOMPARE((*gates)->model(), modelFingerprint(s->model()));
    std::ifstream file(KVLAB_RESOURCES_DIR "/demo/stories.json");
    const json story = json::parse(file)[2];
    std::string text = story["text"];
    for (const json& asked : story["questions"])
      text += " " + asked["question"].get<std::string>() + " " + asked["reply"].get<std::string>();
    s.must("prompt", {{"text", text}});
    const Result<Lifespans> actual = recordLifespans(*s, {.keys = false});
    QVERIFY(actual);
    const auto scores = scoresOf(*s.session, gates->get(), 0, s->state().length());
    const int heads = s->model().config().kvHeads;
    for (std::size_t l = 0; l < scores.size(); ++l) {
      double sums[5] = {}, n = 0;
      for (std::size_t i = 0; i < scores[l].size(); ++i) {
        const double x = scores[l][i],
                     y = actual->layers[l]
                             .label[i % static_cast<std::size_t>(heads) * static_cast<std::size_t>(actual->rows) +
                                    i / static_cast<std::size_t>(heads)];
        const double terms[] = {x, y, x * x, y * y, x * y};
        for (int k = 0; k < 5; ++k) sums[k] += terms[k];
        ++n;
      }
      const double spread = (sums[2] - sums[0] * sums[0] / n) * (sums[3] - sums[1] * sums[1] / n);
      const double correlation = (sums[4] - sums[0] * sums[1] / n) / std::sqrt(spread);
      qInfo("layer %zu: correlation %.3f", l, correlation);
      QVERIFY(correlation > 0.5);
    }
  }

  void refusesWhatIsNoFile() {
    const SessionFixture s;
    for (const std::string& path : {std::string("/nowhere/at/all"), m_directory.path().toStdString(),
                                    std::string(KVLAB_TESTS_DIR "/CMakeLists.txt")}) {
      const auto gates = GateWeights::load(path, s->model().config(), borrowed(*s.session));
      QVERIFY(!gates);
      QCOMPARE(gates.error().code, std::string("bad_file"));
    }
  }

 private:
  std::shared_ptr<const GateWeights> loaded(const GateFile& file, Session& s) {
    const std::string path = m_directory.filePath("gates.safetensors").toStdString();
    if (Status written = file.write(path); !written) qFatal("%s", written.error().text().c_str());
    auto gates = GateWeights::load(path, s.model().config(), borrowed(s));
    if (!gates) qFatal("%s", gates.error().text().c_str());
    return gates.take();
  }
  QTemporaryDir m_directory;
};

KV_TEST(GatesTest)
#include "gates_test.moc"
