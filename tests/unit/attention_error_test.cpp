// SPDX-License-Identifier: Apache-2.0
// The error of attention is that of a sum by hand over the attention and the values of a session that lost nothing.
#include <cmath>

#include "core/session/attention_error.h"
#include "support/runner.h"
#include "support/session_fixture.h"

using namespace kvlab;

namespace {

const json kStoredF32{{"kv", {{"k", "f32"}, {"v", "f32"}}}};

json storingF32(const json& more) {
  json out = kStoredF32;
  out.update(more);
  return out;
}

void fillContext(const SessionFixture& s) {
  s.prompt(24);
  s.must("step", {{"n", 3}});
}

std::vector<std::vector<double>> errorsOf(const SessionFixture& s) {
  return s.must("drift", {{"attention", true}})["attention"].get<std::vector<std::vector<double>>>();
}

/// What attention gives to the newest token: the values of the rows that a layer has, by its shares of them. The
/// session says both.
std::vector<double> outputByHand(const SessionFixture& s, int layer, int head) {
  const ModelConfig& config = s->model().config();
  const auto dim = static_cast<std::size_t>(config.headDim);
  const auto from = static_cast<std::size_t>(head / (config.heads / config.kvHeads)) * dim;
  const json shares = s.must("attention", {{"layer", layer}})[static_cast<std::size_t>(head)];
  std::vector<double> out(dim);
  for (std::size_t index = 0; index < shares.size(); ++index) {
    const json row = s.must("row", {{"layer", layer}, {"index", index}, {"which", "v"}});
    for (std::size_t i = 0; i < dim; ++i) out[i] += shares[index].get<double>() * row["data"][from + i].get<double>();
  }
  return out;
}

double apartFrom(const std::vector<double>& o, const std::vector<double>& full) {
  double apart = 0, length = 0;
  for (std::size_t i = 0; i < o.size(); ++i) {
    apart += (o[i] - full[i]) * (o[i] - full[i]);
    length += full[i] * full[i];
  }
  return std::sqrt(apart / length);
}

}  // namespace

class AttentionErrorTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void nothingIsLostWhereNothingLeft() {
    const SessionFixture s(kStoredF32);
    fillContext(s);
    const ModelConfig& config = s->model().config();
    const auto errors = errorsOf(s);
    QCOMPARE(errors.size(), static_cast<std::size_t>(config.layers));
    for (const std::vector<double>& layer : errors)
      QCOMPARE(layer, std::vector<double>(static_cast<std::size_t>(config.heads), 0.0));
    QVERIFY(s->snapshot()->attentionErrors);
    s.must("drift", {});  // a pass that does not ask for it leaves it
    QVERIFY(s->snapshot()->attentionErrors);
    s.must("step", {});
    QVERIFY(!s->snapshot()->attentionErrors);
  }

  void equalsASumByHand_data() {
    QTest::addColumn<QString>("position");
    for (const char* position : {"context", "cache"}) QTest::newRow(position) << position;
  }
  /// Rows that leave one layer are missed there, by every head as much as it looked at them, and nowhere else. The
  /// layers before it lost nothing, so that the queries of both sessions are the same there.
  void equalsASumByHand() {
    QFETCH(QString, position);
    const json manifest = storingF32({{"position", position.toStdString()}});
    const SessionFixture s(manifest), whole(manifest);
    fillContext(s), fillContext(whole);
    s.must("evict", {{"layer", 1}, {"ledger", {0, 5, 6, 13}}, {"now", true}});
    const auto errors = errorsOf(s);
    const ModelConfig& config = s->model().config();
    for (int layer = 0; layer < config.layers; ++layer)
      for (int head = 0; head < config.heads; ++head) {
        const double found = errors[static_cast<std::size_t>(layer)][static_cast<std::size_t>(head)];
        if (layer != 1) {
          QCOMPARE(found, 0.0);
          continue;
        }
        const double wanted = apartFrom(outputByHand(s, layer, head), outputByHand(whole, layer, head));
        QVERIFY(wanted > 1e-3);
        QVERIFY2(std::abs(found - wanted) < 1e-3 * wanted, qPrintable(QString("%1 %2").arg(found).arg(wanted)));
      }
  }

  /// A KV head that lost rows is alone with its query heads.
  void byHead() {
    const SessionFixture s(storingF32({{"residency", "kv_head"}}));
    fillContext(s);
    s.must("evict", {{"layer", 0}, {"kvHead", 1}, {"ledger", {2, 3, 4}}, {"now", true}});
    const auto errors = errorsOf(s);
    const ModelConfig& config = s->model().config();
    const int group = config.heads / config.kvHeads;
    for (int layer = 0; layer < config.layers; ++layer)
      for (int head = 0; head < config.heads; ++head)
        QCOMPARE(errors[static_cast<std::size_t>(layer)][static_cast<std::size_t>(head)] > 0,
                 layer == 0 && head / group == 1);
  }

  /// What storage rounds counts, and a query whose own row has left still has it.
  void quantisedRowsAndTheNewestRow() {
    const SessionFixture s(json{{"kv", {{"k", "int8"}, {"v", "int8"}}}}), other(kStoredF32);
    fillContext(s), fillContext(other);
    for (const auto& layer : errorsOf(s))
      for (const double one : layer) QVERIFY2(one > 0 && one < 0.2, qPrintable(QString::number(one)));
    const int newest = other->state().context[static_cast<std::size_t>(other->state().length() - 1)].value();
    other.must("evict", {{"layer", 0}, {"ledger", {newest}}, {"now", true}});
    QCOMPARE(errorsOf(other)[0], std::vector<double>(static_cast<std::size_t>(other->model().config().heads), 0.0));
  }

  /// The fact is the mean over heads, of the chosen layers or of all, of this state and of the one before.
  void asAFact() {
    const SessionFixture s(kStoredF32);
    fillContext(s);
    const auto value = [&](const char* expression) {
      return s.must("value", {{"expression", expression}}).get<double>();
    };
    QCOMPARE(value("attention_error"), 0.0);
    s.must("evict", {{"layer", 1}, {"ledger", {2, 3, 4}}, {"now", true}});
    const auto errors = errorsOf(s);
    double sum = 0;
    for (const double one : errors[1]) sum += one;
    const double mean = sum / static_cast<double>(errors[1].size());
    QVERIFY(mean > 0 && std::abs(value("attention_error(layer==1)") / mean - 1) < 1e-6);
    QVERIFY(std::abs(value("attention_error") * static_cast<double>(errors.size()) / mean - 1) < 1e-6);
    QCOMPARE(value("before(attention_error)"), 0.0);
    QCOMPARE(value("attention_error(layer==0)"), 0.0);
  }

  void refusals() {
    const SessionFixture s(json{{"wlod", {{"budget", 96}}}, {"capacity", 0}});
    s.prompt(8);
    const Result<Drift> found = measureDrift(*s, true);
    QCOMPARE(found ? std::string() : found.error().code, std::string("unsupported"));
    const SessionFixture empty;
    const Result<Drift> nothing = measureDrift(*empty, true);
    QVERIFY(nothing && nothing->attention && nothing->attention->empty());
  }
};

KV_TEST(AttentionErrorTest)
#include "attention_error_test.moc"
