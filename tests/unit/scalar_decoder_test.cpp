// SPDX-License-Identifier: Apache-2.0
// The second implementation of the decoder agrees with the first: a whole text computed from its tokens alone, row by
// row in double, gives the K, V and logits that a session has.
#include <cmath>

#include "core/check/scalar_decoder.h"
#include "support/runner.h"
#include "support/session_fixture.h"

using namespace kvlab;

class ScalarDecoderTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void agrees_data() {
    QTest::addColumn<QString>("manifest");
    for (const json& one : std::vector<json>{{{"model", "synthetic:tiny"}},
                                             {{"model", "synthetic:tiny"}, {"key_phase", "at_write"}},
                                             {{"model", "synthetic:tiny"}, {"residency", "kv_head"}},
                                             {{"model", "synthetic:tiny:dtype=bf16"}},
                                             {{"model", "synthetic:tiny-gemma"}},
                                             {{"model", "synthetic:tiny-nope"}},
                                             {{"model", "synthetic:tiny-moe"}},
                                             {{"model", "synthetic:tiny-odd"}},
                                             {{"model", "synthetic:tiny-odd"}, {"key_phase", "at_write"}},
                                             {{"model", "demo"}}})
      QTest::newRow(one.dump().c_str()) << QString::fromStdString(one.dump());
  }
  void agrees() {
    QFETCH(QString, manifest);
    json given = json::parse(manifest.toStdString());
    given["kv"] = {{"k", "f32"}, {"v", "f32"}};
    SessionFixture s(given);
    s.prompt(40);
    const Model& model = s->model();
    const ModelConfig& config = model.config();
    const ScalarDecoder decoder(model, 40, s->parts().backend->ops().numericsId());
    const int group = config.kvHeads / s->cacheLayers().perLayer * config.headDim;
    std::vector<std::vector<double>> x;
    for (const LedgerId id : s->state().context) x.push_back(decoder.embed(s->state().ledger[id].token));
    double worst = 0;
    for (int l = 0; l < config.layers; ++l) {
      const Layer layer(l);
      std::vector<float> k, v;  // [rows, width]
      const int window = config.windowPerLayer.empty() ? config.slidingWindow : config.windowPerLayer[at(l)];
      for (std::size_t i = 0; i < x.size(); ++i) {
        const ScalarRow row = decoder.project(layer, x[i]);
        const std::size_t dim = at(config.headDim), width = row.k.size() * dim;
        for (const ScalarHead& head : row.k) k.insert(k.end(), head.values.begin(), head.values.end());
        for (const ScalarHead& head : row.v) v.insert(v.end(), head.values.begin(), head.values.end());
        const std::size_t first = window > 0 && i + 1 > at(window) ? i + 1 - at(window) : 0;
        ScalarSeen seen;
        for (std::size_t j = first; j <= i; ++j) seen.phases.push_back(static_cast<double>(j));
        std::vector<double> attended;
        for (int head = 0; head < config.heads; ++head) {
          std::vector<double> q = row.q[at(head)].values;
          decoder.turn(layer, q, static_cast<double>(i), true);
          const std::size_t kv = at(head / (config.heads / config.kvHeads)), kvAt = kv * dim;
          seen.read = [&, kvAt](std::size_t which, bool value, std::span<double> out) {
            const auto from = (value ? v : k).begin() + static_cast<std::ptrdiff_t>((first + which) * width + kvAt);
            std::copy(from, from + static_cast<std::ptrdiff_t>(dim), out.begin());
          };
          const auto one = decoder.attend(layer, head, q, seen, false);
          attended.insert(attended.end(), one.begin(), one.end());
          const ScalarRow alone = decoder.projectHead(layer, head, x[i]);
          QVERIFY(alone.k.front().values == row.k[kv].values);
        }
        x[i] = decoder.outputs(layer, attended, x[i]).front().values;
        std::vector<double> turned, plain;
        for (std::size_t kv = 0; kv < row.k.size(); ++kv) {
          std::vector<double> key = row.k[kv].values;
          if (s->parts().transformer->keysRotated()) decoder.turn(layer, key, static_cast<double>(i), false);
          turned.insert(turned.end(), key.begin(), key.end());
          plain.insert(plain.end(), row.v[kv].values.begin(), row.v[kv].values.end());
        }
        for (const CacheLayer own : s->cacheLayers().of(layer)) {
          const RowPool& pool = s->store().pool(own);
          std::vector<float> storedK(at(pool.width())), storedV = storedK;
          const std::int32_t slot = s->state().map(own).slotOf[i].value();
          pool.gather({&slot, 1}, storedK.data(), storedV.data());
          const int part = own.value() % s->cacheLayers().perLayer;
          for (std::size_t n = 0; n < storedK.size(); ++n) {
            worst = std::max(worst, std::abs(turned[at(part * group) + n] - static_cast<double>(storedK[n])));
            worst = std::max(worst, std::abs(plain[at(part * group) + n] - static_cast<double>(storedV[n])));
          }
        }
      }
    }
    const std::vector<double> logits = decoder.logits(x.back()).values;
    double apart = 0, most = 0;
    for (std::size_t i = 0; i < logits.size(); ++i) {
      apart = std::max(apart, std::abs(logits[i] - static_cast<double>((*s->state().logits)[i])));
      most = std::max(most, std::abs(logits[i]));
    }
    qInfo("rows differ by %.2g, logits by %.2g of %.2g", worst, apart, most);
    QVERIFY(worst < 1e-3 && most > 0.01 && apart < 1e-3 * most);
  }
};

KV_TEST(ScalarDecoderTest)
#include "scalar_decoder_test.moc"
