// SPDX-License-Identifier: GPL-3.0-or-later
// Row and Attention: the display of a reply, requests and their times, clicks and keys, the shared head, other ticks,
// refusals.
#include <QCheckBox>
#include <QComboBox>
#include <QSignalSpy>
#include <QTest>
#include <QToolButton>
#include <cmath>

#include "fake_context.h"
#include "golden.h"
#include "support/runner.h"
#include "widgets/base/view_registry.h"
#include "widgets/views/attention/attention_view.h"
#include "widgets/views/row/row_view.h"

using namespace kvlab;

namespace {

template <class View>
struct RowRig {
  explicit RowRig(QSize size = {1180, 420}, fixture::Options options = {})
      : context(options), owner(makeView(*findView(kId), context, nullptr)), view(dynamic_cast<View&>(*owner)) {
    context.setFocus(Focus{context.snapshot()->tick, CacheLayer(2), Head(0), Position(-1), LedgerId(-1)});
    context.focusPosition(Position(52));
    view.resize(size);
    view.show();
    settled = QTest::qWaitForWindowExposed(&view) && golden::settle(view);
  }
  static constexpr const char* kId = std::is_same_v<View, RowView> ? "row" : "attention";
  QToolButton* button(const QString& name) const {
    for (auto* one : view.template findChildren<QToolButton*>())
      if (one->accessibleName() == name) return one;
    return nullptr;
  }
  void press(const QString& name) {
    QTest::mouseClick(button(name), Qt::LeftButton);
    settled = golden::settle(view) && settled;
  }
  std::size_t asked(const std::string& verb) const {
    return static_cast<std::size_t>(std::count_if(context.queried.begin(), context.queried.end(),
                                                  [&](const FakeContext::Call& call) { return call.verb == verb; }));
  }
  /// Middle of a cell of the matrix or the strips, found by the cell under the pointer.
  QPoint pointWith(QWidget& canvas, const QString& text) const {
    for (int y = 30; y < canvas.height() - 30; y += 3)
      for (int x = 55; x < canvas.width() - 12; x += 3) {
        QMouseEvent move(QEvent::MouseMove, QPointF(x, y), canvas.mapToGlobal(QPointF(x, y)), Qt::NoButton,
                         Qt::NoButton, {});
        QApplication::sendEvent(&canvas, &move);
        if (static_cast<const AxisCanvas&>(canvas).readout().contains(text)) return {x, y};
      }
    return {-1, -1};
  }

  FakeContext context;
  std::unique_ptr<InspectorView> owner;
  View& view;
  bool settled = false;
};

}  // namespace

class RowViewTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() { Theme::apply(*qApp, "dark"); }

  void badReplies() {
    const FakeContext context;
    const SnapshotPtr s = context.snapshot();
    nlohmann::json row = fixture::row(*s, {{"layer", 1}, {"index", 4}, {"compare", "rebuild"}});
    QVERIFY(rowPicture(row));
    QVERIFY((*rowPicture(row))->compares());
    for (const auto& [key, bad] : std::map<std::string, nlohmann::json>{{"shape", {2, 15}},
                                                                        {"shape ", nullptr},
                                                                        {"k", nullptr},
                                                                        {"v", {{"type", 3}}},
                                                                        {"compared", {{"with", 1}}}}) {
      nlohmann::json broken = row;
      if (key.back() == ' ') broken.erase("shape");
      else broken[key] = bad;
      QCOMPARE(rowPicture(broken).error().code, std::string("bad_reply"));
    }
    row["v"].erase("other");
    QCOMPARE(rowPicture(row).error().code, std::string("bad_reply"));
    QCOMPARE(rowPicture(nlohmann::json()).error().code, std::string("bad_reply"));

    const nlohmann::json matrix = fixture::attentionMatrix(*s, {{"layer", 1}});
    const auto picture = attentionPicture(matrix, {s});
    QVERIFY(picture);
    for (int line = 0; line < (*picture)->lines(); ++line) QVERIFY(std::abs((*picture)->sum(line) - 1) < 1e-5);
    for (const auto& [key, bad] : std::map<std::string, nlohmann::json>{
             {"tick", 4711}, {"end", 0}, {"heads", {0, 1}}, {"layer", 99}, {"values", {1, 2}}, {"own", nullptr}}) {
      nlohmann::json broken = matrix;
      broken[key] = bad;
      QVERIFY2(!attentionPicture(broken, {s}), key.c_str());
    }
  }

  /// The view asks when row, layer, tick or options change, and shows no row twice.
  void rowAsksOnce() {
    RowRig<RowView> rig;
    QVERIFY(rig.settled);
    QCOMPARE(rig.asked("row"), std::size_t{1});
    QCOMPARE(rig.asked("rows"), std::size_t{1});
    const auto index = rig.context.queried.back().args["begin"].get<int>();
    QCOMPARE(rig.context.snapshot()->layers[2]->ledger[static_cast<std::size_t>(index)], rig.context.focus().ledger);
    rig.context.setHovered(Position(3));
    Q_EMIT rig.context.focusChanged();
    QCOMPARE(rig.asked("row"), std::size_t{1});
    rig.context.focusPosition(Position(60));
    QCOMPARE(rig.asked("row"), std::size_t{2});
    rig.context.focusLayer(CacheLayer(1));
    QCOMPARE(rig.asked("row"), std::size_t{3});
    QVERIFY(rig.view.setOption("compare", "before"));
    QCOMPARE(rig.context.queried[rig.context.queried.size() - 2].args["compare"], nlohmann::json("before"));
    QVERIFY(golden::settle(rig.view));
    QVERIFY(rig.view.canvas().picture()->compares());
    QVERIFY(rig.view.dump().contains("compared with tick"));
    QVERIFY(rig.view.setOption("rotated", true));
    QCOMPARE(rig.context.queried[rig.context.queried.size() - 2].args["rotated"], nlohmann::json(true));
    QVERIFY(rig.context.submitted.empty() && rig.context.commands.empty());
  }

  void aRebuildIsAskedForByTheButton() {
    RowRig<RowView> rig;
    QVERIFY(rig.view.setOption("compare", "rebuild"));
    QVERIFY(golden::settle(rig.view));
    QVERIFY(!rig.view.canvas().picture()->compares());
    QVERIFY(rig.view.dump().contains("computes the other row"));
    rig.press("Compare the row with a rebuild");
    QCOMPARE(rig.context.commands.size(), std::size_t{1});
    QCOMPARE(rig.context.commands[0].verb, std::string("row_rebuild"));
    QVERIFY(rig.context.commands[0].args.contains("index"));
    QVERIFY(rig.view.canvas().picture()->compares());
    QVERIFY(rig.view.dump().contains("compared with a rebuild"));
    QCOMPARE(rig.view.tsv().count('\n'), 1 + 2 * 2 * 16);
    // Another row is not the one that was compared.
    rig.context.focusPosition(Position(60));
    QVERIFY(golden::settle(rig.view));
    QVERIFY(!rig.view.canvas().picture()->compares());
  }

  void aRefusedRebuildIsSaid() {
    RowRig<RowView> rig;
    rig.context.answers["row_rebuild"] = [](const nlohmann::json&) {
      return Result<nlohmann::json>(
          Error("cancelled", "the rebuild was cancelled", "layers 0 to 1 were done", "again"));
    };
    rig.press("Compare the row with a rebuild");
    QVERIFY(rig.view.dump().contains("the rebuild was cancelled"));
    QVERIFY(rig.view.canvas().picture());
  }

  void attentionOfTheRow() {
    RowRig<RowView> rig;
    rig.press("Measure the attention of the row");
    QTRY_COMPARE(rig.context.commands.size(), std::size_t{2});
    QVERIFY(golden::settle(rig.view));
    QCOMPARE(rig.context.commands[0].args["begin"].get<int>(), 52);
    QCOMPARE(rig.context.commands[1].args["end"].get<int>(), rig.context.snapshot()->length());
    QVERIFY2(rig.view.dump().contains("Received from the newest query, by head  0: 0.1 %"),
             qPrintable(rig.view.dump()));
    QVERIFY(rig.view.dump().contains("Its own query attends most to  52 was"));
  }

  /// A head of the strips is the head of all views: eight query heads share two KV heads.
  void aClickOnAStripChoosesHeadAndDimension() {
    RowRig<RowView> rig({560, 640});
    const QPoint point = rig.pointWith(rig.view.canvas(), "V head 1  f16");
    QVERIFY(point.x() >= 0);
    QTest::mouseClick(&rig.view.canvas(), Qt::LeftButton, {}, point);
    QCOMPARE(rig.context.focus().head, Head(4));
    QCOMPARE(rig.view.canvas().head(), 1);
    const int dimension = rig.view.canvas().dimension();
    QTest::keyClick(&rig.view.canvas(), Qt::Key_Right);
    QCOMPARE(rig.view.canvas().dimension(), dimension + 1);
    QTest::keyClick(&rig.view.canvas(), Qt::Key_Up);
    QCOMPARE(rig.view.canvas().head(), 0);
    QCOMPARE(rig.context.focus().head, Head(0));
    Focus other = rig.context.focus();
    other.head = Head(7);
    rig.context.setFocus(other);
    QCOMPARE(rig.view.canvas().head(), 1);
  }

  void rowsThatAreNotThere() {
    RowRig<RowView> rig;
    const ResidencyView& map = *rig.context.snapshot()->layers[2];
    for (int p = 0; p < rig.context.snapshot()->length(); ++p) {
      const LedgerId id = rig.context.snapshot()->context[static_cast<std::size_t>(p)];
      if (std::find(map.ledger.begin() + map.first, map.ledger.end(), id) != map.ledger.end()) continue;
      rig.context.focusPosition(Position(p));
      QVERIFY(golden::settle(rig.view));
      QCOMPARE(rig.view.dump(), QString("row: empty\n"));
      QVERIFY(!rig.button("Compare the row with a rebuild")->isEnabled());
      return;
    }
    QFAIL("the fixture holds every row");
  }

  /// An older tick is asked for its own row; measurements of the newest state wait.
  void olderTicksShowTheirRow() {
    RowRig<RowView> rig;
    rig.context.answers["at"] = [&](const nlohmann::json& args) -> Result<nlohmann::json> {
      return args["verb"] == "row" ? fixture::row(*rig.context.snapshot(), args["args"]) : nlohmann::json::array();
    };
    rig.context.queried.clear();
    rig.context.showTick(Tick(18));
    QVERIFY(golden::settle(rig.view));
    QVERIFY(!rig.context.queried.empty());
    for (const FakeContext::Call& one : rig.context.queried) {
      QCOMPARE(one.verb, std::string("at"));
      QCOMPARE(one.args["tick"], nlohmann::json(18));
    }
    QVERIFY2(rig.view.dump().contains("K head 0") && !rig.view.dump().contains("cannot be shown"),
             qPrintable(rig.view.dump()));
    QVERIFY(!rig.button("Compare the row with a rebuild")->isEnabled());
  }

  /// Nothing is measured before somebody asks; the arguments say layer, head and range.
  void attentionIsMeasuredByTheButton() {
    RowRig<AttentionView> rig;
    QVERIFY(rig.context.submitted.empty() && rig.context.commands.empty());
    QVERIFY(rig.view.dump().startsWith("attention: not measured"));
    rig.press("Measure attention by head");
    QCOMPARE(rig.context.commands.size(), std::size_t{1});
    QCOMPARE(rig.context.commands[0].args, nlohmann::json({{"layer", 2}}));
    QCOMPARE(rig.view.canvas().picture()->lines(), 8);
    QVERIFY(rig.view.setOption("lines", "queries"));
    QVERIFY(rig.view.setOption("head", 5));
    QVERIFY(rig.view.setOption("last", "16"));
    QCOMPARE(rig.context.focus().head, Head(5));
    rig.press("Measure attention by head");
    const int length = rig.context.snapshot()->length();
    QCOMPARE(rig.context.commands[1].args, nlohmann::json({{"layer", 2}, {"head", 5}, {"begin", length - 16}}));
    QCOMPARE(rig.view.canvas().picture()->lines(), 16);
    QVERIFY(rig.view.dump().contains("head 5"));
    QCOMPARE(rig.view.setOption("head", 8).error().field, std::string("head"));
    QCOMPARE(rig.view.tsv().count('\n'), 1 + length);
  }

  void followMeasuresWhatChanges() {
    RowRig<AttentionView> rig;
    QVERIFY(rig.view.setOption("follow", true));
    QCOMPARE(rig.context.submitted.size(), std::size_t{1});
    QVERIFY(golden::settle(rig.view));
    QCOMPARE(rig.context.submitted.size(), std::size_t{1});
    rig.context.focusLayer(CacheLayer(1));
    QCOMPARE(rig.context.submitted.size(), std::size_t{2});
    QVERIFY(golden::settle(rig.view));
    QCOMPARE(rig.view.canvas().picture()->layer, CacheLayer(1));
    rig.context.answers["attentionMatrix"] = [](const nlohmann::json&) {
      return Result<nlohmann::json>(Error("too_large", "attention was not measured", "the limit is 4", "ask for less"));
    };
    rig.context.focusLayer(CacheLayer(3));
    QVERIFY(golden::settle(rig.view));
    const std::size_t asked = rig.context.submitted.size();
    rig.context.focusLayer(CacheLayer(0));
    QCOMPARE(rig.context.submitted.size(), asked);  // a refusal is not repeated
    QVERIFY(rig.view.dump().contains("the limit is 4"));
    QVERIFY(rig.view.dump().contains("⚠ layer 1, focused is 0"));
  }

  /// Click, Control and Shift choose rows as in the map; a line of heads is the shared head.
  void clicksChooseRowsAndHeads() {
    RowRig<AttentionView> rig;
    rig.press("Measure attention by head");
    QSignalSpy said(&rig.context, &InspectorContext::scripted);
    AttentionCanvas& canvas = rig.view.canvas();
    const QPoint first = rig.pointWith(canvas, "head 3, query 95 ?  →  position 10 "),
                 second = rig.pointWith(canvas, "head 3, query 95 ?  →  position 14 ");
    QVERIFY(first.x() > 0 && second.x() > first.x());
    QTest::mouseClick(&canvas, Qt::LeftButton, {}, first);
    QCOMPARE(rig.context.focus().head, Head(3));
    QCOMPARE(rig.context.focus().position, Position(10));
    QCOMPARE(said.at(0).at(0).toString(), QString("view.set(\"attention\", {head: 3})"));
    QTest::mouseClick(&canvas, Qt::LeftButton, Qt::ShiftModifier, second);
    QCOMPARE(rig.context.selection().size(), std::size_t{5});
    QTest::mouseClick(&canvas, Qt::LeftButton, Qt::ControlModifier, first);
    QCOMPARE(rig.context.selection().size(), std::size_t{4});
    QTest::keyClick(&canvas, Qt::Key_Down);
    QCOMPARE(rig.context.focus().head, Head(4));
    rig.context.setHovered(Position(3));
    QVERIFY(rig.view.ready());
  }

  void otherTicksAreNamed() {
    RowRig<AttentionView> rig;
    rig.press("Measure attention by head");
    rig.context.showTick(Tick(18));
    QVERIFY(golden::settle(rig.view));
    QVERIFY(rig.view.dump().contains("⚠ tick 20, shown is 18"));
  }

  /// The reply to another view's question about one row is none of this view's.
  void repliesOfOthers() {
    RowRig<AttentionView> rig;
    rig.context.runCommand("attention_measure", {{"layer", 1}, {"begin", 4}, {"end", 5}});
    QTest::qWait(5);
    QVERIFY(!rig.view.canvas().picture());
    rig.context.runCommand("attention_measure", {{"layer", 1}});
    QTRY_VERIFY(rig.view.canvas().picture());
    QCOMPARE(rig.view.canvas().picture()->layer, CacheLayer(1));
  }
};

KV_TEST(RowViewTest)
#include "row_view_test.moc"
