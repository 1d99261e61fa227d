// SPDX-License-Identifier: Apache-2.0
// The checks of a commit's decisions and computations: each names the damage that it exists for, and nothing without
// damage.
#include "core/check/checks.h"
#include "core/kinds/wlod/check/wlod_checks.h"
#include "core/kinds/wlod/state/wlod_state.h"
#include "support/runner.h"
#include "support/session_fixture.h"

using namespace kvlab;

namespace {

/// The input of the checks for a session's last commit, to be damaged.
struct Last {
  explicit Last(const SessionFixture& from)
      : session(*from.session), state(session.state()), before(*session.history().before()) {
    const CommitDeeds& all = session.store().deeds();
    deeds.assign(all.all().begin(), all.all().end());
    turns.assign(all.turns().begin(), all.turns().end());
    decided = all.decided();
    drawn = all.drawn();
    culled = all.culled();
  }

  QString found(void (*check)(const CheckInput&, Findings&), bool full = true) const {
    CheckInput input{state, session.store(), session.manifest()};
    input.full = full;
    input.transformer = session.parts().transformer.get();
    input.deeds = deeds;
    input.turns = turns;
    input.resized = resized;
    input.decided = decided;
    input.before = &before;
    if (drawn) input.drawn = &*drawn;
    if (culled) input.culled = &*culled;
    std::vector<Violation> out;
    Findings findings("check", out);
    check(input, findings);
    return QString::fromStdString(out.empty() ? std::string() : out.front().detail);
  }
  LayerPolicyState& policy(int layer) {
    auto own = std::make_shared<PolicyState>(*state.policy);
    state.policy = own;
    return own->layers[static_cast<std::size_t>(layer)];
  }

  Session& session;
  CacheState state, before;
  std::vector<PassDeed> deeds;
  std::vector<int> turns;
  std::optional<PassKind> decided;
  bool resized = false;
  std::optional<DrawDeed> drawn;
  std::optional<CullDeed> culled;
};

json replaced(int position, std::vector<int> tokens) {
  return {{"actions", {{{"action", "replace"}, {"positions", {position}}, {"new_token_ids", tokens}}}}, {"now", true}};
}

}  // namespace

class CommitChecksTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void drawnTokens() {
    const SessionFixture session(json{
        {"sampling", {{"temperature", 0.8}, {"top_k", 20}, {"top_p", 0.9}, {"repetition_penalty", 1.3}, {"seed", 6}}}});
    session.prompt(30);
    for (int i = 0; i < 40; ++i) {
      session.must("step");
      Last last(session);
      QCOMPARE(last.found(checkDrawnTokens), QString());
      std::vector<float> logits = *last.drawn->logits;  // the token that was drawn is the least likely one
      logits[static_cast<std::size_t>(last.state.ledger[LedgerId(30 + i)].token.value())] = -1e6f;
      last.before.logits = last.drawn->logits = std::make_shared<const std::vector<float>>(std::move(logits));
      QVERIFY(last.found(checkDrawnTokens).contains("is not the one"));
    }
    Last other(session);
    other.state.random[1] += 1;
    QVERIFY(other.found(checkDrawnTokens, false).contains("the next one is"));
    Last without(session);
    without.state.random = without.before.random;
    QVERIFY(without.found(checkDrawnTokens, false).contains("without a random number"));
    Last others(session);
    others.before.logits = std::make_shared<const std::vector<float>>(others.drawn->logits->size(), 0.5f);
    QVERIFY(others.found(checkDrawnTokens, false).contains("other logits"));
    session.must("step", {{"tokens", {5}}});
    QCOMPARE(Last(session).found(checkDrawnTokens), QString());
    Last given(session);
    given.state.random[1] += 1;
    QVERIFY(given.found(checkDrawnTokens, false).contains("was given"));
  }

  void likeliestTokens() {
    const SessionFixture session(json{{"sampling", {{"temperature", 0}}}});
    session.prompt(30);
    session.must("step");
    Last last(session);
    QCOMPARE(last.found(checkDrawnTokens), QString());
    std::vector<float> logits = *last.drawn->logits;
    logits[0] += 1e4f;
    last.before.logits = last.drawn->logits = std::make_shared<const std::vector<float>>(std::move(logits));
    QVERIFY(last.found(checkDrawnTokens).contains("is not the likeliest one"));
    session.must("inject", {{"actions", {{{"action", "delete"}, {"position", 9}}}}, {"now", true}});
    QVERIFY(session.session->state().logitsStale);
    session.must("step");
    Last stale(session);
    QCOMPARE(stale.found(checkDrawnTokens), QString());
    stale.before.logits = stale.drawn->logits;
    QVERIFY(stale.found(checkDrawnTokens, false).contains("had made stale"));
  }

  void keptLogits() {
    const SessionFixture session;
    session.prompt(30);
    session.must("step");
    session.must("inject", {{"actions", {{{"action", "delete"}, {"position", 9}}}}, {"now", true}});
    Last last(session);
    QCOMPARE(last.found(checkNextLogits, false), QString());
    last.state.logitsStale = false;
    QVERIFY(last.found(checkNextLogits, false).contains("the next token sees other rows than then"));
  }

  /// Logits that no pass of the commit made follow from the stored rows.
  void toldLogits() {
    const SessionFixture session;
    session.prompt(30);
    session.must("pin", {{"ledger", 3}});
    Last last(session);
    QVERIFY(last.deeds.empty());
    QCOMPARE(last.found(checkNextLogits), QString());
    std::vector<float> logits = *last.state.logits;
    std::swap(logits[5], logits[9]);
    last.state.logits = std::make_shared<const std::vector<float>>(std::move(logits));
    QVERIFY(last.found(checkNextLogits).contains("from what the stored rows give"));
  }

  void gateScores() {
    const SessionFixture session(json{{"model", "demo"}, {"policy", "smartkv:sinks=2,budget=20,window=12"}});
    session.prompt(30);
    Last last(session);
    QCOMPARE(last.found(checkGateScores), QString());
    for (Column<float>& column : last.state.gateScores) {
      std::vector<float> scores(column.begin(), column.end());
      for (float& score : scores) score += 1;
      column.assign(scores);
    }
    QVERIFY(last.found(checkGateScores).contains("the gate of KV head"));
  }

  void newTokensBegin() {
    const SessionFixture session(json{{"brightness", {{"start", {{"replacement", 40}}}}}});
    session.prompt(30);
    session.must("inject", replaced(9, {7}));
    Last last(session);
    QCOMPARE(last.found(checkBrightnessRange, false), QString());
    std::vector<float> bright(last.state.brightness.begin(), last.state.brightness.end());
    bright[9] = 255;
    last.state.brightness.assign(bright);
    QVERIFY(last.found(checkBrightnessRange, false).contains("of a new token"));
  }

  void culledPairs() {
    const SessionFixture session(json{
        {"brightness", {{"compressor", "nearest"}, {"target", 30}, {"start", {{"model", 200}, {"replacement", 90}}}}}});
    session.prompt(34);
    session.must("pin", {{"ledger", 12}});
    session.must("step");
    session.must("inject", {{"actions", {{{"action", "delete"}, {"position", 5}}}}});
    session.must("step");
    const auto says = [](const Last& last, const char* text, bool full = false) {
      const QString found = last.found(checkBrightnessRange, full);
      if (!found.contains(text)) qWarning("%s", qPrintable(found));
      return found.contains(text);
    };
    for (int i = 0; i < 4; ++i) {
      const Last last(session);
      QVERIFY(last.culled && last.culled->pairs.size() == (last.before.length() > 30 ? 2 : 1));
      for (const bool full : {false, true}) QCOMPARE(last.found(checkBrightnessRange, full), QString());
      session.must("step");
    }
    session.must("inject", {{"actions", {{{"action", "insert"}, {"position", 9}, {"token_ids", {7, 8, 9, 10}}}}}});
    session.must("step");
    session.must("step");
    const Last sound(session);
    QCOMPARE(sound.culled->pairs.size(), std::size_t{2});

    Last brighter = sound;  // another pair than the dimmest
    brighter.culled->pairs.front().first = Position(brighter.culled->pairs.front().first.value() == 2 ? 4 : 2);
    QVERIFY(says(brighter, "the rule takes the pair at"));
    Last fewer = sound;
    fewer.culled->pairs.pop_back();
    QVERIFY(says(fewer, "the rule takes the pair at"));
    Last more = sound;
    more.culled->target += 1 + more.before.length();
    QVERIFY(says(more, "the rule takes no further pair"));
    Last pinned = sound;
    pinned.before.ledger.pin(pinned.before.context[static_cast<std::size_t>(pinned.culled->pairs[0].first.value())],
                             true);
    QVERIFY(says(pinned, "the rule takes the pair at"));
    Last none = sound;
    none.culled->pairs[1].token.reset();
    QVERIFY(says(none, "is as near as"));
    Last farther = sound;
    farther.culled->pairs[1].token = TokenId(farther.culled->pairs[1].token->value() ^ 1);
    QVERIFY(says(farther, "is nearer to the mean of the pair"));
    Last far = sound;
    far.culled->minCosine = 2;
    QVERIFY(says(far, "is not as near as"));
    Last bright = sound;  // by another brightness than attention makes
    std::vector<float> values(bright.culled->brightness.begin(), bright.culled->brightness.end());
    values[20] += 3;
    bright.culled->brightness.assign(values);
    QVERIFY(says(bright, "is not what the newest attention makes of it"));
    Last other = sound;  // the commit has done something else
    for (const LedgerId id : other.state.context.span())
      if (other.state.ledger[id].source == Source::Replacement) other.state.ledger.change(id).token = TokenId(3);
    QVERIFY(says(other, "stands in the place of the pair"));
  }

  void absolutePhases() {
    const SessionFixture session(json{{"position", "absolute"}});
    session.prompt(30);
    session.must("inject", {{"actions", {{{"action", "delete"}, {"position", 8}}}}, {"now", true}});
    session.must("inject", replaced(8, {7}));  // behind a gap
    Last last(session);
    QCOMPARE(last.found(checkPhasesIncrease, false), QString());
    std::vector<std::int32_t> phases(last.state.phases.begin(), last.state.phases.end());
    QCOMPARE(phases[8], 9);
    phases[8] = 8;
    last.state.phases.assign(phases);
    QVERIFY(last.found(checkPhasesIncrease, false).contains("should be 9 behind the edit"));
  }

  void editPasses_data() {
    QTest::addColumn<QByteArray>("manifest");
    QTest::newRow("batch") << QByteArray(R"({"after_edit": "recompute"})");
    QTest::newRow("absolute") << QByteArray(R"({"position": "absolute"})");
    QTest::newRow("descending") << QByteArray(R"({"executor": "descending", "position": "absolute"})");
    QTest::newRow("selective") << QByteArray(R"({"after_edit": {"selective": {"ratio": 0.4}}})");
    QTest::newRow("cache") << QByteArray(R"({"position": "cache"})");
  }
  void editPasses() {
    QFETCH(QByteArray, manifest);
    const SessionFixture session(json::parse(manifest.toStdString()));
    session.prompt(30);
    session.must("evict", {{"layer", 1}, {"ledger", {4, 5}}, {"now", true}});
    session.must("inject", replaced(20, {7}));
    const Last sound(session);
    QCOMPARE(sound.found(checkEditPasses), QString());

    Last turned = sound;  // by another phase
    for (PassDeed& deed : turned.deeds) deed.phase.front() += 1;
    QCOMPARE(turned.found(checkEditPasses).contains("was turned by phase"),
             session->manifest().position != PositionMode::Cache);

    Last lacking = sound;  // a row to the left
    for (PassDeed& deed : lacking.deeds) {
      auto map = std::make_shared<ResidencyView>(*deed.map);
      std::vector<LedgerId> ledger(map->ledger.begin(), map->ledger.end());
      ledger[2] = ledger[1];
      map->ledger.assign(ledger);
      deed.map = map;
    }
    QVERIFY(!lacking.found(checkEditPasses).isEmpty());

    if (session->manifest().afterEdit == AfterEdit::Keep) return;
    Last fewer = sound;  // a row that stays is not computed
    const auto stays = static_cast<std::uint64_t>(25);
    for (PassDeed& deed : fewer.deeds)
      for (std::uint64_t& tag : deed.tags)
        if (session->manifest().afterEdit == AfterEdit::Selective ? tag < 30 : tag == stays) tag = 999;
    QVERIFY2(fewer.found(checkEditPasses).contains(" anew"), qPrintable(fewer.found(checkEditPasses)));
  }

  void gistsAreMeans() {
    const SessionFixture session(json{{"capacity", 0}, {"wlod", {{"budget", 128}}}});
    session.prompt(100);
    Last last(session);
    for (const bool full : {false, true}) QCOMPARE(last.found(checkWlodRows, full), QString());
    auto wlod = std::make_shared<WlodState>(wlodIn(last.state));
    const MegaContext& tree = wlodIn(last.state).tree;
    MegaContext::Level first = tree.level(1);
    std::vector<float> gists(first.gists.begin(), first.gists.end());
    gists[static_cast<std::size_t>(tree.hidden())] += 1;
    first.gists.assign(gists);
    wlod->tree = MegaContext(static_cast<int>(wlod->tree.hidden()), wlod->tree.tokens().span(),
                             {std::move(first), tree.level(2)});
    last.state.kind = wlod;
    for (const bool full : {false, true})
      QVERIFY(last.found(checkWlodRows, full).contains("is not the mean of its tokens"));
  }

  void policyScores_data() {
    QTest::addColumn<QByteArray>("policy");
    QTest::addColumn<QByteArray>("turned");  // the type of keys that are stored at their phases
    for (const char* policy : {"knorm:sinks=1,capacity=20", "keydiff:sinks=1,capacity=20"})
      for (const char* type : {"f32", "bf16", "int8"})
        QTest::addRow("%s of %s keys that turn", policy, type) << QByteArray(policy) << QByteArray(type);
    for (const char* policy : {"streaming_llm:sinks=2,window=12", "sliding_window:window=12", "h2o:window=8,budget=12",
                               "tova:window=2,budget=18", "brightness:capacity=20", "knorm:sinks=1,capacity=20",
                               "keydiff:sinks=1,capacity=20", "snapkv:window=6,capacity=20,observe=6,kernel=3",
                               "snapkv:window=6,capacity=20,observe=8,kernel=5,pooling=max",
                               "expected_attention:sinks=2,window=6,capacity=20,observe=12,future=24,heads=mean"})
      QTest::newRow(policy) << QByteArray(policy) << QByteArray();
  }
  void policyScores() {
    QFETCH(QByteArray, policy);
    QFETCH(QByteArray, turned);
    json manifest{{"policy", policy.toStdString()}};
    if (!turned.isEmpty())
      manifest.update({{"key_phase", "at_write"}, {"position", "cache"}, {"kv", {{"k", turned.toStdString()}}}});
    const SessionFixture session(manifest);
    session.prompt(30);
    for (int i = 0; i < 8; ++i) {
      session.must("step");
      QCOMPARE(Last(session).found(checkPolicyScores), QString());
    }
    Last last(session);
    RowValues& scores = last.policy(1).scores;
    std::vector<float> values(scores.values.begin(), scores.values.end());
    values[5] += 0.5f * (1 + std::abs(values[5]));
    scores = RowValues::of(scores.map, values);
    QVERIFY(last.found(checkPolicyScores).contains("its rule makes"));
    if (policy.startsWith("k")) {  // keys are read; rows that have left may be written over by a measurement
      const auto of = [&](int layer) { return session.verb("attentionMatrix", {{"layer", layer}, {"begin", 20}}); };
      for (int layer = 0; layer < 4; ++layer) (void)of(layer);
      QVERIFY(session.damage().isEmpty());
    }
    Last gone(session);  // a row that left lies where a pool of other size has copied nothing
    RowValues& others = gone.policy(1).scores;
    auto map = std::make_shared<ResidencyView>(*others.map);
    const ResidencyView& now = gone.state.map(CacheLayer(1));
    QVERIFY(session->parts().store.pool(CacheLayer(1)).slots() > 150);
    std::vector<Slot> slots(map->slotOf.begin(), map->slotOf.end());
    for (std::size_t i = 0; i < slots.size(); ++i)
      if (const std::span ids = now.ledger.span(); std::ranges::find(ids, map->ledger[i]) == ids.end()) {
        slots[i] = Slot(150);
        const std::vector<float> row(256, 3);
        const auto tag = static_cast<std::uint64_t>(map->ledger[i].value());
        session->parts().store.pool(CacheLayer(1)).write(std::vector{150}, row.data(), row.data(), &tag);
      }
    map->slotOf.assign(slots);
    others.map = map;
    gone.resized = true;
    QCOMPARE(gone.found(checkPolicyScores), QString());
    Last fewer(session);
    fewer.policy(0);
    auto own = std::make_shared<PolicyState>(*fewer.state.policy);
    own->audit.layers[0].evicted += 1;
    fewer.state.policy = own;
    QVERIFY(fewer.found(checkPolicyScores).contains("its bands ask for"));
  }
};

KV_TEST(CommitChecksTest)
#include "commit_checks_test.moc"
