// SPDX-License-Identifier: Apache-2.0
// Rotary tables: rows per phase, damping, and the rotation of every model fixture against the keys
// that transformers rotated.
#include "core/model/decoder/rotary.h"

#include <cmath>

#include "core/model/files/safetensors.h"
#include "support/runner.h"

using namespace kvlab;

namespace {

ModelConfig smallConfig(int headDim = 8, int maxPositions = 64) {
  ModelConfig c;
  c.headDim = headDim;
  c.maxPositions = maxPositions;
  return c;
}

/// Largest |rotated - golden| over largest |golden| of one layer.
double worstKey(const Safetensors& golden, Layer own, Rotary& rotary, const ModelConfig& config) {
  const std::string layer = std::to_string(own.value());
  const auto dim = static_cast<std::size_t>(config.headDim);
  const std::vector<std::int32_t> order = engineOrder(config);
  const auto placeOf = [&](std::size_t value) { return order.empty() ? value : at(order[value]); };
  const auto plain = widened(golden.find("k_unrotated." + layer)->view());
  const auto want = widened(golden.find("k." + layer)->view());
  const auto tokens = static_cast<std::size_t>(golden.find("k." + layer)->shape[1]);
  double error = 0, scale = 0;
  for (std::size_t i = 0; i < want.size(); i += dim) {
    const auto phase = static_cast<double>(i / dim % tokens);
    const auto row = static_cast<std::size_t>(rotary.index(Phase(phase)));
    const float* cos = rotary.data(rotary.keySet(own)) + std::int64_t(row) * rotary.width();
    const float* sin = cos + dim / 2;
    for (std::size_t j = 0; j < dim / 2; ++j) {
      const std::size_t low = i + placeOf(j), high = i + placeOf(j + dim / 2);
      const double a = plain[low], b = plain[high];
      error = std::max(error, std::abs(a * cos[j] - b * sin[j] - want[low]));
      error = std::max(error, std::abs(b * cos[j] + a * sin[j] - want[high]));
    }
    if (dim % 2) error = std::max(error, std::abs(plain[i + dim - 1] - double{want[i + dim - 1]}));  // turns with none
  }
  for (const float v : want) scale = std::max(scale, std::abs(static_cast<double>(v)));
  return error / scale;
}

}  // namespace

class RotaryTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void agreesWithTransformers_data() {
    QTest::addColumn<QString>("name");
    for (const QString& name : QDir(KVLAB_TESTS_DIR "/oracle/models").entryList(QDir::Dirs | QDir::NoDotAndDotDot))
      QTest::newRow(qPrintable(name)) << name;
  }
  void agreesWithTransformers() {
    QFETCH(QString, name);
    const std::string directory = KVLAB_TESTS_DIR "/oracle/models/" + name.toStdString();
    const auto config = readConfig(directory);
    const auto golden = Safetensors::open(directory + "/golden.safetensors");
    QVERIFY(config && golden);
    Rotary rotary(*config);
    rotary.reach(golden->find("input_ids")->shape[0]);
    for (const Layer layer : idRange<Layer>(0, config->layers)) {
      const double error = worstKey(*golden, layer, rotary, *config);
      qInfo("layer %d: %.2g (bound 5e-6)", layer.value(), error);
      QVERIFY(error < 5e-6);
    }
  }

  void wholePhasesAreTheirOwnIndex() {
    Rotary rotary(smallConfig());
    for (const int p : {5, 0, 63, 17}) QCOMPARE(rotary.index(Phase(p)), p);
    const float* row = rotary.data() + 17 * 8;
    QCOMPARE(row[0], static_cast<float>(std::cos(17.0)));
    QCOMPARE(row[4], static_cast<float>(std::sin(17.0)));
    QCOMPARE(row[1], static_cast<float>(std::cos(17.0 / 10)));  // theta 10000, d 8: 10000^(-2/8)
  }

  void otherPhasesFollow() {
    Rotary rotary(smallConfig());
    QCOMPARE(rotary.index(Phase(64)), 64);  // behind the last whole phase: first extra row
    QCOMPARE(rotary.index(Phase(2.5)), 65);
    QCOMPARE(rotary.index(Phase(-3)), 66);
    QCOMPARE(rotary.index(Phase(2.5)), 65);
    QCOMPARE(rotary.index(Phase(1e6)), 67);
    QCOMPARE(rotary.phase(65).value(), 2.5);
    QCOMPARE(rotary.phase(7).value(), 7.0);
  }

  void growthKeepsEveryRow() {
    Rotary rotary(smallConfig());
    std::vector<std::int32_t> rows;
    for (int i = 0; i < 3000; ++i) rows.push_back(rotary.index(Phase(i + 0.25)));
    QCOMPARE(rotary.index(Phase(3)), 3);
    for (int i = 0; i < 3000; i += 271) {
      const float* row = rotary.data() + rows[static_cast<std::size_t>(i)] * 8;
      QCOMPARE(row[0], static_cast<float>(std::cos(i + 0.25)));
      QCOMPARE(rotary.index(Phase(i + 0.25)), rows[static_cast<std::size_t>(i)]);
    }
    QCOMPARE(rotary.data()[3 * 8], static_cast<float>(std::cos(3.0)));
  }

  void sigmaDampsByFrequency() {
    Rotary rotary(smallConfig());
    const auto row = rotary.index(Phase(16), 8);
    QVERIFY(row >= 64);
    QVERIFY(row != rotary.index(Phase(16), 4) && row == rotary.index(Phase(16), 8));
    QCOMPARE(rotary.sigma(row), 8.0);
    const float* damped = rotary.data() + row * 8;
    for (std::size_t i = 0; i < 4; ++i) {
      const double w = rotary.frequencies()[i], keep = std::exp(-(8 * w) * (8 * w) / 2);
      QCOMPARE(damped[i], static_cast<float>(std::cos(16 * w) * keep));
      QCOMPARE(damped[4 + i], static_cast<float>(std::sin(16 * w) * keep));
    }
  }
};

KV_TEST(RotaryTest)
#include "rotary_test.moc"
