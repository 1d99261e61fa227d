// SPDX-License-Identifier: Apache-2.0
// config.json: every fixture, both rope styles, windows, and a catalogue of bad values.
#include "core/model/files/config.h"

#include <cmath>

#include "support/runner.h"
#include "unit/model_bytes.h"

using namespace kvlab;
using namespace kvlab::test;
using nlohmann::json;

namespace {

json llama() {
  return {{"model_type", "llama"},    {"hidden_size", 64},        {"num_hidden_layers", 3},
          {"num_attention_heads", 4}, {"num_key_value_heads", 2}, {"intermediate_size", 96},
          {"vocab_size", 100},        {"hidden_act", "silu"},     {"max_position_embeddings", 512},
          {"rms_norm_eps", 1e-5},     {"bos_token_id", 1},        {"eos_token_id", 2}};
}
json with(json base, const json& changes) {
  if (!changes.is_null()) base.merge_patch(changes);
  return base;
}
json qwen2(const json& changes) { return with(with(llama(), {{"model_type", "qwen2"}}), changes); }

}  // namespace

class ConfigTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void readsEveryFixture() {
    int seen = 0;
    for (const QString& name : QDir(KVLAB_TESTS_DIR "/oracle/models").entryList(QDir::Dirs | QDir::NoDotAndDotDot)) {
      const auto c = readConfig(KVLAB_TESTS_DIR "/oracle/models/" + name.toStdString());
      QVERIFY2(c, c ? "" : c.error().text().c_str());
      QVERIFY(c->vocab > 0 && c->layers > 0 && c->windowPerLayer.size() == static_cast<std::size_t>(c->layers));
      QVERIFY(name.startsWith(QString::fromStdString(c->type)));
      ++seen;
    }
    QVERIFY(seen >= 18);
  }

  void defaultsAreTransformers() {
    json j = llama();
    for (const char* key : {"num_key_value_heads", "rms_norm_eps", "hidden_act", "max_position_embeddings"})
      j.erase(key);
    const auto c = configFromJson(j, "f");
    QVERIFY(c);
    QCOMPARE(c->kvHeads, 4);
    QCOMPARE(c->headDim, 16);
    QCOMPARE(c->rmsEps, 1e-6);
    QCOMPARE(c->ropes.front().theta, 10000.0);
    QCOMPARE(c->maxPositions, 2048);
    QVERIFY(!c->tieEmbeddings && !c->attentionBias && c->qkNorm == QkNorm::None);
    QCOMPARE(configFromJson(with(llama(), {{"model_type", "qwen3"}}), "f")->headDim, 128);
  }

  void biases() {
    auto c = configFromJson(with(llama(), {{"attention_bias", true}}), "f");
    QVERIFY(c->attentionBias && c->outputBias);
    c = configFromJson(qwen2({}), "f");
    QVERIFY(c->attentionBias && !c->outputBias);
    c = configFromJson(with(llama(), {{"model_type", "qwen3"}}), "f");
    QVERIFY(!c->attentionBias && c->qkNorm == QkNorm::OfHeads);
  }

  void bothRopeStyles() {
    const json scaling{{"rope_type", "llama3"},
                       {"factor", 8.0},
                       {"low_freq_factor", 1.0},
                       {"high_freq_factor", 4.0},
                       {"original_max_position_embeddings", 128}};
    const auto old = configFromJson(with(llama(), {{"rope_theta", 5e5}, {"rope_scaling", scaling}}), "f");
    const auto now = configFromJson(with(llama(), {{"rope_parameters", with(scaling, {{"rope_theta", 5e5}})}}), "f");
    QVERIFY(old && now);
    for (const auto* c : {&*old, &*now}) {
      QCOMPARE(c->ropes.front().kind, Rope::Kind::Llama3);
      QCOMPARE(c->ropes.front().theta, 5e5);
      QCOMPARE(c->ropes.front().factor, 8.0);
      QCOMPARE(c->ropes.front().originalMaxPosition, 128);
    }
  }

  void yarnAttentionFactor() {
    const auto yarn = [](const json& more) {
      return configFromJson(with(llama(), {{"rope_scaling", with({{"type", "yarn"}, {"factor", 4.0}}, more)}}), "f")
          ->ropes.front();
    };
    QCOMPARE(yarn(json::object()).attentionFactor, 0.1 * std::log(4.0) + 1);
    QCOMPARE(yarn(json::object()).originalMaxPosition, 512);
    QCOMPARE(yarn({{"attention_factor", 1.25}}).attentionFactor, 1.25);
    QCOMPARE(yarn({{"mscale", 2.0}, {"mscale_all_dim", 1.0}}).attentionFactor,
             (0.2 * std::log(4.0) + 1) / (0.1 * std::log(4.0) + 1));
    QCOMPARE(yarn({{"factor", nullptr}, {"original_max_position_embeddings", 256}}).factor, 2.0);
  }

  void windows() {
    using W = std::vector<int>;
    const json on{{"use_sliding_window", true}, {"sliding_window", 10}, {"max_window_layers", 1}};
    QCOMPARE(configFromJson(qwen2(on), "f")->windowPerLayer, (W{0, 10, 10}));
    QCOMPARE(configFromJson(qwen2(with(on, {{"use_sliding_window", false}})), "f")->windowPerLayer, (W{0, 0, 0}));
    const json types{{"layer_types", {"sliding_attention", "full_attention", "sliding_attention"}}};
    QCOMPARE(configFromJson(qwen2(with(on, types)), "f")->windowPerLayer, (W{10, 0, 10}));
    const json mistral = with(llama(), {{"model_type", "mistral"}});
    QCOMPARE(configFromJson(with(mistral, {{"sliding_window", 12}}), "f")->windowPerLayer, (W{12, 12, 12}));
    QCOMPARE(configFromJson(mistral, "f")->slidingWindow, 4096);
    json null = mistral;
    null["sliding_window"] = nullptr;
    QCOMPARE(configFromJson(null, "f")->windowPerLayer, (W{0, 0, 0}));
  }

  void layersWithoutRope() {
    const auto still = [](const json& more) {
      const auto c = configFromJson(with(with(llama(), {{"model_type", "smollm3"}}), more), "f");
      std::vector<int> out;
      for (const Layer l : idRange<Layer>(0, c->layers)) out.push_back(c->rope(l).kind == Rope::Kind::Off);
      return out;
    };
    using L = std::vector<int>;
    QCOMPARE(still(json::object()), (L{0, 0, 0}));
    QCOMPARE(still({{"no_rope_layer_interval", 2}}), (L{0, 1, 0}));
    QCOMPARE(still({{"no_rope_layer_interval", 2}, {"no_rope_layers", {0, 1, 1}}}), (L{1, 0, 0}));
  }

  void ids() {
    const auto c = configFromJson(with(llama(), {{"eos_token_id", {5, 6, 5}}, {"bos_token_id", nullptr}}), "f");
    QCOMPARE(c->bos, -1);
    QCOMPARE(c->eos, (std::vector<std::int32_t>{5, 6}));
    QCOMPARE(configFromJson(with(llama(), {{"bos_token_id", -1}}), "f")->bos, -1);
  }

  void generationConfigAddsEnds() {
    QTemporaryDir dir;
    const std::string d = dir.path().toStdString();
    writeFile(d + "/config.json", llama().dump());
    writeFile(d + "/generation_config.json", R"({"eos_token_id":[2,7]})");
    QCOMPARE(readConfig(d)->eos, (std::vector<std::int32_t>{2, 7}));
    writeFile(d + "/generation_config.json", R"({"eos_token_id":[2,100]})");
    QCOMPARE(readConfig(d)->eos, (std::vector<std::int32_t>{2}));  // no row has that id
    writeFile(d + "/generation_config.json", R"({"eos_token_id":[2,-1]})");
    QCOMPARE(readConfig(d)->eos, (std::vector<std::int32_t>{2}));  // as in files that mean none
    writeFile(d + "/generation_config.json", R"({"eos_token_id":[2,18446744073709551615]})");
    QCOMPARE(readConfig(d)->eos, (std::vector<std::int32_t>{2}));
    writeFile(d + "/generation_config.json", R"({"eos_token_id":[2,1.5]})");
    QCOMPARE(readConfig(d).error().field, std::string("eos_token_id"));
  }

  void refuses_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QString>("field");
    const auto row = [](const char* name, const json& changes, const char* field) {
      QTest::newRow(name) << QByteArray::fromStdString(with(llama(), changes).dump()) << QString(field);
    };
    row("architecture", {{"model_type", "gpt2"}}, "model_type");
    row("no architecture", {{"model_type", nullptr}}, "model_type");
    row("architecture is a list", {{"model_type", {"llama"}}}, "model_type");
    row("activation", {{"hidden_act", "gelu"}}, "hidden_act");
    row("hidden missing", {{"hidden_size", nullptr}}, "hidden_size");
    row("hidden text", {{"hidden_size", "64"}}, "hidden_size");
    row("hidden fraction", {{"hidden_size", 64.5}}, "hidden_size");
    row("hidden zero", {{"hidden_size", 0}}, "hidden_size");
    row("hidden negative", {{"hidden_size", -64}}, "hidden_size");
    row("hidden absurd", {{"hidden_size", 1ull << 60}}, "hidden_size");
    row("hidden over 64 bits", {{"hidden_size", 1e30}}, "hidden_size");
    row("hidden not a multiple", {{"hidden_size", 66}}, "hidden_size");
    row("layers absurd", {{"num_hidden_layers", 2000000000}}, "num_hidden_layers");
    row("heads zero", {{"num_attention_heads", 0}}, "num_attention_heads");
    row("kv heads do not divide", {{"num_key_value_heads", 3}}, "num_key_value_heads");
    row("kv heads zero", {{"num_key_value_heads", 0}}, "num_key_value_heads");
    row("head_dim odd", {{"head_dim", 15}}, "head_dim");
    row("head_dim odd, with a share that another family reads", {{"head_dim", 15}, {"partial_rotary_factor", 0.8}},
        "head_dim");
    row("head_dim odd and all of it turns", {{"model_type", "phi3"}, {"head_dim", 15}}, "partial_rotary_factor");
    row("head_dim zero", {{"head_dim", 0}}, "head_dim");
    row("vocab absurd", {{"vocab_size", 1 << 30}}, "vocab_size");
    row("eps text", {{"rms_norm_eps", "small"}}, "rms_norm_eps");
    row("eps negative", {{"rms_norm_eps", -1e-5}}, "rms_norm_eps");
    row("theta zero", {{"rope_theta", 0}}, "rope_theta");
    row("theta one", {{"rope_theta", 1.0}}, "rope_theta");
    row("rope type", {{"rope_scaling", {{"rope_type", "ntk"}, {"factor", 2}}}}, "rope_type");
    row("rope type old", {{"rope_scaling", {{"type", "proportional"}, {"factor", 2}}}}, "type");
    row("longrope without factors", {{"rope_scaling", {{"type", "longrope"}, {"factor", 2}}}}, "short_factor");
    row("longrope of another width",
        {{"rope_scaling", {{"type", "longrope"}, {"short_factor", {1, 1}}, {"long_factor", {1, 1}}}}}, "short_factor");
    row("rope is a number", {{"rope_scaling", 2}}, "rope_scaling");
    row("rope by layer", {{"rope_parameters", {{"full_attention", {{"rope_theta", 1e4}}}}}}, "rope_parameters");
    row("linear without factor", {{"rope_scaling", {{"type", "linear"}}}}, "factor");
    row("factor zero", {{"rope_scaling", {{"type", "linear"}, {"factor", 0}}}}, "factor");
    row("llama3 without low", {{"rope_scaling", {{"type", "llama3"}, {"factor", 2}}}}, "low_freq_factor");
    row("llama3 band reversed",
        {{"rope_scaling", {{"type", "llama3"}, {"factor", 2}, {"low_freq_factor", 4}, {"high_freq_factor", 1}}}},
        "high_freq_factor");
    const json phi{{"model_type", "phi3"}};
    row("no value turns", with(phi, {{"partial_rotary_factor", 0.05}}), "partial_rotary_factor");
    row("an odd number turns", with(phi, {{"partial_rotary_factor", 0.32}}), "partial_rotary_factor");
    row("mlp bias is a number", {{"mlp_bias", 2}}, "mlp_bias");
    const json gemma{{"model_type", "gemma3_text"}, {"hidden_activation", "gelu_pytorch_tanh"}, {"sliding_window", 4}};
    row("both directions", with(gemma, {{"use_bidirectional_attention", true}}), "use_bidirectional_attention");
    row("exact gelu", with(gemma, {{"hidden_activation", "gelu"}}), "hidden_activation");
    row("cap zero", with(gemma, {{"final_logit_softcapping", 0}}), "final_logit_softcapping");
    row("layers without rope short", {{"model_type", "smollm3"}, {"no_rope_layers", {1, 0}}}, "no_rope_layers");
    row("tie is a number", {{"tie_word_embeddings", 1}}, "tie_word_embeddings");
    row("quantised", {{"quantization_config", {{"bits", 4}}}}, "quantization_config");
    row("eos is a text", {{"eos_token_id", "</s>"}}, "eos_token_id");
    const json mistral{{"model_type", "mistral"}};
    row("window zero", with(mistral, {{"sliding_window", 0}}), "sliding_window");
    row("layer types short", with(mistral, {{"sliding_window", 4}, {"layer_types", {"full_attention"}}}),
        "layer_types");
    row("layer type unknown", with(mistral, {{"sliding_window", 4}, {"layer_types", {"full_attention", "x", 3}}}),
        "layer_types");
  }
  void refuses() {
    QFETCH(QByteArray, text);
    QFETCH(QString, field);
    const auto c = configFromJson(json::parse(text.toStdString()), "dir/config.json");
    QVERIFY(!c);
    QCOMPARE(c.error().code, std::string("bad_model"));
    QCOMPARE(c.error().field, field.toStdString());
    QVERIFY(c.error().text().find("dir/config.json") != std::string::npos);
    QVERIFY2(c.error().why.find(field.toStdString()) != std::string::npos, c.error().why.c_str());
  }

  void saysHowANumberIsWrong() {
    const auto why = [](const json& size) {
      return configFromJson(with(llama(), {{"hidden_size", size}}), "config.json").error().why;
    };
    QVERIFY2(why(1e30).find("1e+30 is outside ") != std::string::npos, why(1e30).c_str());
    QVERIFY2(why(64.5).ends_with("is not a whole number"), why(64.5).c_str());
    QVERIFY2(why("64").ends_with("is not a whole number"), why("64").c_str());
  }

  void refusesWhatIsNoConfig() {
    QTemporaryDir dir;
    const std::string d = dir.path().toStdString();
    QCOMPARE(readConfig(d).error().code, std::string("bad_model"));
    for (const std::string& text : {std::string(""), std::string("{"), std::string("[]"), std::string("\xff"),
                                    std::string(5000, '['), std::string("{\"a\":1e999}")}) {
      writeFile(d + "/config.json", text);
      const auto c = readConfig(d);
      QVERIFY(!c);
      QCOMPARE(c.error().code, std::string("bad_model"));
    }
  }
};

KV_TEST(ConfigTest)
#include "config_test.moc"
