// SPDX-License-Identifier: GPL-3.0-or-later
// The Tree view: the places of entries, the effects of the last edit, allowed edits and the reasons for refusals; with
// real clicks and keys.
#include <QComboBox>
#include <QSignalSpy>
#include <QTabBar>
#include <QToolButton>

#include "fake_context.h"
#include "golden.h"
#include "support/runner.h"
#include "widgets/views/tree/wlod_tree_view.h"

using namespace kvlab;

class WlodTreeTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() { Theme::apply(*qApp, "dark"); }

  /// Each moment is covered by one entry, and every node of the tree is that entry, above it or below it.
  void everyMomentStandsOnce() {
    const WlodTree tree(fixture::wlodHistory().back());
    std::int32_t end = 0, entries = 0, summaries = 0;
    for (std::int32_t i = 0; i < tree.entries(); ++i) {
      QCOMPARE(tree.entry(i).start, end);
      for (std::int32_t t = end; t < tree.entry(i).end(); t += std::max(1, tree.entry(i).span() - 1))
        QCOMPARE(tree.entryAt(t), i);
      QCOMPARE(tree.positionOf(tree.entry(i)), i);
      end = tree.entry(i).end();
    }
    QCOMPARE(end, tree.moments());
    for (int level = 0; level <= kTopLevel; ++level)
      for (const TreeRow& row : tree.rows(level)) {
        QCOMPARE(tree.place(row.node), row.position >= 0 ? NodePlace::Entry : NodePlace::Above);
        (row.position >= 0 ? entries : summaries)++;
      }
    QCOMPARE(entries, tree.entries());
    QCOMPARE(summaries, tree.summaries());
    QCOMPARE(tree.place({0, 5}), NodePlace::Below);
    QCOMPARE(tree.place({2, 2048}), NodePlace::Incomplete);
    QVERIFY(!tree.nodeAt(1, 2990));
  }

  /// Every row has its label from the change, also after tokens were appended; newer rows are clean.
  void rowsSayWhatTheChangeDid() {
    const SnapshotPtr s = fixture::wlodHistory().back();
    auto longer = std::make_shared<WlodView>(*s->wlod);
    longer->change = s->wlod->change;
    std::vector<TreeNode> entries(longer->entries.begin(), longer->entries.end());
    for (std::int32_t t = longer->moments; t < longer->moments + 20; ++t) entries.push_back({0, t});
    longer->moments += 20;
    longer->entries = Column<TreeNode>(entries);
    longer->rows = Column<WlodRow>(fixture::rowsOf(entries));
    const WlodTree before(s), after(fixture::wlodSnapshot(longer, 42, 42));
    const WlodChange& change = *s->wlod->change;
    for (std::size_t i = 0; i < change.nodes.size(); ++i)
      for (const WlodTree* tree : {&before, &after}) {
        const TreeRow* row = tree->rowOf(change.nodes[i]);
        QVERIFY(row);
        QCOMPARE(row->why, change.why[i]);
        QCOMPARE(row->layer0, static_cast<bool>(change.layer0[i]));
      }
    QCOMPARE(after.rowOf({0, 3010})->why, DirtyWhy::Clean);
    QCOMPARE(after.rowOf({1, 2976})->why, DirtyWhy::Clean);  // a summary that was not there yet
    auto without = std::make_shared<WlodView>(*fixture::wlodView(3000, false));
    without->change = s->wlod->change;
    const WlodTree closed(fixture::wlodSnapshot(without, 43, 43));  // rows of the change that are gone are passed over
    QCOMPARE(closed.rowOf({1, 1760})->why, DirtyWhy::Temporal);
    QCOMPARE(closed.rowOf({0, 2990})->why, DirtyWhy::Temporal);
  }

  /// The reason why an edit is refused: one line for each rule.
  void refusalsAreSaidBeforehand() {
    const WlodTree before(fixture::wlodHistory().front()), after(fixture::wlodHistory().back());
    QVERIFY(before.expansion({1, 1728}).why.isEmpty());
    QCOMPARE(before.expansion({0, 1730}).node, (TreeNode{1, 1728}));
    QVERIFY(before.roomToExpand() && !after.roomToExpand() && after.expansion({1, 2304}).why.isEmpty());
    QVERIFY(after.expansion({0, 1730}).why.contains("no children"));
    QVERIFY(after.expansion({1, 1728}).why.contains("finer ones stand there"));
    QVERIFY(before.expansion({2, 2048}).why.contains("not complete"));
    QCOMPARE(after.collapse({0, 1060}).node, (TreeNode{1, 1056}));
    QVERIFY(after.collapse({0, 1060}).why.isEmpty());
    QVERIFY(after.collapse({1, 1056}).why.isEmpty());
    QVERIFY(after.collapse({0, 1730}).why.contains("cools down: 2 more rounds"));
    QVERIFY(after.collapse({1, 1248}).why.contains("not all 32 children of LOD2 [1024, 2048)"));
    QVERIFY(after.collapse({0, 2920}).why.contains("protected tail"));
    QVERIFY(after.collapse({0, 2999}).why.contains("not complete"));
    QVERIFY(after.collapse({2, 0}).why.contains("coarsest"));
    QCOMPARE(after.towards({1, 1056}).expand, false);
    QCOMPARE(before.towards({1, 1728}).expand, true);
    QCOMPARE(before.towards({0, 1730}).expand, true);
    QCOMPARE(before.towards({0, 1060}).expand, false);
  }

  void factsHaveTheFigures() {
    const auto facts = wlodFacts(*fixture::wlodHistory().back()->wlod);
    QStringList lines;
    for (const WlodFact& fact : facts) lines << fact.key + ": " + fact.value;
    const QString text = lines.join('\n');
    for (const char* part : {"⚠ 272 of 300 entries (91 %)", "tick 41, [1728, 1760); dirty from moment 1728 on",
                             "160 of 279 rows (57 %): 3 hierarchical, 126 temporal, 31 both",
                             "incremental takes about 4310 us, full 7480 us", "layer 0 of 128 kept",
                             "4.14 ms measured; estimated 4.31 ms, full 7.48 ms", "spatial 12 %, temporal 45 %"})
      QVERIFY2(text.contains(part), qPrintable(QString(part) + " is not in\n" + text));
    for (const WlodFact& fact : facts) {
      double sum = 0;
      for (const FactShare& share : fact.bar) sum += share.part;
      if (!fact.bar.empty()) QVERIFY(std::abs(sum - 1) < 1e-9);
    }
    QVERIFY(wlodFacts(*fixture::wlodHistory().front()->wlod)[1].value.contains("none yet"));
    auto all = std::make_shared<WlodView>(*fixture::wlodHistory().back()->wlod);
    auto change = std::make_shared<WlodChange>(*all->change);
    change->full = true;
    all->change = change;
    QVERIFY(wlodFacts(*all)[4].value.contains("none kept"));
    QVERIFY(!WlodTree(fixture::wlodSnapshot(all, 44, 44)).rowOf({1, 2304})->layer0);
    WlodView warned = *all;
    warned.notice = "nobody has measured them";
    QCOMPARE(wlodFacts(warned).size(), wlodFacts(*all).size() + 1);
    QCOMPARE(wlodFacts(warned)[1].value, QString("⚠ nobody has measured them"));
  }

  void clicksChooseNodes() {
    FakeContext context(withWlod());
    WlodTreeView view(context, nullptr);
    show(view);
    QSignalSpy said(&context, &InspectorContext::scripted);
    const WlodTree tree(context.snapshot());
    click(view, {1, 2304});
    QCOMPARE(context.focus().position.value(), tree.positionOf({1, 2304}));
    QCOMPARE(context.focus().ledger, context.snapshot()->context[static_cast<std::size_t>(tree.positionOf({1, 2304}))]);
    QCOMPARE(said.last().first().toString(),
             QString("view.focus({layer: 0, row: %1})").arg(tree.positionOf({1, 2304})));
    click(view, {2, 1024});  // no entry and no row of the ledger: the view's own
    QCOMPARE(view.canvas().selected(), std::optional(TreeNode{2, 1024}));
    QCOMPARE(said.last().first().toString(), QString("view.set(\"tree\", {node: 4098})"));
    set(view, "window", {2290, 2350});
    click(view, {0, 2310});  // a token behind a gist
    QCOMPARE(context.focus().ledger, context.snapshot()->wlod->tokens[2310]);
    QCOMPARE(context.focus().position.value(), -1);
    QVERIFY(view.canvas().readout().contains("in the tree, behind LOD1 [2304, 2336)"));
    context.focusPosition(Position(0));  // another view
    QCOMPARE(view.canvas().selected(), std::optional(TreeNode{2, 0}));
  }

  /// Lines of facts come and go with the tick that is shown.
  void factsFollowTheTick() {
    FakeContext context(withWlod());
    WlodTreeView view(context, nullptr);
    show(view);
    QVERIFY(view.dump().contains("160 of 279 rows"));
    context.showTick(Tick(40));
    QVERIFY(view.dump().contains("none yet: nothing was invalidated"));
    QVERIFY(view.dump().contains("room for 2 expansions"));
    context.showTick(Tick(41));
    QVERIFY(view.dump().contains("160 of 279 rows"));
    QStringList texts;
    for (const QLabel* label : view.findChildren<QLabel*>())
      if (label->isVisible()) texts << label->text();
    QVERIFY(texts.contains("160 of 279 rows (57 %): 3 hierarchical, 126 temporal, 31 both"));
  }

  void hoverIsShared() {
    FakeContext context(withWlod());
    WlodTreeView view(context, nullptr);
    show(view);
    QTest::mouseMove(&view.canvas(), view.canvas().boxOf({2, 0}).center().toPoint());
    QTRY_COMPARE(context.hovered().value(), 0);
    QVERIFY(view.canvas().readout().startsWith("LOD2 [0, 1024)"));
    QVERIFY(view.canvas().readout().contains("1024 moments   phase 512"));
    QVERIFY(view.canvas().readout().contains("“Mara went to the harbour"));
  }

  void keysMoveAlongTheCutAndTheTree() {
    FakeContext context(withWlod());
    WlodTreeView view(context, nullptr);
    show(view);
    context.focusPosition(Position(0));
    QTest::keyClick(&view.canvas(), Qt::Key_Right);
    QCOMPARE(view.canvas().selected(), std::optional(TreeNode{1, 1024}));
    QTest::keyClick(&view.canvas(), Qt::Key_Right);
    QCOMPARE(view.canvas().selected(), std::optional(TreeNode{0, 1056}));
    QTest::keyClick(&view.canvas(), Qt::Key_Up);
    QTest::keyClick(&view.canvas(), Qt::Key_Up);
    QCOMPARE(view.canvas().selected(), std::optional(TreeNode{2, 1024}));
    QTest::keyClick(&view.canvas(), Qt::Key_Left);
    QCOMPARE(view.canvas().selected(), std::optional(TreeNode{2, 0}));
    QTest::keyClick(&view.canvas(), Qt::Key_End);
    QCOMPARE(context.focus().position.value(), context.snapshot()->length() - 1);
    QTest::keyClick(&view.canvas(), Qt::Key_Home);
    QCOMPARE(context.focus().position.value(), 0);
    const double before = view.canvas().axis().scale;
    QTest::keyClick(&view.canvas(), Qt::Key_Plus);
    QVERIFY(view.canvas().axis().scale > before * 1.4);
    QTest::keyClick(&view.canvas(), Qt::Key_0);
    QCOMPARE(view.canvas().axis().scale, before);
  }

  /// A double click and Return ask for the edit that leads to the node; the script line is the one that does the same.
  void editsGoOut() {
    FakeContext context{SnapshotPtr(fixture::wlodHistory().front())};
    WlodTreeView view(context, nullptr);
    show(view);
    QTest::mouseDClick(&view.canvas(), Qt::LeftButton, {}, view.canvas().boxOf({1, 1728}).center().toPoint());
    QCOMPARE(context.commands.size(), std::size_t{1});
    QCOMPARE(context.commands.back().verb, std::string("wlod_expand"));
    QCOMPARE(context.commands.back().args, (nlohmann::json{{"node", 1728 * 4 + 1}}));
    QTRY_VERIFY(view.ready());
    set(view, "window", {1050, 1100});
    click(view, {0, 1060});
    QTest::keyClick(&view.canvas(), Qt::Key_Return);
    QCOMPARE(context.commands.back().verb, std::string("wlod_collapse"));
    QTRY_VERIFY(view.ready());
    QTest::mouseClick(button(view, "Refocus"), Qt::LeftButton);
    QCOMPARE(context.commands.back().verb, std::string("wlod_refocus"));
    QTRY_VERIFY(view.ready());
    click(view, {0, 1060});
    QTest::mouseClick(&view.canvas(), Qt::RightButton, {}, view.canvas().boxOf({0, 1070}).center().toPoint());
    QCOMPARE(view.canvas().selected(), std::optional(TreeNode{0, 1070}));  // the node that the menu is about
    QTest::keyClick(&view.canvas(), Qt::Key_C);
    QCOMPARE(context.commands.size(), std::size_t{4});
    QCOMPARE(context.commands.back().verb, std::string("wlod_collapse"));
  }

  void buttonsSayWhyNot() {
    FakeContext context(withWlod());
    WlodTreeView view(context, nullptr);
    show(view);
    QVERIFY(!button(view, "Expand")->isEnabled());
    QVERIFY(button(view, "Expand")->toolTip().contains("choose a node"));
    click(view, {1, 2304});
    QVERIFY(button(view, "Expand")->isEnabled());
    QVERIFY(button(view, "Expand")->toolTip().contains("the budget is full"));
    click(view, {0, 1730});
    QVERIFY(!button(view, "Expand")->isEnabled());
    QVERIFY(button(view, "Expand")->toolTip().contains("no children"));
    QTest::keyClick(&view.canvas(), Qt::Key_E);
    QVERIFY(context.commands.empty());
    set(view, "node", 1056 * 4 + 1);
    QVERIFY(button(view, "Collapse")->isEnabled());
    QVERIFY(button(view, "Collapse")->toolTip().contains("LOD1 [1056, 1088)"));
    context.isBusy = true;
    Q_EMIT context.busyChanged();
    QVERIFY(button(view, "Collapse")->toolTip().contains("the engine is working"));
    context.isBusy = false;
    context.showTick(Tick(40));
    QVERIFY(!button(view, "Refocus")->isEnabled());
    QVERIFY(button(view, "Refocus")->toolTip().contains("an older tick is shown"));
  }

  /// A refusal of the engine stays in sight until another edit or tick.
  void refusalsOfTheEngineAreShown() {
    FakeContext context(withWlod());
    WlodTreeView view(context, nullptr);
    show(view);
    for (const bool thrown : {true, false}) {
      context.answers["collapse"] = [thrown](const nlohmann::json&) -> Result<nlohmann::json> {
        const Error error{"cooldown", "collapse was refused", "token 1060 was changed 1 rounds ago",
                          "wait for 1 more round"};
        if (thrown) return error;
        return nlohmann::json{{"ok", false}, {"error", error.toJson()}};
      };
      set(view, "node", 1056 * 4 + 1);
      QTest::mouseClick(button(view, "Collapse"), Qt::LeftButton);
      QTRY_VERIFY(view.ready());
      QVERIFY2(view.dump().contains("✗ collapse was refused: token 1060 was changed 1 rounds ago"),
               qPrintable(view.dump().right(300)));
      context.answers["refocus"] = [](const nlohmann::json&) {
        return Result<nlohmann::json>(nlohmann::json::object());
      };
      QTest::mouseClick(button(view, "Refocus"), Qt::LeftButton);
      QTRY_VERIFY(view.ready());
      QVERIFY(!view.dump().contains("✗ collapse was refused"));
    }
  }

  /// An expansion that finds the budget full offers to collapse the weakest block before it.
  void roomIsOffered() {
    FakeContext context(withWlod());
    WlodTreeView view(context, nullptr);
    show(view);
    context.answers["expand"] = [](const nlohmann::json& args) -> Result<nlohmann::json> {
      if (args.contains("room")) return nlohmann::json::object();
      return Error{"over_budget", "LOD1 [2304, 2336) was not expanded", "its 32 children do not fit into the budget",
                   "collapse LOD1 [1024, 1056) first, the weakest block: expand with `room` does that"};
    };
    click(view, {1, 2304});
    QToolButton* const room = button(view, "Collapse the Weakest Block and Expand");
    QVERIFY(!room->isVisible());
    QTest::mouseClick(button(view, "Expand"), Qt::LeftButton);
    QTRY_VERIFY(room->isVisible());
    QVERIFY(view.dump().contains("collapse LOD1 [1024, 1056) first"));
    QTest::mouseClick(room, Qt::LeftButton);
    QTRY_VERIFY(view.ready());
    QCOMPARE(context.commands.back().verb, std::string("wlod_expand"));
    QCOMPARE(context.commands.back().args, (nlohmann::json{{"node", 2304 * 4 + 1}, {"room", true}}));
    QVERIFY(!room->isVisible());
    QVERIFY(!view.dump().contains("was not expanded"));
  }

  void roundsAreWalkedThrough() {
    FakeContext context(withWlod());
    WlodTreeView view(context, nullptr);
    show(view);
    QSignalSpy said(&context, &InspectorContext::scripted);
    auto* tabs = view.findChild<QTabBar*>();
    QTest::mouseClick(tabs, Qt::LeftButton, {}, tabs->tabRect(1).center());
    QCOMPARE(said.last().first().toString(), QString("view.set(\"tree\", {panel: \"rounds\"})"));
    WlodRounds& rounds = view.rounds();
    QTRY_VERIFY(rounds.strip().isVisible());
    QCOMPARE(rounds.model().rowCount(), 5);
    QVERIFY(!rounds.said().contains("shows today"));
    rounds.strip().setFocus();
    QTest::keyClick(&rounds.strip(), Qt::Key_Left);
    QCOMPARE(rounds.model().rowCount(), 2);
    QVERIFY(rounds.said().contains("the picture shows the newest state"));
    QCOMPARE(said.last().first().toString(), QString("view.set(\"tree\", {round: 1})"));
    QTest::mouseClick(&rounds.strip(), Qt::LeftButton, {}, rounds.strip().column(2).center().toPoint());
    QCOMPARE(rounds.model().round()->round, 2);
    QTest::mouseClick(rounds.table().viewport(), Qt::LeftButton, {},
                      QPoint(30, rounds.table().rowViewportPosition(1) + 8));
    QCOMPARE(view.canvas().marked(), std::optional(TreeNode{1, 2304}));
    QTest::keyClick(&rounds.table(), Qt::Key_Down);
    QCOMPARE(view.canvas().marked(), std::optional(TreeNode{2, 0}));
    QTest::keyClick(&rounds.strip(), Qt::Key_Left);
    QVERIFY(!view.canvas().marked());
  }

  void optionsAreCheckedAndSaid() {
    FakeContext context(withWlod());
    WlodTreeView view(context, nullptr);
    view.setObjectName("tree");
    show(view);
    QCOMPARE(view.canvas().colour(), TreeColour::Change);
    QVERIFY(static_cast<bool>(view.setOption("colour", "attention")));
    QCOMPARE(view.canvas().colour(), TreeColour::Mass);
    QVERIFY(!view.setOption("colour", "purple"));
    QVERIFY(static_cast<bool>(view.setOption("window", {1000, 1500})));
    QCOMPARE(view.options()["window"], (nlohmann::json{1000, 1500}));
    QVERIFY(!view.setOption("window", {1500, 1000}));
    QVERIFY(!view.setOption("window", {0, 3001}));
    QVERIFY(static_cast<bool>(view.setOption("window", nullptr)));
    QVERIFY(view.options()["window"].is_null());
    QVERIFY(static_cast<bool>(view.setOption("round", 1)));
    QVERIFY(!view.setOption("round", 9));
    QVERIFY(!view.setOption("node", 7));             // level 3
    QVERIFY(!view.setOption("node", 2048 * 4 + 2));  // incomplete
    QVERIFY(!view.setOption("panel", 1));
    QVERIFY(!view.setOption("moments", 1));
    context.showTick(Tick(40));
    QVERIFY(static_cast<bool>(view.setOption("colour", "auto")));
    QCOMPARE(view.canvas().colour(), TreeColour::Level);  // nothing was edited yet
    QVERIFY(view.options()["round"] == 1);
  }

  void emptySaysHow() {
    for (const bool tokens : {false, true}) {
      auto s = std::make_shared<Snapshot>(*FakeContext().snapshot());
      if (tokens) s->wlod = std::make_shared<const WlodView>();
      FakeContext context{SnapshotPtr(s)};
      WlodTreeView view(context, nullptr);
      show(view);
      QCOMPARE(view.dump(), QString("tree: no wLOD\n"));
      QVERIFY(view.tsv().isEmpty());
      QVERIFY(!view.canvas().isVisible());
    }
  }

  /// If 256 moments share a pixel, a single dirty entry is still visible.
  void marksAreNotAveragedAway() {
    const SnapshotPtr s = longSnapshot(100000, 51200);
    FakeContext context{SnapshotPtr(s)};
    WlodTreeView view(context, nullptr);
    show(view, {900, 300});
    set(view, "colour", "change");
    const QRectF box = view.canvas().boxOf({1, 51200});
    QVERIFY(box.width() <= 2);
    const QImage shot = view.canvas().grab().toImage();
    int orange = 0;
    for (int x = static_cast<int>(box.left()) - 1; x <= static_cast<int>(box.right()) + 1; ++x) {
      const QColor at = shot.pixelColor(x, static_cast<int>(box.center().y()));
      orange += at.red() > at.blue() + 60;
    }
    QVERIFY(orange > 0);
    const double left = view.canvas().boxOf({1, 20000 / 32 * 32}).left();
    const QColor plain = shot.pixelColor(static_cast<int>(left), static_cast<int>(box.center().y()));
    QVERIFY(plain.red() < plain.blue() + 30);
  }

  /// A hundred thousand moments and every size and theme: all is painted, and the last node can be reached.
  void longTimeLines() {
    const SnapshotPtr s = longSnapshot(100000, 51200);
    FakeContext context{SnapshotPtr(s)};
    for (const QSize size : {QSize(320, 480), QSize(1400, 700)}) {
      WlodTreeView view(context, nullptr);
      show(view, size);
      for (const char* colour : {"change", "score", "attention", "level", "map"}) {
        set(view, "colour", colour);
        QVERIFY(!view.canvas().grab().isNull());
      }
      set(view, "window", {99900, 100000});
      QVERIFY(view.canvas().rect().contains(view.canvas().boxOf({0, 99999}).center().toPoint()));
      context.focusPosition(Position(s->length() - 1));
      QCOMPARE(view.canvas().selected(), std::optional(TreeNode{0, 99999}));
    }
  }

  void pictures_data() {
    QTest::addColumn<QString>("theme");
    QTest::addColumn<QSize>("size");
    QTest::addColumn<int>("scale");
    QTest::addColumn<QString>("options");
    QTest::addColumn<bool>("before");
    const QSize wide(1180, 300);
    QTest::addRow("tree_before_dark") << "dark" << wide << 1 << "{}" << true;
    QTest::addRow("tree_before_light") << "light" << wide << 1 << "{}" << true;
    QTest::addRow("tree_map") << "dark" << wide << 1 << R"({"colour": "map", "panel": "rounds"})" << false;
    QTest::addRow("tree_map_light_zoomed")
        << "light" << wide << 1 << R"({"window": [2890, 3000], "colour": "map"})" << false;
    QTest::addRow("tree_score") << "dark" << wide << 1 << R"({"colour": "score", "panel": "rounds"})" << false;
    QTest::addRow("tree_attention") << "light" << wide << 1
                                    << R"({"colour": "attention", "panel": "rounds", "round": 1})" << false;
    QTest::addRow("tree_zoomed") << "dark" << QSize(1180, 420) << 1 << R"({"window": [1722, 1770]})" << false;
    QTest::addRow("tree_zoomed@2") << "light" << QSize(760, 420) << 2
                                   << R"({"window": [2890, 3000], "colour": "score"})" << false;
    QTest::addRow("tree_rounds_narrow") << "light" << QSize(320, 480) << 1 << R"({"panel": "rounds"})" << false;
  }
  void pictures() {
    QFETCH(QString, theme);
    QFETCH(QSize, size);
    QFETCH(int, scale);
    QFETCH(QString, options);
    QFETCH(bool, before);
    Theme::apply(*qApp, theme);
    FakeContext context(withWlod());
    if (before) context.showTick(Tick(40));
    WlodTreeView view(context, nullptr);
    view.setObjectName("tree");
    view.resize(size);
    QVERIFY(golden::settle(view));
    context.focusPosition(Position(context.snapshot()->wlod->moments > 2996 && options.contains("2890") ? 230 : 120));
    const nlohmann::json all = nlohmann::json::parse(options.toStdString());
    for (const auto& [name, value] : all.items()) QVERIFY(static_cast<bool>(view.setOption(name, value)));
    if (options.contains("rounds") && !options.contains("round\""))
      Q_EMIT view.rounds().decisionChosen(view.rounds().model().decision(1));
    QCOMPARE(golden::compareImage(QTest::currentDataTag(), view.picture(size, scale)), QString());
    Theme::apply(*qApp, "dark");
  }

 private:
  static fixture::Options withWlod() {
    fixture::Options options;
    options.wlod = true;
    return options;
  }
  static QToolButton* button(WlodTreeView& view, const QString& name) {
    for (QToolButton* one : view.findChildren<QToolButton*>())
      if (one->accessibleName() == name) return one;
    return nullptr;
  }
  static void set(WlodTreeView& view, const char* name, const nlohmann::json& value) {
    QVERIFY2(static_cast<bool>(view.setOption(name, value)), name);
  }
  static void click(WlodTreeView& view, TreeNode node) {
    QTest::mouseClick(&view.canvas(), Qt::LeftButton, {}, view.canvas().boxOf(node).center().toPoint());
  }
  static void show(WlodTreeView& view, QSize size = {1180, 420}) {
    view.setObjectName("tree");
    view.resize(size);
    view.show();
    QVERIFY(QTest::qWaitForWindowExposed(&view));
    QVERIFY(golden::settle(view));
  }
  /// A long time line of LOD1 up to its last hundred moments; an edit of one of them, the rest of it clean.
  static SnapshotPtr longSnapshot(std::int32_t moments, std::int32_t edited) {
    auto view = std::make_shared<WlodView>();
    view->attention = "flat", view->moments = moments, view->budget = 8192, view->protectedFrom = moments - 128;
    std::vector<TreeNode> entries;
    for (std::int32_t t = 0; t < moments;) {
      entries.push_back({t + 160 < moments ? 1 : 0, t});
      t = entries.back().end();
    }
    view->entries = Column<TreeNode>(entries);
    std::vector<WlodRow> rows;
    for (const TreeNode node : entries) rows.push_back({node, true});
    view->rows = Column<WlodRow>(rows);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      view->scores.push_back(static_cast<float>(2 * fixture::noise(i) - 1));
      view->mass.push_back(static_cast<float>(fixture::noise(i, 2)));
      view->cooling.push_back(i % 97 == 0);
    }
    auto change = std::make_shared<WlodChange>();
    change->edits = {{{edited, edited + 32}, true}}, change->earliest = edited;
    for (const TreeNode node : entries) {
      change->nodes.push_back(node);
      change->why.push_back(node.start == edited ? DirtyWhy::Hierarchical : DirtyWhy::Clean);
      change->layer0.push_back(false);
    }
    view->change = change;
    return fixture::wlodSnapshot(view, 9, 9);
  }
};

KV_TEST(WlodTreeTest)
#include "wlod_tree_test.moc"
