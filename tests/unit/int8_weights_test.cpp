// SPDX-License-Identifier: Apache-2.0
// Models whose matrices are int8: the values of the codes, the tensors that stay as they are, and the notices of
// sessions.
#include <cmath>

#include "core/model/decoder/int8_weights.h"
#include "kernels/row_quant.h"
#include "support/runner.h"
#include "support/session_fixture.h"

using namespace kvlab;

namespace {

std::shared_ptr<const Model> openedModel(const std::string& spec) {
  auto model = Model::open(spec, KVLAB_RESOURCES_DIR);
  if (!model) qFatal("%s", model.error().text().c_str());
  return model.take();
}

std::vector<const TensorView*> matricesOf(const LayerWeights& weights) {
  std::vector<const TensorView*> out;
  eachWeight(weights, [&](const TensorView& view, WeightKind kind) {
    if (view && kind == WeightKind::Matrix) out.push_back(&view);
  });
  return out;
}

float largestLogit(const Session& s) { return *std::max_element(s.state().logits->begin(), s.state().logits->end()); }

}  // namespace

class Int8WeightsTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  /// Every weight lies within half a step of its code, and the largest of an output is the largest code.
  void codesAreNearest() {
    for (const char* spec : {"synthetic:tiny:dtype=bf16", "synthetic:tiny:dtype=f32"}) {
      const std::shared_ptr<const Model> model = openedModel(spec);
      const auto coded = withInt8Weights(model);
      QVERIFY(coded);
      for (const Layer l : idRange<Layer>(0, model->config().layers))
        for (std::size_t at = 0; const TensorView* place : matricesOf(model->layer(l))) {
          const TensorView &from = *place, &to = *matricesOf((*coded)->layer(l))[at++];
          QVERIFY(to.dtype == kernels::DType::i8 && to.shape == from.shape);
          const std::vector<float> values = widened(from);
          const auto* codes = static_cast<const std::int8_t*>(to.data);
          const std::int64_t k = from.shape[1];
          for (std::int64_t i = 0; i < from.shape[0]; ++i) {
            int most = 0;
            for (std::int64_t j = i * k; j < (i + 1) * k; ++j) {
              most = std::max(most, std::abs(int{codes[j]}));
              QVERIFY(std::abs(values[static_cast<std::size_t>(j)] - float(codes[j]) * to.scales()[i]) <=
                      0.50001f * to.scales()[i]);
            }
            QCOMPARE(most, 127);
          }
        }
      QCOMPARE((*coded)->embed().data, model->embed().data);
      QCOMPARE((*coded)->finalNorm().data, model->finalNorm().data);
    }
  }

  /// A head that was the embedding gets codes of its own; bytes count both.
  void bytesAreCounted() {
    for (const char* spec : {"synthetic:tiny:dtype=bf16", "synthetic:stories-15m:dtype=bf16,layers=1"}) {
      const std::shared_ptr<const Model> model = openedModel(spec);
      const auto coded = withInt8Weights(model);
      QVERIFY(coded);
      QVERIFY((*coded)->head().data != (*coded)->embed().data);
      std::int64_t apart = model->head().data == model->embed().data ? (*coded)->head().bytes()
                                                                     : (*coded)->head().bytes() - model->head().bytes();
      for (const Layer l : idRange<Layer>(0, model->config().layers))
        for (std::size_t at = 0; const TensorView* place : matricesOf(model->layer(l)))
          apart += matricesOf((*coded)->layer(l))[at++]->bytes() - place->bytes();
      QCOMPARE((*coded)->weightBytes(), model->weightBytes() + apart);
    }
  }

  void openingCanBeCancelled() {
    const auto coded = withInt8Weights(openedModel("synthetic:tiny"),
                                       [](const std::string&, std::int64_t done, std::int64_t) { return done == 0; });
    QVERIFY(!coded);
    QCOMPARE(coded.error().code, std::string("cancelled"));
  }

  /// Near the session whose weights were not rounded, and another model to files.
  void sessionsTakeThem() {
    SessionFixture plain(json{{"dtype", "f32"}}), coded(json{{"dtype", "f32"}, {"weights", "int8"}});
    plain.prompt(60);
    coded.prompt(60);
    double apart = 0, length = 0;
    for (std::size_t i = 0; i < plain->state().logits->size(); ++i) {
      apart += std::pow((*plain->state().logits)[i] - (*coded->state().logits)[i], 2);
      length += std::pow((*plain->state().logits)[i], 2);
    }
    qInfo("logits up to %g, relative distance %g", double{largestLogit(*plain.session)}, std::sqrt(apart / length));
    QVERIFY(apart > 0 && std::sqrt(apart / length) < 0.05);
    coded.must("inject", {{"actions", {{{"action", "delete"}, {"position", 9}}}}});
    coded.must("apply");
    coded.must("rebuild");
    QVERIFY(coded.must("drift")["worst"].is_null());
    QCOMPARE(coded.damage(), QByteArray());
    const auto other = Manifest::fromJson(plain->manifest().toJson());
    const auto beside = coded->beside(*other);
    QVERIFY(!beside);
    QCOMPARE(beside.error().code, std::string("lane_differs"));
    QCOMPARE(beside.error().field, std::string("weights"));
  }

  void otherWordsAreRefused() {
    const auto manifest = Manifest::fromJson(json{{"weights", "int4"}});
    QVERIFY(!manifest);
    QCOMPARE(manifest.error().field, std::string("weights"));
  }
};

KV_TEST(Int8WeightsTest)
#include "int8_weights_test.moc"
