// SPDX-License-Identifier: Apache-2.0
// Keys of a manifest that do nothing beside the others are named, and only those.
#include "core/api/manifest_values.h"
#include "core/api/manifest.h"
#include "core/api/manifest_list.h"
#include "support/runner.h"

using namespace kvlab;
using nlohmann::json;

namespace {

/// All sentences, one in a line.
std::string said(const json& manifest) {
  const Result<Manifest> read = Manifest::fromJson(manifest);
  if (!read) return read.error().text();
  std::string out;
  for (const std::string& one : idleKeys(*read)) out += (out.empty() ? "" : "\n") + one;
  return out;
}

const json kPyramid{{"wlod", {{"attention", "pyramid"}}}}, kRing{{"layout", "ring_fused"}};

}  // namespace

class ManifestValuesTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void namesWhatDoesNothing_data() {
    QTest::addColumn<QByteArray>("changes");
    QTest::addColumn<QByteArray>("lets");
    QTest::addColumn<QByteArray>("why");
    const auto row = [](const char* name, const json& changes, const json& lets, const char* why) {
      QTest::newRow(name) << QByteArray::fromStdString(changes.dump()) << QByteArray::fromStdString(lets.dump())
                          << QByteArray(why);
    };
    row("a window", {{"ring", {{"window", 8}}}}, kRing, "ring.window is 8 without effect: no layer has a ring layout");
    row("a ring in one layer", {{"ring", {{"window", 8}}}}, {{"layers", {{{"match", 1}, {"layout", "ring_lut"}}}}},
        "no layer has a ring layout");
    row("tails", {{"ring", {{"tail_only", true}}}}, kRing, "ring.tail_only is true without effect");
    row("guards", {{"guards", true}}, kRing, "guards is true without effect");
    row("near moments", {{"wlod", {{"w", 32}}}}, kPyramid,
        "wlod.w is 32 without effect: wlod.attention is not pyramid");
    row("middle moments", {{"wlod", {{"w2", 64}}}}, kPyramid, "wlod.w2 is 64 without effect");
    row("a share", {{"wlod", {{"selective_ratio", 0.3}}}}, {{"wlod", {{"recompute", "selective"}}}},
        "wlod.selective_ratio is 0.3 without effect");
    row("a target", {{"brightness", {{"target", 9}}}}, {{"brightness", {{"compressor", "nearest"}}}},
        "brightness.compressor is off");
    row("a cosine", {{"brightness", {{"min_cosine", 0.5}}}}, {{"brightness", {{"compressor", "nearest"}}}},
        "brightness.compressor is not nearest");
    row("a scrub period", {{"check", {{"level", "full"}, {"scrub_period", 3}}}}, {{"check", {{"level", "cheap"}}}},
        "check.level is not cheap");
    row("an overflow", {{"absolute_overflow", "shift"}}, {{"position", "absolute"}}, "position is not absolute");
    row("a draw", {{"sampling", {{"top_k", 5}}}}, {{"sampling", {{"temperature", 1}}}}, "sampling.temperature is 0");
  }
  void namesWhatDoesNothing() {
    QFETCH(QByteArray, changes);
    QFETCH(QByteArray, lets);
    QFETCH(QByteArray, why);
    json manifest = json::parse(changes.toStdString());
    const std::string alone = said(manifest);
    QVERIFY2(alone.find(why.toStdString()) != std::string::npos, alone.c_str());
    QCOMPARE(std::ranges::count(alone, '\n'), 0);
    manifest.merge_patch(json::parse(lets.toStdString()));
    QCOMPARE(said(manifest), std::string());
  }

  /// Neither do defaults that are written out, nor seeds.
  void saysNothingOfDefaults() {
    QCOMPARE(said(json::object()), std::string());
    QCOMPARE(said(Manifest().toJson()), std::string());
    QCOMPARE(said({{"wlod", json::object()}}), std::string());
    QCOMPARE(said({{"sampling", {{"seed", 7}}}}), std::string());
    QCOMPARE(said({{"policy", "h2o:budget=8"}, {"layout", "ring_fused"}}), std::string());
  }

  /// A device has a number; a written manifest keeps it.
  void backendsAreNamed() {
    for (const char* good : {"auto", "cpu", "cuda", "cuda:0", "cuda:17"}) {
      const Result<Manifest> read = Manifest::fromJson({{"backend", good}});
      QVERIFY2(read, good);
      QCOMPARE(read->toJson()["backend"], json(good));
    }
    for (const json& bad : {json("gpu"), json(""), json("cuda:"), json("cuda:N"), json("cuda:01"), json("cuda:-1"),
                            json("cuda:1000"), json("cuda1"), json(0)}) {
      const Result<Manifest> read = Manifest::fromJson({{"backend", bad}});
      QVERIFY2(!read && read.error().field == "backend", bad.dump().c_str());
    }
  }

  /// A lane names its additions.
  void saysWhatTheOriginDoesNot() {
    const auto read = [](const json& ring) { return Manifest::fromJson({{"ring", ring}}).take(); };
    const Manifest one = read({{"window", 8}}), other = read({{"window", 9}});
    const Manifest more = read({{"window", 8}, {"tail_only", true}});
    QCOMPARE(idleKeys(one, one).size(), std::size_t(0));
    QCOMPARE(idleKeys(other, one).size(), std::size_t(1));
    QCOMPARE(idleKeys(more, one).size(), std::size_t(1));
    QVERIFY(idleKeys(more, one).front().starts_with("ring.tail_only"));
  }
};

KV_TEST(ManifestValuesTest)
#include "manifest_values_test.moc"
