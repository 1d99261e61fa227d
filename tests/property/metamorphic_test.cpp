// SPDX-License-Identifier: Apache-2.0
// Two ways to the same cache end in the same bits. tests/property/README.md lists each claim with its precondition.
#include "core/api/layout_names.h"
#include "core/session/truth.h"
#include "support/runner.h"
#include "support/session_fixture.h"

using namespace kvlab;

namespace {

constexpr const char* kPositions[] = {"context", "absolute", "cache"};
constexpr const char* kExecutors[] = {"batch", "descending"};
const json kAfter[] = {"keep", "recompute", {{"selective", {{"ratio", 0.3}}}}};

/// The difference between two sessions' caches, in words; empty = nothing.
QByteArray difference(const SessionFixture& a, const SessionFixture& b) {
  if (a.tokens() != b.tokens()) return "tokens differ";
  if (a.rows() != b.rows()) return "rows differ";
  if (a.logits() != b.logits()) return "logits differ";
  if (!a.damage().isEmpty()) return a.damage();
  return b.damage();
}

json pair(int first, int second, const std::vector<int>& ids) {
  return {{"action", "replace_pair"}, {"original_pos1", first}, {"original_pos2", second}, {"new_token_ids", ids}};
}

/// Replaces, deletes and inserts that leave phase room in every position mode.
json someEdits() {
  return {pair(10, 11, {200}),
          {{"action", "delete"}, {"position", 30}},
          {{"action", "replace"}, {"positions", {20, 21, 25}}, {"new_token_ids", {7, 8}}},
          pair(40, 41, {9, 10}),
          {{"action", "add"}, {"token_id", 77}}};
}

void applyEdits(const SessionFixture& s, const json& actions) {
  s.must("inject", {{"actions", actions}});
  s.must("apply");
}

}  // namespace

constexpr const char* kModels[] = {"synthetic:tiny", "synthetic:tiny-gemma", "synthetic:tiny-nope",
                                   "synthetic:tiny-moe", "synthetic:tiny-odd"};

class MetamorphicTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void prefillHoweverCut_data() {
    QTest::addColumn<int>("position");
    QTest::addColumn<QByteArray>("dtype");
    for (int position = 0; position < 3; ++position)
      for (const char* dtype : {"f32", "bf16", "f16"})
        QTest::addRow("%s %s", kPositions[position], dtype) << position << QByteArray(dtype);
  }
  void prefillHoweverCut() {
    QFETCH(int, position);
    QFETCH(QByteArray, dtype);
    const json base{{"position", kPositions[position]}, {"dtype", dtype.toStdString()}};
    const std::vector<int> ids = SessionFixture::ids(150);
    SessionFixture oneShot(base);
    oneShot.must("promptIds", {{"ids", ids}});
    for (const int rows : {1, 7, 64}) {
      json changed = base;
      changed["prefill_chunk"] = rows;
      changed["threads"] = rows == 64 ? 2 : 1;
      SessionFixture chunked(changed);
      chunked.must("promptIds", {{"ids", ids}});
      QVERIFY2(difference(oneShot, chunked).isEmpty(), difference(oneShot, chunked));
    }
    SessionFixture pieces(base);
    for (std::size_t begin = 0; begin < ids.size(); begin += 31)
      pieces.must("prefill",
                  {{"ids",
                    std::vector<int>(ids.begin() + static_cast<std::ptrdiff_t>(begin),
                                     ids.begin() + static_cast<std::ptrdiff_t>(std::min(ids.size(), begin + 31)))}});
    pieces.must("endPrefill");
    QVERIFY2(difference(oneShot, pieces).isEmpty(), difference(oneShot, pieces));
    SessionFixture decoded(base);
    decoded.must("step", {{"tokens", ids}});
    QVERIFY2(difference(oneShot, decoded).isEmpty(), difference(oneShot, decoded));
    SessionFixture rebuilt(base);
    rebuilt.must("promptIds", {{"ids", ids}});
    rebuilt.must("rebuild");
    QVERIFY2(difference(oneShot, rebuilt).isEmpty(), difference(oneShot, rebuilt));
    const Result<Drift> drift = measureDrift(*decoded);
    QVERIFY(drift);
    QVERIFY(!drift->worstLayer);
    QCOMPARE(drift->kl, 0.0);
  }

  void eraseAndRebuildIsFreshPrefill_data() { everyWay(true); }
  void eraseAndRebuildIsFreshPrefill() {
    QFETCH(QByteArray, manifest);
    SessionFixture edited(json::parse(manifest.toStdString()));
    edited.prompt(60);
    applyEdits(edited, someEdits());
    edited.must("step", {{"tokens", {5, 6}}});
    edited.must("rebuild");
    SessionFixture fresh(json{{"model", edited->manifest().model}});
    fresh.must("promptIds", {{"ids", edited.tokens()}});
    QVERIFY2(difference(edited, fresh).isEmpty(), difference(edited, fresh));
    QVERIFY2(edited.damage().isEmpty(), edited.damage());
  }

  void recomputeIsFreshPrefill_data() { everyWay(true); }
  void recomputeIsFreshPrefill() {
    QFETCH(QByteArray, manifest);
    json changed = json::parse(manifest.toStdString());
    changed["after_edit"] = "recompute";
    SessionFixture edited(changed);
    edited.prompt(60);
    applyEdits(edited, someEdits());
    SessionFixture fresh(json{{"model", edited->manifest().model}});
    fresh.must("promptIds", {{"ids", edited.tokens()}});
    QVERIFY2(difference(edited, fresh).isEmpty(), difference(edited, fresh));
    QVERIFY2(edited.damage().isEmpty(), edited.damage());
    QVERIFY(!edited->state().edited ||
            exactnessMap(*edited).layers.back() ==
                std::vector<Exactness>(edited->state().context.size(), Exactness::Exact));
  }

  void tailEditIsCropAndAppend_data() { everyWay(false); }
  void tailEditIsCropAndAppend() {
    QFETCH(QByteArray, manifest);
    const json changed = json::parse(manifest.toStdString());
    const std::vector<int> ids = SessionFixture::ids(60);
    SessionFixture edited(changed);
    edited.must("promptIds", {{"ids", ids}});
    applyEdits(edited, {pair(58, 59, {11, 12, 13}), {{"action", "add"}, {"token_id", 14}}});
    std::vector<int> cropped(ids.begin(), ids.begin() + 58);
    for (int id : {11, 12, 13, 14}) cropped.push_back(id);
    SessionFixture fresh(changed);
    fresh.must("promptIds", {{"ids", cropped}});
    QVERIFY2(difference(edited, fresh).isEmpty(), difference(edited, fresh));
    QVERIFY(!measureDrift(*edited)->worstLayer);
  }

  void layerZeroEqualsARebuild_data() { everyWay(false); }
  void layerZeroEqualsARebuild() {
    QFETCH(QByteArray, manifest);
    SessionFixture edited(json::parse(manifest.toStdString()));
    edited.prompt(60);
    applyEdits(edited, someEdits());
    edited.must("evict", {{"layer", 1}, {"ledger", {3, 4, 5}}, {"now", true}});
    edited.must("step", {{"n", 3}});
    const Result<Drift> drift = measureDrift(*edited);
    QVERIFY(drift);
    QCOMPARE(drift->k[0], 0.0);
    QCOMPARE(drift->v[0], 0.0);
    if (edited->manifest().afterEdit == AfterEdit::Keep) QVERIFY(drift->v[3] > 0);
    edited.must("rebuild");
    QVERIFY(!measureDrift(*edited)->worstLayer);
    QVERIFY2(edited.damage().isEmpty(), edited.damage());
  }

  void executorsEndInTheSameContext_data() {
    QTest::addColumn<QByteArray>("manifest");
    for (const char* position : kPositions)
      for (const json& after : kAfter) {
        const std::string text = json{{"position", position}, {"after_edit", after}}.dump();
        QTest::newRow(text.c_str()) << QByteArray::fromStdString(text);
      }
  }
  void executorsEndInTheSameContext() {
    QFETCH(QByteArray, manifest);
    json changed = json::parse(manifest.toStdString());
    SessionFixture batch(changed);
    changed["executor"] = "descending";
    SessionFixture descending(changed);
    for (const SessionFixture* s : {&batch, &descending}) {
      s->prompt(60);
      s->must("inject", {{"actions", someEdits()}});
      s->must("step", {{"tokens", {42}}});
      applyEdits(*s, {pair(3, 50, {1}), pair(33, 34, {2})});
      QVERIFY2(s->damage().isEmpty(), s->damage());
    }
    const CacheState &a = batch->state(), &b = descending->state();
    QVERIFY(std::equal(a.context.begin(), a.context.end(), b.context.begin(), b.context.end()));
    QVERIFY(std::equal(a.phases.begin(), a.phases.end(), b.phases.begin(), b.phases.end()));
    QCOMPARE(a.ledger.size(), b.ledger.size());
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(a.ledger.size()); ++i) {
      const LedgerRow &x = a.ledger[LedgerId(i)], &y = b.ledger[LedgerId(i)];
      QVERIFY(x.token == y.token && x.state == y.state && x.source == y.source && x.parents == y.parents &&
              x.children == y.children && x.born == y.born);
    }
  }

  void undoAndRedoRestoreEveryHash_data() { everyWay(false); }
  void undoAndRedoRestoreEveryHash() {
    QFETCH(QByteArray, manifest);
    for (const std::int64_t history : {std::int64_t{64} << 20, std::int64_t{0}}) {
      json changed = json::parse(manifest.toStdString());
      changed["history_bytes"] = history;
      SessionFixture s(changed);
      std::vector<std::string> hashes{s.hash()};
      const auto note = [&] { hashes.push_back(s.hash()); };
      s.prompt(40), note();
      s.must("step"), note();
      applyEdits(s, {pair(10, 11, {200}), pair(20, 21, {7, 8})}), note();
      s.must("setBrightness", {{"ledger", 2}, {"value", 17}}), note();
      s.must("evict", {{"layer", 1}, {"ledger", {3, 4}}, {"now", true}}), note();
      s.must("inject", {{"actions", {pair(5, 6, {9})}}});
      s.must("step"), note();
      s.must("rebuild"), note();
      s.must("step"), note();
      for (std::size_t i = hashes.size() - 1; i-- > 0;) {
        s.must("undo");
        QVERIFY2(s.hash() == hashes[i], QByteArray("undo to state ") + QByteArray::number(static_cast<int>(i)));
        QVERIFY2(s.damage().isEmpty(), s.damage());
      }
      QVERIFY(!s.verb("undo"));
      for (std::size_t i = 1; i < hashes.size(); ++i) {
        s.must("redo");
        QVERIFY2(s.hash() == hashes[i], QByteArray("redo to state ") + QByteArray::number(static_cast<int>(i)));
        QVERIFY2(s.damage().isEmpty(), s.damage());
      }
      QVERIFY(!s.verb("redo"));
    }
  }

  void permutingSlotsChangesNothing() {
    SessionFixture plain, permuted;
    plain.prompt(50);
    // Rows of a prompt that was retried after an edit lie in other slots.
    permuted.prompt(50, 99);
    permuted.must("undo");
    permuted.must("promptIds", {{"ids", SessionFixture::ids(20, 1)}});
    permuted.must("undo");
    permuted.prompt(50);
    const auto slot = [](const SessionFixture& s) { return s->state().map(CacheLayer(0)).slotOf[0]; };
    QVERIFY(slot(plain) != slot(permuted));
    QVERIFY2(difference(plain, permuted).isEmpty(), difference(plain, permuted));
    for (const SessionFixture* s : {&plain, &permuted}) s->must("step", {{"n", 4}});
    QVERIFY2(difference(plain, permuted).isEmpty(), difference(plain, permuted));
    QCOMPARE(plain.hash(), permuted.hash());
  }

 private:
  /// Position modes (without gaps: not absolute), layouts, executors, after_edit: two layouts with every executor and
  /// after_edit, each other layout with one of them in each position mode, so that each meets every value.
  static void everyWay(bool withoutGaps) {
    QTest::addColumn<QByteArray>("manifest");
    std::size_t turn = 0;
    for (const char* position : kPositions)
      for (const LayoutName& info : layouts()) {
        const bool all = info.name == "indirection" || info.name == "contiguous_splice";
        const std::size_t chosen = turn++ % 6;
        for (std::size_t way = 0; way < 6; ++way) {
          if ((withoutGaps && std::string(position) == "absolute") || (!all && way != chosen)) continue;
          const json manifest{
              {"position", position},
              {"layout", info.name == "paged" ? "paged:block=4" : std::string(info.name)},
              {"executor", kExecutors[way % 2]},
              {"after_edit", kAfter[way / 2]},
              {"model", info.name.starts_with("ring_") ? "synthetic:tiny" : kModels[turn % std::size(kModels)]}};
          QTest::newRow(manifest.dump().c_str()) << QByteArray::fromStdString(manifest.dump());
        }
      }
  }
};

KV_TEST(MetamorphicTest)
#include "metamorphic_test.moc"
