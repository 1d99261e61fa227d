// SPDX-License-Identifier: Apache-2.0
// The parts of wLOD one by one: nodes, tree, gist networks, working context and its refusals, cold start, allocator,
// invalidation, cost model. semantics.md, section 8.
#include <QTemporaryDir>

#include "core/kinds/wlod/tree/coverage.h"
#include "core/kinds/wlod/tree/focus_allocator.h"
#include "core/kinds/wlod/tree/gist_net.h"
#include "core/kinds/wlod/tree/invalidation.h"
#include "core/kinds/wlod/tree/lens.h"
#include "core/kinds/wlod/tree/mega_context.h"
#include "core/kinds/wlod/tree/working_context.h"
#include "support/gist_file.h"
#include "support/runner.h"
#include "support/working_contexts.h"

using namespace kvlab;

namespace {

constexpr int kHidden = 16;

std::vector<LedgerId> consecutiveIds(std::int32_t from, std::int32_t count) {
  std::vector<LedgerId> out;
  for (std::int32_t i = 0; i < count; ++i) out.push_back(LedgerId(from + i));
  return out;
}

/// An embedding that only the ledger row decides.
float valueOf(LedgerId id, int d) { return std::sin(static_cast<float>(id.value() * 31 + d)) * 0.02f; }

MegaContext::Embeddings embeddingsOf(const MegaContext& tree) {
  return [&tree](Moments moments, float* out) {
    for (std::int32_t t = moments.begin; t < moments.end; ++t)
      for (int d = 0; d < kHidden; ++d) *out++ = valueOf(tree.token(Moment(t)), d);
  };
}

std::int32_t refresh(MegaContext& tree, const GistNet& net) {
  const MegaContext before = tree;
  return tree.refresh(net, embeddingsOf(before)).take();
}

std::string editError(const WorkingContext& context, std::vector<LodEdit> edits, const WorkingRules& rules) {
  const auto done = context.edited(edits, rules);
  return done ? "" : done.error().code;
}

LodEdit expand(int level, std::int32_t start) { return {true, {level, start}}; }
LodEdit collapse(int level, std::int32_t start) { return {false, {level, start}}; }

}  // namespace

class WlodTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void nodes() {
    QCOMPARE((TreeNode{1, 64}.end()), 96);
    QCOMPARE((TreeNode{2, 1024}.child(3)), (TreeNode{1, 1120}));
    QCOMPARE((TreeNode{0, 77}.phase()), 77);
    QCOMPARE((TreeNode{1, 64}.phase()), 80);
    QCOMPARE((TreeNode{2, 0}.phase()), 512);
    QCOMPARE(TreeNode::of(TreeNode{2, 5120}.id()), (TreeNode{2, 5120}));
    QCOMPARE(TreeNode::of(NodeId(-1)).level, -1);
    QCOMPARE(TreeNode::of(NodeId(std::int64_t{1} << 52)).level, -1);
    QVERIFY(!(TreeNode{1, 16}.aligned()) && !(TreeNode{3, 0}.aligned()) && !(TreeNode{1, -32}.aligned()));
  }

  void theTreeKeepsEveryLevel() {
    const auto net = meanGistNet(kHidden);
    MegaContext tree(kHidden);
    tree.append(consecutiveIds(0, 2100));
    QCOMPARE(tree.nodes(1), 65);
    QCOMPARE(tree.nodes(2), 2);
    QCOMPARE(tree.tailBegin(), 2080);
    QVERIFY(!tree.has({1, 2080}) && tree.has({1, 2048}) && tree.has({2, 1024}) && !tree.has({2, 2048}));
    QCOMPARE(refresh(tree, *net), 67);
    for (int d = 0; d < kHidden; ++d) {
      double sum = 0;
      for (std::int32_t t = 1024; t < 2048; ++t) sum += double(valueOf(LedgerId(t), d));
      QVERIFY(std::abs(double(tree.gist({2, 1024})[at(d)]) - sum / 1024) < 1e-8);
    }
    tree.append(consecutiveIds(2100, 12));
    QCOMPARE(tree.dirty(), (std::vector<TreeNode>{{1, 2080}}));
  }

  /// However it grew, a tree has the same gists, bit for bit.
  void growthDoesNotMatter() {
    const auto net = meanGistNet(kHidden);
    MegaContext whole(kHidden), grown(kHidden);
    whole.append(consecutiveIds(0, 1500));
    refresh(whole, *net);
    for (std::int32_t t = 0; t < 1500; t += 7) {
      grown.append(consecutiveIds(t, std::min(7, 1500 - t)));
      refresh(grown, *net);
    }
    for (std::int32_t t = 0; t + 32 <= 1500; t += 32)
      QVERIFY(std::ranges::equal(whole.gist({1, t}), grown.gist({1, t})));
    QVERIFY(std::ranges::equal(whole.gist({2, 0}), grown.gist({2, 0})));
  }

  void contentEditsDirtyUpwards() {
    const auto net = meanGistNet(kHidden);
    MegaContext tree(kHidden);
    tree.append(consecutiveIds(0, 2048));
    refresh(tree, *net);
    tree.name({1, 1056}, LedgerId(5000));
    const MegaContext before = tree;
    tree.replace(Moment(1060), LedgerId(3000));
    QCOMPARE(tree.dirty(), (std::vector<TreeNode>{{1, 1056}, {2, 1024}}));
    QCOMPARE(tree.row({1, 1056}), LedgerId(-1));
    QCOMPARE(refresh(tree, *net), 2);
    QVERIFY(!std::ranges::equal(tree.gist({2, 1024}), before.gist({2, 1024})));
    QVERIFY(std::ranges::equal(tree.gist({2, 0}), before.gist({2, 0})));
    QCOMPARE(before.token(Moment(1060)), LedgerId(1060));
    QCOMPARE(before.row({1, 1056}), LedgerId(5000));
    MegaContext fresh(kHidden);
    std::vector<LedgerId> all = consecutiveIds(0, 2048);
    all[1060] = LedgerId(3000);
    fresh.append(all);
    refresh(fresh, *net);
    for (const TreeNode node : {TreeNode{1, 1056}, TreeNode{2, 1024}, TreeNode{1, 0}})
      QVERIFY(std::ranges::equal(tree.gist(node), fresh.gist(node)));
  }

  void theTailHasNoGists() {
    const auto net = meanGistNet(kHidden);
    MegaContext tree(kHidden);
    tree.append(consecutiveIds(0, 40));
    refresh(tree, *net);
    const MegaContext before = tree;
    tree.setTail(Moment(35), consecutiveIds(100, 2));
    QCOMPARE(tree.length(), 37);
    QVERIFY(tree.dirty().empty());
    QCOMPARE(tree.token(Moment(36)), LedgerId(101));
    QCOMPARE(before.token(Moment(36)), LedgerId(36));
    tree.setTail(Moment(37), consecutiveIds(200, 27));
    QCOMPARE(tree.dirty(), (std::vector<TreeNode>{{1, 32}}));
  }

  void gistNetworksFromFiles() {
    const QTemporaryDir folder;
    const std::string path = folder.filePath("net.safetensors").toStdString();
    const GistFile file(kHidden, 2, 3, 20);
    QVERIFY(file.write(path));
    const auto net = loadGistNet(path, kHidden, kernels::makeCpuBackend(2));
    QVERIFY2(bool(net), net ? "" : net.error().text().c_str());
    QCOMPARE((*net)->model(), std::string("some model"));
    std::vector<float> children;
    for (std::int32_t i = 0; i < 5 * 32 * kHidden; ++i) children.push_back(valueOf(LedgerId(i), 3));
    for (int level = 1; level <= 2; ++level) {
      std::vector<float> out(5 * kHidden), one(kHidden);
      QVERIFY((*net)->gists(level, children.data(), 5, out.data()));
      for (std::int64_t i = 0; i < 5; ++i) {
        const std::vector<double> want = file.gist(level, children.data() + i * 32 * kHidden);
        for (std::int64_t d = 0; d < kHidden; ++d)
          QVERIFY(std::abs(double(out[at(i * kHidden + d)]) - want[at(d)]) < 1e-5);
        QVERIFY((*net)->gists(level, children.data() + i * 32 * kHidden, 1, one.data()));
        QVERIFY(std::equal(one.begin(), one.end(), out.begin() + i * kHidden));
      }
    }
  }

  void aNetworkThatAddsNothingIsTheMean() {
    const QTemporaryDir folder;
    const std::string path = folder.filePath("net.safetensors").toStdString();
    QVERIFY(GistFile(kHidden, 1, 2, 8, 0.0f).write(path));
    const auto net = loadGistNet(path, kHidden, kernels::makeCpuBackend(1));
    QVERIFY(net);
    std::vector<float> children(32 * kHidden), a(kHidden), b(kHidden);
    for (std::size_t i = 0; i < children.size(); ++i) children[i] = valueOf(LedgerId(static_cast<int>(i)), 1);
    for (int level = 1; level <= 2; ++level) {
      QVERIFY((*net)->gists(level, children.data(), 1, a.data()));
      QVERIFY(meanGistNet(kHidden)->gists(level, children.data(), 1, b.data()));
      QVERIFY(a == b);
    }
  }

  void badNetworksAreRefused_data() {
    QTest::addColumn<QString>("damage");
    QTest::addColumn<QString>("field");
    for (const auto& [damage, field] : {std::pair{"no kind", "kind"},
                                        {"other kind", "kind"},
                                        {"no model", "model"},
                                        {"no query", "levels.1.query"},
                                        {"no w2", "levels.1.w2"},
                                        {"odd query", "levels.1.query"},
                                        {"wide norm", "levels.1.norm"},
                                        {"more", "extra"},
                                        {"not finite", "levels.1.b1"}})
      QTest::newRow(damage) << damage << field;
  }
  void badNetworksAreRefused() {
    QFETCH(QString, damage);
    QFETCH(QString, field);
    const QTemporaryDir folder;
    const std::string path = folder.filePath("net.safetensors").toStdString();
    GistFile file(kHidden, 1, 2, 8);
    if (damage == "no kind") file.metadata.erase("kind");
    if (damage == "other kind") file.metadata["kind"] = "gates";
    if (damage == "no model") file.metadata.erase("model");
    if (damage == "no query") file.tensors.erase("levels.1.query");
    if (damage == "no w2") file.tensors.erase("levels.1.w2");
    if (damage == "odd query") file.tensors["levels.1.query"] = {{2}, {1, 2}};
    if (damage == "wide norm") file.tensors["levels.1.norm"] = {{3}, {1, 2, 3}};
    if (damage == "more") file.tensors["extra"] = {{1}, {1}};
    if (damage == "not finite") file.tensors["levels.1.b1"].values[3] = std::nanf("");
    QVERIFY(file.write(path));
    const auto net = loadGistNet(path, kHidden, kernels::makeCpuBackend(1));
    QVERIFY(!net);
    QCOMPARE(net.error().code, std::string("bad_gist_net"));
    QCOMPARE(QString::fromStdString(net.error().field), field);
    QVERIFY(!net.error().remedy.empty());
  }

  /// The losses of a gist network beside truncation, and the text of a session about them.
  void figuresOfAGistNetwork() {
    const auto losses = [](double trained, double truncation) {
      return nlohmann::json{
          {"full", 1}, {"trained", trained}, {"mean", 3}, {"truncation", truncation}, {"nothing", 2.5}};
    };
    const auto level = [&](int number, double trained) {
      return nlohmann::json{{"level", number}, {"tokens", 64}, {"nll", losses(trained, 2)}, {"kl", losses(0.5, 0.75)}};
    };
    const auto noticeOf = [](const std::string& measured) {
      const QTemporaryDir folder;
      const std::string path = folder.filePath("net.safetensors").toStdString();
      GistFile file(kHidden, 1, 2, 8);
      if (!measured.empty()) file.metadata["measured"] = measured;
      if (!file.write(path)) return std::string("not written");
      const auto net = loadGistNet(path, kHidden, kernels::makeCpuBackend(1));
      return net ? gistNotice(**net) : net.error().code + " " + net.error().field;
    };
    QCOMPARE(noticeOf(nlohmann::json{level(1, 1.5), level(2, 1.9)}.dump()), std::string());
    QCOMPARE(noticeOf(nlohmann::json{level(1, 1.5), level(2, 2)}.dump()),
             std::string("gists of LOD2 cost 2.000 nats per token, as many of the last tokens 2.000"));
    QVERIFY(noticeOf("").starts_with("nobody has measured"));
    QVERIFY(gistNotice(*meanGistNet(kHidden)).starts_with("mean gists"));
    const Result<std::vector<GistFigures>> read = readGistFigures(nlohmann::json{level(1, 1.5)}.dump(), "here");
    QVERIFY(read && read->size() == 1 && read->front().tokens == 64);
    QCOMPARE(read->front().nll.trained, 1.5);
    QCOMPARE(read->front().kl.truncation, 0.75);
    nlohmann::json negative = level(1, -3), huge = level(1, 1), few = level(1, 1), word = level(1, 1);
    huge["tokens"] = 1e300;
    few["kl"].erase("mean");
    word["nll"]["full"] = "1";
    for (const std::string& bad :
         {std::string("{"), std::string("{}"), std::string("[1]"), std::string("[[[[[[[[[[]]]]]]]]]]"),
          std::string(R"([{"level":1,"level":1}])"), nlohmann::json{level(2, 1)}.dump(),
          nlohmann::json{negative}.dump(), nlohmann::json{huge}.dump(), nlohmann::json{few}.dump(),
          nlohmann::json{word}.dump(), nlohmann::json{level(1, 1), level(2, 1), level(3, 1)}.dump()})
      QCOMPARE(noticeOf(bad), std::string("bad_gist_net measured"));
  }

  void expandUndoesCollapse() {
    const WorkingContext start = tokens(2100);
    const auto down = start.edited(std::vector{collapse(1, 64), collapse(1, 96), collapse(1, 1024)}, kFreeRules);
    QVERIFY(down);
    QCOMPARE(down->context.cost(), 2100 - 3 * 31);
    QCOMPARE(down->swaps.size(), std::size_t{2});  // neighbours together
    QCOMPARE(down->swaps[0].moments, (Moments{64, 128}));
    QCOMPARE(down->swaps[0].countBefore, 64);
    QCOMPARE(down->swaps[0].countAfter, 2);
    const auto up = down->context.edited(std::vector{expand(1, 64), expand(1, 96), expand(1, 1024)}, kFreeRules);
    QVERIFY(up && std::ranges::equal(up->context.entries().span(), start.entries().span()));
    const auto both = start.edited(std::vector{collapse(1, 64), expand(1, 64)}, kFreeRules);
    QVERIFY(both && both->swaps.empty());
  }

  void aThousandTokensToOneGist() {
    std::vector<LodEdit> edits;
    for (std::int32_t t = 0; t < 1024; t += 32) edits.push_back(collapse(1, t));
    edits.push_back(collapse(2, 0));
    const auto done = tokens(1030).edited(edits, kFreeRules);
    QVERIFY(done);
    QCOMPARE(done->context.cost(), 7);
    QCOMPARE(done->swaps.size(), std::size_t{1});
    QCOMPARE(editError(done->context, {expand(2, 0)}, {30, 0, 0}), std::string("over_budget"));
    QCOMPARE(editError(done->context, {expand(2, 0)}, {38, 0, 0}), std::string());
  }

  void illegalEdits_data() {
    QTest::addColumn<int>("way");
    QTest::addColumn<int>("level");
    QTest::addColumn<int>("start");
    QTest::addColumn<QString>("code");
    const auto row = [](const char* name, bool expands, int level, int start, const char* code) {
      QTest::newRow(name) << int(expands) << level << start << code;
    };
    row("misaligned collapse", false, 1, 16, "misaligned");
    row("misaligned LOD2", false, 2, 32, "misaligned");
    row("misaligned expand", true, 1, 65, "misaligned");
    row("no such level", false, 3, 0, "unknown_node");
    row("before the start", false, 1, -32, "unknown_node");
    row("incomplete tail", false, 1, 2080, "unknown_node");
    row("far away", true, 1, 1 << 29, "unknown_node");
    row("tokens have no children", true, 0, 7, "no_children");
    row("tokens are no gists", false, 0, 7, "no_children");
    row("gist that is no entry", true, 1, 128, "not_an_entry");
    row("collapsed already", false, 1, 0, "partial");
    row("LOD2 over tokens", false, 2, 0, "partial");
    row("protected tail", false, 1, 1984, "protected_tail");
    row("cooldown of an expansion", true, 1, 256, "cooldown");
    row("cooldown of a collapse", false, 1, 64, "cooldown");
  }
  void illegalEdits() {
    QFETCH(int, way);
    QFETCH(int, level);
    QFETCH(int, start);
    QFETCH(QString, code);
    const WorkingRules rules{2100, 128, 2};
    auto context = tokens(2100)
                       .edited(std::vector{collapse(1, 0), collapse(1, 32), collapse(1, 64)}, kFreeRules)
                       ->context.nextRound()
                       .nextRound();
    context = context.edited(std::vector{expand(1, 64)}, rules)->context;  // round 2
    context = context.edited(std::vector{collapse(1, 256)}, rules)->context.nextRound();
    const auto refused = context.edited(std::vector{collapse(1, 512), LodEdit{way == 1, {level, start}}}, rules);
    QVERIFY(!refused);
    QCOMPARE(QString::fromStdString(refused.error().code), code);
    QCOMPARE(*refused.error().action, 1);
    QCOMPARE(refused.error().field, std::string("node"));
    QVERIFY(!refused.error().why.empty() && !refused.error().remedy.empty());
    QVERIFY(!context.hasEntry({1, 512}));
  }

  void cooldownEnds() {
    const WorkingRules rules{4000, 0, 2};
    WorkingContext context = tokens(640).edited(std::vector{collapse(1, 32)}, rules)->context;
    QCOMPARE(editError(context, {expand(1, 32)}, rules), std::string("cooldown"));
    context = context.nextRound();
    QCOMPARE(editError(context, {expand(1, 32)}, rules), std::string("cooldown"));
    QCOMPARE(editError(context.nextRound(), {expand(1, 32)}, rules), std::string());
  }

  void theBudgetCountsTheOutcome() {
    const WorkingContext start = tokens(640).edited(std::vector{collapse(1, 32)}, kFreeRules)->context;
    const WorkingRules tight{start.cost(), 0, 0};
    QCOMPARE(editError(start, {expand(1, 32)}, tight), std::string("over_budget"));
    QCOMPARE(editError(start, {expand(1, 32), collapse(1, 64)}, tight), std::string());
    QVERIFY(!start.appended(1, tight));
    QCOMPARE(start.appended(1, tight).error().code, std::string("over_budget"));
  }

  void coldStarts_data() {
    QTest::addColumn<int>("length");
    QTest::addColumn<int>("budget");
    QTest::addColumn<int>("lod2");
    QTest::addColumn<int>("lod1");
    QTest::addColumn<int>("tokens");
    QTest::newRow("short") << 200 << 8192 << 0 << 0 << 200;
    QTest::newRow("as wished") << 100000 << 2048 << 95 << 77 << 256;
    QTest::newRow("tight") << 100000 << 300 << 96 << 49 << 128;
    QTest::newRow("LOD1 alone") << 2000 << 2048 << 0 << 54 << 272;
    QTest::newRow("nothing") << 0 << 10 << 0 << 0 << 0;
  }
  void coldStarts() {
    QFETCH(int, length);
    QFETCH(int, budget);
    QFETCH(int, lod2);
    QFETCH(int, lod1);
    QFETCH(int, tokens);
    const auto made = coldStart(length, {}, {budget, 128, 2});
    QVERIFY2(bool(made), made ? "" : made.error().text().c_str());
    QCOMPARE(QString::fromStdString(flaw(*made, length)), QString());
    int count[3] = {};
    for (const TreeNode entry : made->entries()) ++count[entry.level];
    QCOMPARE(std::vector({count[2], count[1], count[0]}), std::vector({lod2, lod1, tokens}));
    QVERIFY(made->cost() <= budget);
  }

  void aBudgetBelowTheCoarsestIsRefused() {
    const auto made = coldStart(100000, {}, {200, 128, 2});
    QVERIFY(!made);
    QCOMPARE(made.error().code, std::string("over_budget"));
  }

  void scoresFollowAttention() {
    const std::vector<double> scores = attentionScores(std::vector<double>{1, 3, 0, 0});
    QCOMPARE(scores[0], 0.0);
    QCOMPARE(scores[1], 0.5);
    QVERIFY(scores[2] > -1 && scores[2] < -0.99);
    QCOMPARE(attentionScores(std::vector<double>{0, 0}), (std::vector<double>{0, 0}));
  }

  void summariesShareTheirAttention() {
    const WorkingContext context = tokens(1056).edited(std::vector{collapse(1, 0)}, kFreeRules)->context;
    const std::vector<WlodRow> rows = wlodRows(context, WlodAttention::Pyramid);
    std::vector<std::vector<float>> mass(2, std::vector<float>(rows.size()));
    const auto give = [&](std::size_t layer, TreeNode node, float value) {
      for (std::size_t i = 0; i < rows.size(); ++i)
        if (rows[i].node == node) mass[layer][i] = value;
    };
    give(0, {2, 0}, 0.5f);
    give(0, {1, 64}, 0.25f);
    give(1, {0, 1030}, 1.0f);
    const std::vector<double> got = entryMass(context, rows, mass);
    QCOMPARE(got.size(), at(context.cost()));
    QCOMPARE(got[0], 0.5 / 2 / 32);                          // a gist under the summary of 1024
    QCOMPARE(got[at(context.entryAt(40))], 0.5 / 2 / 1024);  // a token under it
    QCOMPARE(got[at(context.entryAt(70))], 0.5 / 2 / 1024 + 0.25 / 2 / 32);
    QCOMPARE(got[at(context.entryAt(1030))], 0.5);
    double sum = 0;
    for (const double m : got) sum += m;
    QVERIFY(std::abs(sum - 1.75 / 2) < 1e-9);
    QCOMPARE(entryMass(context, rows, mass, std::vector<double>{0, 2})[at(context.entryAt(1030))], 1.0);
  }

  void theAllocatorSaysWhy() {
    WorkingContext context = tokens(640)
                                 .edited(std::vector{collapse(1, 0), collapse(1, 64), collapse(1, 128)}, kFreeRules)
                                 ->context.nextRound()
                                 .nextRound();
    std::vector<double> scores(at(context.cost()), 0.0);
    const auto score = [&](std::int32_t moment, double value) { scores[at(context.entryAt(moment))] = value; };
    score(0, 0.9);
    score(64, 0.5);
    score(128, 0.1);
    for (std::int32_t t = 192; t < 224; ++t) score(t, -0.7);
    for (std::int32_t t = 600; t < 640; ++t) score(t, -0.9);
    const WorkingRules rules{context.cost(), 128, 2};
    const auto done = refocus(context, scores, {}, rules);
    QVERIFY(done);
    const auto& decisions = done->round.decisions;
    QCOMPARE(decisions.size(), std::size_t{4});
    QCOMPARE(decisions[0].code, std::string("protected_tail"));  // the strongest block, but too young
    QCOMPARE(decisions[1].code, std::string("makes_room"));
    QCOMPARE(decisions[1].node, (TreeNode{1, 192}));
    QCOMPARE(decisions[2].code, std::string("accepted"));
    QCOMPARE(decisions[2].node, (TreeNode{1, 0}));
    QCOMPARE(decisions[3].code, std::string("over_budget"));
    QCOMPARE(done->edits.size(), std::size_t{2});
    QCOMPARE(done->round.after, context.cost());
    QCOMPARE(refocus(context, std::vector<double>{0.1}, {}, rules).error().code, std::string("bad_scores"));
    scores[5] = 1;
    QCOMPARE(refocus(context, scores, {}, rules).error().code, std::string("bad_scores"));
  }

  void theLimitOfEdits() {
    std::vector<LodEdit> down;
    for (std::int32_t t = 0; t < 640; t += 32) down.push_back(collapse(1, t));
    const WorkingContext context = tokens(700).edited(down, kFreeRules)->context.nextRound().nextRound();
    const auto done = refocus(context, std::vector<double>(at(context.cost()), 0.5), {0.2, 0.2, 3}, {8192, 0, 2});
    QVERIFY(done);
    QCOMPARE(done->edits.size(), std::size_t{3});
    QCOMPARE(done->round.decisions.size(), std::size_t{3 + 16});
    QCOMPARE(done->round.decisions[3].code, std::string("edit_limit"));
    QCOMPARE(done->round.unlisted, 1);
  }

  /// An early edit waits for the round that takes such edits, and that round takes more of them.
  void earlyEditsWait() {
    std::vector<LodEdit> down;
    for (const std::int32_t start : {0, 32, 64, 512}) down.push_back(collapse(1, start));
    WorkingContext context = tokens(640).edited(down, kFreeRules)->context.nextRound();
    const std::vector<double> scores(at(context.cost()), 0.5);
    const FocusRules rules{0.2, 0.2, 2, 0.3, 4};
    for (int round = 1; round <= 4; ++round, context = context.nextRound()) {
      const auto done = refocus(context, scores, rules, {8192, 0, 0, {}});
      QVERIFY(done);
      if (round < 4) {
        QCOMPARE(done->edits.size(), std::size_t{1});
        QCOMPARE(done->edits[0].node, (TreeNode{1, 512}));
        QCOMPARE(std::ranges::count(done->round.decisions, "deferred", &FocusDecision::code), 3);
      } else {
        QCOMPARE(done->edits.size(), std::size_t{4});
      }
    }
  }

  void roomIsMade() {
    const WorkingContext context = tokens(640);
    std::vector<double> scores(640, 0.5);
    scores[70] = 0.9;
    for (std::size_t i = 32; i < 64; ++i) scores[i] = 0.1;
    const WorkingRules rules{640, 128, 2};
    const auto done = makeRoom(context, scores, 40, {}, rules);
    QVERIFY(done);
    QCOMPARE(done->edits.size(), std::size_t{2});
    QCOMPARE(done->edits[0].node, (TreeNode{1, 32}));
    QCOMPARE(done->edits[1].node, (TreeNode{1, 0}));
    QCOMPARE(makeRoom(context, scores, 600, {}, rules).error().code, std::string("over_budget"));
  }

  void invalidationUpwardsAndForwards() {
    const WorkingContext before = tokens(2100).edited(std::vector{collapse(1, 96)}, kFreeRules)->context;
    const auto after = before.edited(std::vector{expand(1, 96)}, kFreeRules);
    const std::vector<WlodRow> was = wlodRows(before, WlodAttention::Pyramid),
                               is = wlodRows(after->context, WlodAttention::Pyramid);
    const Invalidation found = invalidate(was, is, {{after->swaps[0].moments, false}});
    QCOMPARE(found.earliest, 96);
    QCOMPARE(found.firstDirty, 96 + 3);  // three blocks with their summaries
    const auto at1 = [&](TreeNode node) {
      return at(std::find(is.begin(), is.end(), WlodRow{node, node.level == 0}) - is.begin());
    };
    QCOMPARE(found.why[at1({0, 95})], DirtyWhy::Clean);
    QCOMPARE(found.why[at1({0, 96})], DirtyWhy::Hierarchical);
    QCOMPARE(found.why[at1({0, 97})], DirtyWhy::Both);
    QCOMPARE(found.why[at1({1, 96})], DirtyWhy::Hierarchical);
    QCOMPARE(found.why[at1({2, 0})], DirtyWhy::Hierarchical);  // holds the edit, begins before it
    QCOMPARE(found.why[at1({0, 128})], DirtyWhy::Temporal);
    QCOMPARE(found.why[at1({2, 1024})], DirtyWhy::Temporal);
    QVERIFY(!found.layer0[at1({0, 96})] && found.layer0[at1({0, 128})] && found.layer0[at1({2, 0})]);
    QVERIFY(found.layer0[at1({1, 96})]);  // it stood as an entry before: same embedding, same phase
    const Invalidation edit = invalidate(is, is, {{{100, 101}, true}});
    QVERIFY(!edit.layer0[at1({1, 96})] && !edit.layer0[at1({2, 0})] && !edit.layer0[at1({0, 100})] &&
            edit.layer0[at1({0, 101})]);
  }

  void theCostModelChooses() {
    Invalidation found;
    found.why.assign(100, DirtyWhy::Clean);
    found.firstDirty = 20;
    RecomputeCosts costs;
    QVERIFY(chooseRecompute(found, 10, 20, costs).full);
    QVERIFY(chooseRecompute(found, 10, 20, costs).reason.find("0.80") != std::string::npos);
    found.firstDirty = 50;
    QVERIFY(!chooseRecompute(found, 10, 20, costs).full);
    costs.incrementalUs = 1000;
    QVERIFY(chooseRecompute(found, 10, 20, costs).full);
    QVERIFY(chooseRecompute(found, 10, 20, costs).reason.find("us") != std::string::npos);
  }

  /// The costs of rows and pairs are found from passes of many shapes; one shape alone gives only a part of them.
  void costsAreCalibrated() {
    RecomputeCosts before;
    before.threshold = 0.6;
    CostMeter meter;
    QCOMPARE(meter.costs(before).rowUs, before.rowUs);
    meter.add(100, 5000, 100 * 3 + 5000 * 0.01);
    QVERIFY(std::abs(meter.costs(before).rowUs - 3.5) < 1e-9);
    for (const int rows : {1, 10, 400, 2000})
      meter.add(rows, rows * (rows + 1) / 2, rows * 3.0 + rows * (rows + 1) / 2 * 0.01);
    QVERIFY2(std::abs(meter.costs(before).rowUs - 3) < 1e-6, std::to_string(meter.costs(before).rowUs).c_str());
    QVERIFY(std::abs(meter.costs(before).pairUs - 0.01) < 1e-8);
    QCOMPARE(meter.costs(before).threshold, 0.6);
    for (int i = 0; i < 400; ++i) meter.add(100 + i, 5000, 2 * ((100 + i) * 3.0 + 50));  // the machine became slower
    QVERIFY(meter.costs(before).rowUs > 5);
  }

  void lensesAreRead() {
    QTemporaryDir folder;
    const auto load = [&](const std::string& text) {
      const std::string path = folder.filePath("lens.json").toStdString();
      QFile file(QString::fromStdString(path));
      if (file.open(QIODevice::WriteOnly)) file.write(text.c_str());
      file.close();
      return loadLens(path, 2);
    };
    const Result<Lens> good = load(R"({"kind":"lens","layers":[0,2],"gain":2,"bias":-1})");
    QVERIFY(good);
    QCOMPARE(good->layers, (std::vector<double>{0, 2}));
    const std::vector<double> mass{0.1, 0.3}, scores = attentionScores(mass, good->gain, good->bias);
    for (std::size_t i = 0; i < 2; ++i)
      QVERIFY(std::abs(scores[i] - std::tanh((2 * std::log(mass[i] / 0.2) - 1) / 2)) < 1e-12);
    QCOMPARE(attentionScores(mass)[1], (1.5 - 1) / (1.5 + 1));
    for (const char* bad : {"", "[]", R"({"kind":"gates","layers":[1,1]})", R"({"kind":"lens","layers":[1]})",
                            R"({"kind":"lens","layers":[1,-1]})", R"({"kind":"lens","layers":[0,0]})",
                            R"({"kind":"lens","layers":[1,1],"gain":"x"})", R"({"kind":"lens","layers":[1,1e999]})"}) {
      const Result<Lens> refused = load(bad);
      QVERIFY2(!refused, bad);
      QVERIFY(!refused.error().why.empty() && !refused.error().remedy.empty());
    }
    QVERIFY(!loadLens(folder.filePath("none").toStdString(), 2));
  }
};

KV_TEST(WlodTest)
#include "wlod_test.moc"
