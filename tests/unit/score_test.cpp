// SPDX-License-Identifier: Apache-2.0
// The surprise of tokens: compared with logits that transformers computed, and the same bits whichever way the tokens
// came.
#include "core/experiment/perplexity.h"
#include "core/model/files/safetensors.h"
#include "support/runner.h"
#include "support/session_fixture.h"

#include <QDir>
#include <QTemporaryDir>

using namespace kvlab;

namespace {

const QString kScoredModels = QStringLiteral(KVLAB_TESTS_DIR "/oracle/models");

/// -ln softmax(logits)[token], in f64.
double lossOf(const float* logits, std::size_t vocab, std::size_t token) {
  double sum = 0;
  for (std::size_t i = 0; i < vocab; ++i) sum += std::exp(double(logits[i]) - logits[token]);
  return std::log(sum);
}

std::vector<double> losses(const json& score) {
  std::vector<double> out;
  for (const json& one : score["losses"]) out.push_back(one.is_null() ? -1 : one.get<double>());
  return out;
}

}  // namespace

class ScoreTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void transformersLosses_data();
  void transformersLosses();
  void sameBitsHoweverTheyCome();
  void unknownLossesAreNull();
  void policiesActBetweenTokens();
  void windowsOfAText();
  void theLedgerHasThem();
};

void ScoreTest::transformersLosses_data() {
  QTest::addColumn<QString>("directory");
  for (const QString& name : QDir(kScoredModels).entryList(QDir::Dirs | QDir::NoDotAndDotDot))
    QTest::newRow(qPrintable(name)) << kScoredModels + "/" + name;
}

void ScoreTest::transformersLosses() {
  QFETCH(QString, directory);
  Result<Safetensors> golden = Safetensors::open(directory.toStdString() + "/golden.safetensors");
  QVERIFY(golden);
  const FileTensor *ids = golden->find("input_ids"), *logits = golden->find("logits");
  std::vector<std::int64_t> tokens(ids->bytes.size() / sizeof(std::int64_t));
  std::memcpy(tokens.data(), ids->bytes.data(), ids->bytes.size());
  const auto vocab = static_cast<std::size_t>(logits->shape.back());
  const auto* expected = reinterpret_cast<const float*>(logits->bytes.data());
  const SessionFixture s(json{{"model", directory.toStdString()}, {"dtype", "f32"}});
  const std::vector<double> found = losses(s.must("scoreIds", {{"ids", tokens}}));
  QCOMPARE(found.size(), tokens.size());
  QCOMPARE(found[0], -1.0);
  for (std::size_t i = 1; i < tokens.size(); ++i) {
    const double wanted = lossOf(expected + (i - 1) * vocab, vocab, static_cast<std::size_t>(tokens[i]));
    QVERIFY2(std::abs(found[i] - wanted) < 1e-5 * wanted,
             qPrintable(QString("%1: %2, not %3").arg(i).arg(found[i]).arg(wanted)));
  }
}

void ScoreTest::sameBitsHoweverTheyCome() {
  const auto ids = SessionFixture::ids(300);
  const SessionFixture whole(json{{"prefill_chunk", 64}}), each, parts;
  const auto expected = losses(whole.must("scoreIds", {{"ids", ids}}));
  QCOMPARE(losses(each.must("scoreIds", {{"ids", ids}, {"each", true}})), expected);
  std::vector<double> found;
  for (std::size_t begin = 0; begin < ids.size(); begin += 70) {
    const std::vector<int> part(ids.begin() + std::ptrdiff_t(begin),
                                ids.begin() + std::ptrdiff_t(std::min(begin + 70, ids.size())));
    for (const double loss : losses(parts.must("scoreIds", {{"ids", part}}))) found.push_back(loss);
  }
  QCOMPARE(found, expected);
  // A prompt leaves the same rows behind.
  const SessionFixture prompted;
  prompted.must("promptIds", {{"ids", ids}});
  QCOMPARE(whole.hash(), prompted.hash());
}

void ScoreTest::unknownLossesAreNull() {
  const SessionFixture s;
  const json one = s.must("scoreIds", {{"ids", {7}}});
  QCOMPARE(one["scored"], 0);
  const SessionFixture full(json{{"capacity", 3}});
  const json part = full.must("scoreIds", {{"ids", {7, 8, 9, 10}}, {"each", true}});
  QCOMPARE(part["losses"].size(), 3u);
  QCOMPARE(part["error"]["code"], "capacity");
  QCOMPARE(full.verb("scoreIds", {{"ids", {7}}}).error().code, std::string("capacity"));
  QVERIFY(one["nll"].is_null() && one["perplexity"].is_null() && one["losses"][0].is_null());
  QVERIFY(!s.must("scoreIds", {{"ids", {9}}})["losses"][0].is_null());
  const json before = s.must("scoreIds", {{"ids", {9, 11}}});
  s.must("undo");
  QCOMPARE(s.must("scoreIds", {{"ids", {9, 11}}})["losses"], before["losses"]);
}

void ScoreTest::policiesActBetweenTokens() {
  const auto ids = SessionFixture::ids(60);
  const json policy{{"name", "streaming_llm"}, {"sinks", 2}, {"window", 6}, {"capacity", 8}};
  const SessionFixture whole(json{{"policy", policy}}), each(json{{"policy", policy}}), full;
  const auto together = losses(whole.must("scoreIds", {{"ids", ids}}));
  const auto one = losses(each.must("scoreIds", {{"ids", ids}, {"each", true}}));
  QCOMPARE(together, losses(full.must("scoreIds", {{"ids", ids}})));
  QVERIFY(one != together);
  // The same as steps with given tokens.
  const SessionFixture steps(json{{"policy", policy}});
  steps.must("promptIds", {{"ids", {ids[0]}}});
  for (std::size_t i = 1; i < ids.size(); ++i) {
    const auto& logits = *steps->state().logits;
    QVERIFY(std::abs(lossOf(logits.data(), logits.size(), std::size_t(ids[i])) - one[i]) < 1e-5);
    steps.must("step", {{"tokens", {ids[i]}}});
  }
}

void ScoreTest::windowsOfAText() {
  QTemporaryDir folder;
  const std::string file = folder.filePath("text").toStdString();
  QFile text(QString::fromStdString(file));
  QVERIFY(text.open(QIODevice::WriteOnly));
  text.write(
      "anna puts the silver key in the cellar . the wind blows all night . ben leaves the old map in the tower .");
  text.close();
  PerplexityOrder order{.manifest = {{"model", "demo"}}, .resources = KVLAB_RESOURCES_DIR, .text = file};
  const Result<Perplexity> whole = perplexity(order);
  QVERIFY2(whole, whole ? "" : whole.error().text().c_str());
  QCOMPARE(whole->windows, 1);
  QCOMPARE(whole->scored, std::ssize(whole->ids) - 1);
  // A window of its own for the tokens behind the first eight.
  order.context = 8, order.stride = 4;
  const Result<Perplexity> cut = perplexity(order);
  QVERIFY(cut);
  QCOMPARE(cut->scored, whole->scored);
  const SessionFixture s(json{{"model", "demo"}});
  const std::vector<std::int32_t> window(cut->ids.begin() + 4, cut->ids.begin() + 12);
  const auto found = losses(s.must("scoreIds", {{"ids", window}}));
  for (std::size_t i = 0; i < 8; ++i)
    QCOMPARE(cut->losses[i + 4], i < 4 ? whole->losses[i + 4] : static_cast<float>(found[i]));
  QVERIFY(cut->nll > whole->nll);
  order.stride = 9;
  QCOMPARE(perplexity(order).error().code, std::string("usage"));
  order.manifest["policy"] = {{"name", "streaming_llm"}, {"sinks", 1}, {"window", 3}, {"capacity", 4}};
  order.stride = 4;
  const Result<Perplexity> evicting = perplexity(order);
  QVERIFY2(evicting, evicting ? "" : evicting.error().text().c_str());
  QVERIFY(evicting->each && evicting->losses[7] != cut->losses[7]);
  QVERIFY(std::isnan(evicting->losses[3]) && !std::isnan(evicting->losses[4]));
  order.text = file + "x";
  QCOMPARE(perplexity(order).error().code, std::string("unreadable_file"));
}

/// What the score told stays with the tokens, and chooses rows.
void ScoreTest::theLedgerHasThem() {
  SessionFixture s;
  s.prompt(4);
  const json told = s.must("scoreIds", {{"ids", {5, 9, 7}}});
  const json rows = s.must("ledger");
  for (std::size_t i = 0; i < 4; ++i) QVERIFY(rows[i]["surprise"].is_null());
  for (std::size_t i = 0; i < 3; ++i) QCOMPARE(rows[4 + i]["surprise"], told["losses"][i]);
  const std::vector<double> each = losses(told);
  const double most = *std::ranges::max_element(each);
  const json chosen = s.must("ledger", {{"where", "surprise > " + std::to_string(most - 1e-3)}});
  QVERIFY(!chosen.empty() && chosen.size() < 3);
}

KV_TEST(ScoreTest)
#include "score_test.moc"
