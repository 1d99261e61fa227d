// SPDX-License-Identifier: Apache-2.0
// Edits of wLOD sessions: the text changes anywhere, pins hold, and reports match the edits, on checkpoints as they are
// published.
#include "support/runner.h"
#include "support/wlod_session.h"

namespace kvlab {

class WlodEditsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  /// One reader serves both planners: a faulty list gets the same error in a plain session.
  void faultyListsAreRefusedAsInPlainSessions() {
    const SessionFixture wlod(manifest({{"budget", 160}, {"protect", 8}})), plain(json{{"capacity", 160}});
    for (const SessionFixture* s : {&wlod, &plain}) s->must("promptIds", {{"ids", SessionFixture::ids(20, 3)}});
    const json good{{"action", "delete"}, {"position", 3}};
    const json faulty[] = {
        {{"action", "replace_pair"}, {"original_pos1", 20}, {"original_pos2", 21}, {"new_token_ids", {5}}},
        {{"action", "replace_pair"}, {"original_pos1", 5}, {"original_pos2", 5}, {"new_token_ids", {5}}},
        {{"action", "replace"}, {"positions", json::array()}, {"new_token_ids", {5}}},
        {{"action", "replace"}, {"positions", {7, 6}}, {"new_token_ids", {5}}},
        {{"action", "replace"}, {"positions", {6, 7}}, {"new_token_ids", json::array()}},
        {{"action", "insert"}, {"position", 21}, {"token_ids", {5}}},
        {{"action", "insert"}, {"position", 20}, {"token_ids", json::array()}},
        {{"action", "delete"}, {"position", -1}},
        {{"action", "add"}, {"token_id", 1 << 30}}};
    for (const json& action : faulty) {
      const Result<json> here = wlod.verb("inject", {{"actions", {good, action}}}),
                         there = plain.verb("inject", {{"actions", {good, action}}});
      QVERIFY2(!here && !there, action.dump().c_str());
      const Error &a = here.error(), &b = there.error();
      QVERIFY2(a.code == b.code && a.action == b.action && a.field == b.field && a.value == b.value,
               (a.text() + " | " + b.text()).c_str());
      QVERIFY(wlod->pending().empty() && plain->pending().empty());
    }
  }

  /// Checkpoints as they are published: a sliding window in the model (Mistral, Qwen2 in some layers), and the sizes of
  /// SmolLM2 with 3 KV heads for 9 heads.
  void checkpoints_data() {
    QTest::addColumn<QByteArray>("model");
    QTest::addColumn<QByteArray>("attention");
    QTest::addColumn<int>("window");
    const std::tuple<const char*, std::string, int> models[] = {
        {"mistral", KVLAB_TESTS_DIR "/oracle/models/mistral_window_f32", 12},
        {"mistral bf16", KVLAB_TESTS_DIR "/oracle/models/mistral_window_bf16", 12},
        {"qwen2", KVLAB_TESTS_DIR "/oracle/models/qwen2_window_bf16", -1},
        {"smollm2", "synthetic:smollm-135m:layers=2", 0}};
    for (const auto& [name, model, window] : models)
      for (const char* attention : {"flat", "pyramid"})
        QTest::addRow("%s, %s", name, attention) << QByteArray::fromStdString(model) << QByteArray(attention) << window;
  }
  void checkpoints() {
    QFETCH(QByteArray, model);
    QFETCH(QByteArray, attention);
    QFETCH(int, window);
    const SessionFixture s(manifest({{"budget", 160},
                                     {"protect", 8},
                                     {"attention", attention.toStdString()},
                                     {"w", 32},
                                     {"w2", 1024},
                                     {"recompute", "incremental"}},
                                    {{"model", model.toStdString()}}));
    const int vocab = s->model().config().vocab;
    const auto text = [&](int n, unsigned seed) {
      std::vector<int> ids = SessionFixture::ids(n, seed);
      for (int& id : ids) id = id % (vocab - 3) + 3;
      s.must("promptIds", {{"ids", ids}});
    };
    text(330, 5);
    if (window >= 0) QCOMPARE(s->state().group(CacheLayer(0)).window, window);
    std::mt19937 random(7);
    int done = 0;
    for (int i = 0; i < 14; ++i) {
      auto [verb, args] = randomEdit(s, random);
      if (verb == "promptIds") {
        text(1 + i, static_cast<unsigned>(i));
      } else {
        if (verb == "inject" && args["actions"][0].contains("new_token_ids"))
          for (json& token : args["actions"][0]["new_token_ids"]) token = 5;
        Result<json> result = s.verb(verb, args);
        if (result && verb == "inject") result = s.verb("apply");
        if (!result) s.must("clearPending");
        done += bool(result);
      }
      QVERIFY2(s.sound(), (verb + args.dump()).c_str());
      QVERIFY2(drift(s) == 0, (verb + args.dump()).c_str());
    }
    QVERIFY(done > 3);
    const std::vector<float> values = s.values();
    s.must("rebuild");
    QVERIFY(s.values() == values);
  }

  /// An edit that moves later moments leads where a session goes that has the new text from the start.
  void laterMomentsMove_data() {
    QTest::addColumn<QByteArray>("attention");
    QTest::addColumn<QByteArray>("edit");
    for (const char* attention : {"flat", "pyramid"})
      for (const char* edit :
           {R"({"action":"replace_pair","original_pos1":5,"original_pos2":6,"new_token_ids":[7,8,9,10]})",
            R"({"action":"replace_pair","original_pos1":5,"original_pos2":6,"new_token_ids":[7]})",
            R"({"action":"insert","position":40,"token_ids":[7,8,9]})", R"({"action":"delete","position":3})",
            R"({"action":"replace","positions":[2,4,9],"new_token_ids":[7]})"})
        QTest::addRow("%s, %s", attention, edit) << QByteArray(attention) << QByteArray(edit);
  }
  void laterMomentsMove() {
    QFETCH(QByteArray, attention);
    QFETCH(QByteArray, edit);
    const auto session = [&] {
      return SessionFixture(manifest({{"budget", 600},
                                      {"attention", attention.toStdString()},
                                      {"w", 32},
                                      {"w2", 1024},
                                      {"lens", "off"},
                                      {"cooldown", 0},
                                      {"protect", 0}}));
    };
    const SessionFixture s = session(), fresh = session();
    s.prompt(230);
    const json collapses{{{"action", "collapse"}, {"node", id(1, 64)}}, {{"action", "collapse"}, {"node", id(1, 160)}}};
    s.must("inject", {{"actions", collapses}, {"now", true}});
    const std::int32_t moved = 100 - 62;  // the entry of moment 100, behind the gist
    const LedgerId mover = s->state().context[moved + 31];
    s.must("setBrightness", {{"ledger", mover.value()}, {"value", 33}});
    const json plan = s.must("plan", {{"actions", {json::parse(edit.toStdString())}}});
    s.must("inject", {{"actions", {json::parse(edit.toStdString())}}, {"now", true}});
    QVERIFY2(s.sound(), edit);
    QVERIFY(drift(s) == 0);
    const WlodState& state = wlodIn(s->state());
    std::vector<int> text;
    for (const LedgerId token : state.tree.tokens()) text.push_back(s->state().ledger[token].token.value());
    QVERIFY(text.size() != 230);
    fresh.must("promptIds", {{"ids", text}});
    fresh.must("inject", {{"actions", collapses}, {"now", true}});
    QVERIFY(std::ranges::equal(wlodIn(fresh->state()).context.entries(), state.context.entries()));
    QVERIFY(s.values() == fresh.values());
    QCOMPARE(*s->state().logits, *fresh->state().logits);
    for (const TreeNode node : {TreeNode{1, 0}, TreeNode{1, 64}, TreeNode{1, 160}, TreeNode{1, 192}})
      if (state.tree.has(node))
        QVERIFY(std::ranges::equal(state.tree.gist(node), wlodIn(fresh->state()).tree.gist(node)));
    const auto stands = std::ranges::find(s->state().context, mover) - s->state().context.begin();
    if (stands < s->state().length()) QCOMPARE(s->state().brightness[static_cast<std::size_t>(stands)], 33.0f);
    QCOMPARE(plan.at("lengthAfter"), json(s->state().length()));
    QVERIFY(plan.at("recomputed").get<int>() > 100 && plan.at("phaseShifted").get<int>() >= 230 - 43);
    s.must("undo");
    QCOMPARE(wlodIn(s->state()).tree.length(), 230);
    QVERIFY2(s.sound(), edit);
  }

  void blocksThatAreCutGetFiner() {
    const SessionFixture s(manifest({{"budget", 600}, {"lens", "off"}, {"cooldown", 0}, {"protect", 0}}));
    s.prompt(96);
    s.must("collapse", {{"node", id(1, 64)}, {"now", true}});
    const LedgerId gist = s->state().context[64];
    s.must("inject", {{"actions", {{{"action", "delete"}, {"position", 3}}}}, {"now", true}});
    QCOMPARE(s->state().length(), 95);
    QVERIFY(s.sound() && drift(s) == 0);
    QCOMPARE(s->state().ledger[gist].state, RowState::Replaced);
    QCOMPARE(s->state().ledger[s->state().context[94]].state, RowState::Live);
  }

  /// A pinned token stays a token, whoever wants it to collapse.
  void pinsHold() {
    const SessionFixture s(
        manifest({{"budget", 200}, {"lens", "script"}, {"cooldown", 0}, {"protect", 0}, {"start_tokens", 64}}));
    s.prompt(100);
    const LedgerId pinned = s->state().context[40];
    s.must("pin", {{"ledger", pinned.value()}});
    const std::string before = s.hash();
    const Result<json> refused = s.verb("collapse", {{"node", id(1, 32)}, {"now", true}});
    QVERIFY(!refused);
    QCOMPARE(refused.error().code, std::string("pinned"));
    QVERIFY2(refused.error().why.find("token 40") != std::string::npos, refused.error().text().c_str());
    QCOMPARE(s.hash(), before);
    s.must("setLensScores", {{"scores", std::vector(100, -0.9)}});
    s.must("refocus");
    QVERIFY(wlodIn(s->state()).context.hasEntry({1, 0}) && wlodIn(s->state()).context.hasEntry({0, 40}));
    const auto& decisions = wlodIn(s->state()).rounds.back()->decisions;
    QVERIFY(std::ranges::any_of(decisions, [](const FocusDecision& d) { return !d.done && d.code == "pinned"; }));
    for (int i = 0; i < 4; ++i) s.prompt(90, static_cast<unsigned>(i));  // makes room
    QVERIFY(wlodIn(s->state()).context.hasEntry({0, 40}));
    s.prompt(3000);  // starts cold
    QVERIFY(wlodIn(s->state()).context.hasEntry({0, 40}) && wlodIn(s->state()).context.hasEntry({1, 64}));
    QCOMPARE(s->state().ledger[pinned].state, RowState::Live);
    QVERIFY(s.sound() && drift(s) == 0);
    const LedgerId hidden = wlodIn(s->state()).tree.token(Moment(70));
    const Result<json> inside = s.verb("pin", {{"ledger", hidden.value()}});
    QVERIFY(!inside);
    QCOMPARE(inside.error().code, std::string("not_an_entry"));
    QCOMPARE(s.verb("pin", {{"ledger", wlodIn(s->state()).tree.row({1, 64}).value()}}).error().code,
             std::string("not_a_token"));
    s.must("pin", {{"ledger", pinned.value()}, {"on", false}});
    s.must("collapse", {{"node", id(1, 32)}, {"now", true}});
    QCOMPARE(s->state().ledger[pinned].state, RowState::Collapsed);
  }
  void pinnedTokensDoNotMoveIntoGists() {
    const SessionFixture s(manifest({{"budget", 600}, {"lens", "off"}, {"cooldown", 0}, {"protect", 0}}));
    s.prompt(200);
    s.must("collapse", {{"node", id(1, 64)}, {"now", true}});
    s.must("pin", {{"ledger", s->state().context[63].value()}});
    const std::string before = s.hash();
    const json insert{{{"action", "insert"}, {"position", 10}, {"token_ids", {7}}}};
    const Result<json> refused = s.verb("inject", {{"actions", insert}, {"now", true}});
    QVERIFY(!refused);
    QCOMPARE(refused.error().code, std::string("pinned"));
    s.must("clearPending");
    QCOMPARE(s.hash(), before);
    s.must("expand", {{"node", id(1, 64)}, {"now", true}});
    s.must("inject", {{"actions", insert}, {"now", true}});
    QVERIFY(s.sound() && s->state().ledger[s->state().context[64]].pinned);
  }

  /// `keep` leaves the rows behind edits while layer 1 of them deviates by at most `keep_drift`. An edit beyond that
  /// computes every row from the first one on that an earlier edit has left.
  void keepComputesWhereTheDeviationIsLarge_data() {
    QTest::addColumn<QByteArray>("more");
    QTest::newRow("layers") << QByteArray("{}");
    QTest::newRow("in place") << QByteArray(R"({"layout":"contiguous_splice"})");
    QTest::newRow("pyramid") << QByteArray(R"({"wlod":{"attention":"pyramid","w":64,"w2":1024}})");
  }
  void keepComputesWhereTheDeviationIsLarge() {
    QFETCH(QByteArray, more);
    const auto open = [&](double most) {
      json settings = manifest({{"budget", 600},
                                {"lens", "off"},
                                {"recompute", "keep"},
                                {"keep_drift", most},
                                {"cooldown", 0},
                                {"protect", 0}});
      settings.merge_patch(json::parse(more.toStdString()));
      return SessionFixture(settings);
    };
    const auto collapse = [](const SessionFixture& s, int moment) {
      s.must("collapse", {{"node", id(1, moment)}, {"now", true}});
      return s.must("tree").at("change");
    };
    const int moments[] = {256, 192, 128, 64, 0};
    const SessionFixture patient = open(16);
    patient.prompt(500);
    std::vector<double> deviations;
    for (const int moment : moments) {
      const json change = collapse(patient, moment);
      QVERIFY(change.at("left").get<int>() > 200 && change.at("computed").get<int>() < 8);
      const std::string reason = change.at("reason"), before = "deviates by ";
      deviations.push_back(std::stod(reason.substr(reason.find(before) + before.size())));
      QVERIFY2(patient.damage().isEmpty(), patient.damage().constData());
    }
    QVERIFY(deviations.front() > 0 && std::ranges::max(deviations) > deviations.front());
    patient.must("step", {{"n", 3}});
    QVERIFY2(patient.damage().isEmpty(), patient.damage().constData());
    const double apart = drift(patient);
    QVERIFY2(apart > 0 && apart < 2, std::to_string(apart).c_str());

    const SessionFixture strict = open((std::ranges::max(deviations) + deviations.front()) / 2);
    strict.prompt(500);
    int left = collapse(strict, moments[0]).at("left");
    QVERIFY(left > 200 && drift(strict) > 0);
    for (std::size_t i = 1; i < std::size(moments) && left > 0; ++i) {
      left = collapse(strict, moments[i]).at("left");
      QVERIFY2(strict.damage().isEmpty(), strict.damage().constData());
    }
    QVERIFY(left == 0 && drift(strict) == 0);
    QCOMPARE(exactnessMap(*strict).layers.back().back(), Exactness::Exact);
  }

  /// The report of a change matches the effect of the change, in every mode.
  void changesSayWhatTheyDid_data() {
    QTest::addColumn<QByteArray>("recompute");
    for (const char* mode : {"chosen", "incremental", "full", "selective", "keep"})
      QTest::newRow(mode) << QByteArray(mode);
  }
  void changesSayWhatTheyDid() {
    QFETCH(QByteArray, recompute);
    const SessionFixture s(manifest({{"budget", 600},
                                     {"lens", "off"},
                                     {"cooldown", 0},
                                     {"protect", 0},
                                     {"threshold", 1.0},
                                     {"keep_drift", 16},
                                     {"recompute", recompute.toStdString()}}));
    s.prompt(300);
    s.must("collapse", {{"node", id(1, 32)}, {"now", true}});
    s.must("collapse", {{"node", id(1, 192)}, {"now", true}});
    const json change = s.must("tree").at("change");
    const int rows = change.at("rows"), computed = change.at("computed"), kept = change.at("layer0Kept");
    const double hits = s.must("tree").at("ratios").at("hits");
    QVERIFY(!change.at("reason").get<std::string>().empty());
    QCOMPARE(change.at("share").get<double>(), double(300 - 31 - 31 - 161) / rows);
    QVERIFY(change.at("fullUs").get<double>() > 0);
    if (change.at("full")) QVERIFY(kept == 0 && computed == rows && hits == 0);
    else if (recompute == "keep") QCOMPARE(computed, 2);  // the gist, and the newest token, whose logits are wanted
    else QVERIFY(kept > 0 && kept < computed && hits < 1);
    QCOMPARE(hits, (4.0 * (rows - computed) + kept) / (4.0 * rows));
    if (recompute == "selective" || recompute == "keep") QCOMPARE(change.at("left").get<int>(), 238 - 161 - computed);
  }
};

}  // namespace kvlab

KV_TEST(kvlab::WlodEditsTest)
#include "wlod_edits_test.moc"
