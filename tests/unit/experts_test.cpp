// SPDX-License-Identifier: Apache-2.0
// Models with experts: the choice of experts, the weights that are read, refused keys of config.json, files whose
// experts do not fit.
#include <QTemporaryDir>

#include "core/model/decoder/experts.h"
#include "core/model/packed_experts.h"
#include "support/runner.h"
#include "support/session_fixture.h"

using namespace kvlab;
using nlohmann::json;

namespace {

json mixture(const json& changes) {
  json out{{"model_type", "qwen3_moe"}, {"hidden_size", 48},          {"num_hidden_layers", 3},
           {"num_attention_heads", 4},  {"num_key_value_heads", 2},   {"head_dim", 16},
           {"intermediate_size", 40},   {"vocab_size", 96},           {"num_experts", 6},
           {"num_experts_per_tok", 2},  {"moe_intermediate_size", 20}};
  out.update(changes);
  return out;
}

json gptOss(const json& changes) {
  json out{{"model_type", "gpt_oss"}, {"hidden_size", 64},       {"num_hidden_layers", 2}, {"num_attention_heads", 4},
           {"vocab_size", 96},        {"intermediate_size", 32}, {"head_dim", 16},         {"num_key_value_heads", 2}};
  out.update(changes);
  return out;
}

/// The tensors of a gpt-oss layer in a file of its own; `change` may damage them.
Result<Safetensors> fileOfExperts(const QTemporaryDir& folder, Element element, std::vector<std::int64_t> blocks,
                                  std::vector<std::int64_t> scales) {
  const auto bytesOf = [](const std::vector<std::int64_t>& shape) {
    std::int64_t n = 1;
    for (const std::int64_t d : shape) n *= d;
    return static_cast<std::size_t>(n);
  };
  const std::vector<std::byte> codes(bytesOf(blocks) * at(elementBytes(element)), std::byte{0x21});
  const std::vector<std::byte> exponents(bytesOf(scales), std::byte{127});
  SafetensorsWriter out;
  out.add("model.layers.0.mlp.experts.gate_up_proj_blocks", element, std::move(blocks), codes);
  out.add("model.layers.0.mlp.experts.gate_up_proj_scales", Element::U8, std::move(scales), exponents);
  const std::string path = folder.filePath("model.safetensors").toStdString();
  KV_TRY(out.write(path));
  return Safetensors::open(path);
}

}  // namespace

class ExpertsTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void rowsGoToTheirExperts() {
    const std::vector<ExpertRows> got = rowsByExpert({3, 0, 0, 5, 3, 0}, {.1f, .2f, .3f, .4f, .5f, .6f}, 2);
    QCOMPARE(got.size(), std::size_t{3});
    QCOMPARE(got[0].expert, 0);
    QCOMPARE(got[0].rows, (std::vector<std::int32_t>{0, 1, 2}));
    QCOMPARE(got[0].weights, (std::vector<float>{.2f, .3f, .6f}));
    QCOMPARE(got[1].rows, (std::vector<std::int32_t>{0, 2}));
    QCOMPARE(got[2].expert, 5);
  }

  /// A token reads two of five experts in each layer: the ops of its tick say so.
  void onlyChosenExpertsAreRead() {
    SessionFixture s(json{{"model", "synthetic:tiny-moe"}});
    const Model& model = s->model();
    std::int64_t all = model.head().bytes() + model.finalNorm().bytes(), experts = 0;
    for (const Layer l : idRange<Layer>(0, model.config().layers)) {
      eachWeight(model.layer(l), [&](const TensorView& view, WeightKind kind) {
        const bool read = view && view.data != model.layer(l).sinks.data;  // attention reads them, no linear step
        if (read) all += kind == WeightKind::Bias ? 4 * view.elements() : view.bytes();
      });
      for (const FeedForward& one : model.layer(l).experts) {
        for (const TensorView* view : {&one.gate, &one.up, &one.down}) experts += view->bytes();
        for (const TensorView* view : {&one.gateBias, &one.upBias, &one.downBias}) experts += 4 * view->elements();
      }
      all -= model.layer(l).postNorm.bytes();  // an op of its own
    }
    s.must("promptIds", {{"ids", {1, 5, 9}}});
    const std::int64_t before = s->transformer().weightBytes();
    s.must("step", {{"tokens", {7}}});
    QCOMPARE(s->transformer().weightBytes() - before, all - experts * 3 / 5);
  }

  void configurationsAreRefused_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QString>("field");
    const auto row = [](const char* name, const json& text, const char* field) {
      QTest::newRow(name) << QByteArray::fromStdString(text.dump()) << QString(field);
    };
    row("no experts", mixture({{"num_experts", 0}}), "num_experts");
    row("too many", mixture({{"num_experts", 5000}}), "num_experts");
    row("more used than there are", mixture({{"num_experts_per_tok", 7}}), "num_experts_per_tok");
    row("none used", mixture({{"num_experts_per_tok", 0}}), "num_experts_per_tok");
    row("dense layers are no list", mixture({{"mlp_only_layers", 1}}), "mlp_only_layers");
    row("a dense layer is no number", mixture({{"mlp_only_layers", {"a"}}}), "mlp_only_layers");
    row("a dense layer is below 0", mixture({{"mlp_only_layers", {-1}}}), "mlp_only_layers");
    row("step", mixture({{"decoder_sparse_step", 0}}), "decoder_sparse_step");
    row("width", mixture({{"moe_intermediate_size", 0}}), "moe_intermediate_size");
    row("limit of the gate", gptOss({{"swiglu_limit", 6.0}}), "swiglu_limit");
    row("slope of the gate", gptOss({{"swiglu_alpha", 1.0}}), "swiglu_alpha");
    row("packed otherwise", gptOss({{"quantization_config", {{"quant_method", "gptq"}}}}), "quantization_config");
    row("packed where it may not be", mixture({{"quantization_config", {{"quant_method", "mxfp4"}}}}),
        "quantization_config");
  }
  void configurationsAreRefused() {
    QFETCH(QByteArray, text);
    QFETCH(QString, field);
    const auto config = configFromJson(json::parse(text.toStdString()), "config.json");
    QVERIFY(!config);
    QCOMPARE(QString::fromStdString(config.error().field), field);
    QCOMPARE(config.error().code, std::string("bad_model"));
  }

  void denseLayers() {
    const auto named = configFromJson(mixture({{"mlp_only_layers", {1, 40}}}), "config.json");
    QVERIFY(named && named->expertsIn(Layer(0)) && !named->expertsIn(Layer(1)) && named->expertsIn(Layer(2)));
    const auto stepped = configFromJson(mixture({{"decoder_sparse_step", 2}}), "config.json");
    QVERIFY(stepped && !stepped->expertsIn(Layer(0)) && stepped->expertsIn(Layer(1)) && !stepped->expertsIn(Layer(2)));
  }

  /// Byte 0x21 holds the codes 1 and 2, of the values 0.5 and 1; the exponent 127 stands for 1.
  void codesStandForTheirValues() {
    QTemporaryDir folder;
    auto file = fileOfExperts(folder, Element::U8, {2, 6, 1, 16}, {2, 6, 1});
    QVERIFY(file);
    PackedExperts experts(std::make_shared<const Safetensors>(file.take()));
    const auto gate = experts.find("model.layers.0.mlp.experts.gate_proj.weight");
    QVERIFY(gate && gate->data);
    QCOMPARE(gate->shape, (std::vector<std::int64_t>{2, 3, 32}));
    const std::vector<float> values = widened(*gate);
    for (std::size_t i = 0; i < values.size(); ++i) QCOMPARE(values[i], i % 2 ? 1.0f : 0.5f);
    QVERIFY(!experts.find("model.layers.0.mlp.experts.down_proj.weight"));
    QVERIFY(!experts.find("model.layers.0.mlp.gate_proj.weight"));
    QVERIFY(!experts.find("model.layers.0.mlp.experts.other.weight"));
  }

  /// Shapes that do not belong together give no data, which the builder refuses by name.
  void filesThatDoNotFit() {
    const auto gate = [](Element element, std::vector<std::int64_t> blocks, std::vector<std::int64_t> scales) {
      QTemporaryDir folder;
      auto file = fileOfExperts(folder, element, std::move(blocks), std::move(scales));
      if (!file) qFatal("%s", file.error().text().c_str());
      PackedExperts experts(std::make_shared<const Safetensors>(file.take()));
      return experts.find("model.layers.0.mlp.experts.gate_proj.weight")->data;
    };
    QVERIFY(!gate(Element::I16, {2, 6, 1, 16}, {2, 6, 1}));
    QVERIFY(!gate(Element::U8, {2, 6, 1, 8}, {2, 6, 1}));
    QVERIFY(!gate(Element::U8, {2, 6, 16}, {2, 6, 1}));
    QVERIFY(!gate(Element::U8, {2, 6, 1, 16}, {2, 6, 2}));
    QVERIFY(!gate(Element::U8, {2, 6, 1, 16}, {12}));
    QVERIFY(gate(Element::U8, {2, 7, 1, 16}, {2, 7, 1}));  // one row too many: the builder compares shapes
  }
};

KV_TEST(ExpertsTest)
#include "experts_test.moc"
