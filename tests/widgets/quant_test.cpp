// SPDX-License-Identifier: GPL-3.0-or-later
// The quantisation view: figures of a measurement against hand-computed ones, the worst row, when it is asked for
// and when it is out of date, refusals, and real clicks and keys.
#include <QAbstractButton>
#include <QComboBox>
#include <QHeaderView>
#include <QLabel>
#include <QSignalSpy>
#include <cmath>

#include "fake_context.h"
#include "golden.h"
#include "support/runner.h"
#include "widgets/views/quant/quant_view.h"

using namespace kvlab;

namespace {
fixture::Options quantised() {
  fixture::Options options;
  options.quant = true;
  return options;
}

/// Four thousand rows in two quantised layers.
SnapshotPtr longSnapshot(int rows = 4096) {
  auto s = std::make_shared<Snapshot>(*fixture::hugeSnapshot(2, rows));
  auto storage = std::make_shared<StorageView>(*s->storage[0]);
  storage->k = "int8", storage->v = "fp8-e4m3";
  s->storage.assign(2, storage);
  return s;
}

nlohmann::json tensor(const char* type, const nlohmann::json& relative, const nlohmann::json& cosine,
                      const nlohmann::json& scale, const nlohmann::json& atMax) {
  return {{"type", type},
          {"worst", 0.5},
          {"mean", 0.25},
          {"relative", relative},
          {"cosine", cosine},
          {"scale", scale},
          {"atMax", atMax},
          {"counts",
           {{"scales", 8},
            {"nonFinite", 1},
            {"clipped", 2},
            {"atMax", 9},
            {"floored", 3},
            {"scale", {{"min", 0.5}, {"mean", 0.75}, {"max", 1.5}}}}}};
}

template <class T>
nlohmann::json bytes(std::vector<T> values) {
  const auto* first = reinterpret_cast<const std::uint8_t*>(values.data());
  return nlohmann::json::binary({first, first + values.size() * sizeof(T)});
}

struct QuantRig {
  explicit QuantRig(QSize size = {1180, 420}) : context(quantised()), view(context, nullptr) { open(size); }
  QuantRig(SnapshotPtr only, QSize size) : context(std::move(only)), view(context, nullptr) { open(size); }
  void open(QSize size) {
    view.setObjectName("quant");
    context.setFocus(Focus{context.snapshot()->tick, CacheLayer(2), Head(0), Position(-1), LedgerId(-1)});
    view.resize(size);
    view.show();
    golden::settle(view);
  }
  bool measure() {
    QTest::mouseClick(button("Measure quantisation"), Qt::LeftButton);
    return golden::settle(view);
  }
  QAbstractButton* button(const char* name) {
    for (QAbstractButton* one : view.findChildren<QAbstractButton*>())
      if (one->accessibleName() == name) return one;
    return nullptr;
  }
  std::size_t asked() const {
    const auto measures = [](const auto& call) {
      return call.verb == "quantisation" || call.verb == "quantisation_measure";
    };
    return static_cast<std::size_t>(std::count_if(context.submitted.begin(), context.submitted.end(), measures) +
                                    std::count_if(context.commands.begin(), context.commands.end(), measures));
  }
  QPoint at(int lane, int row) {
    const QRect box = view.canvas().bars(lane);
    return {box.left() + static_cast<int>(view.canvas().axis().pixel(row + 0.5)), box.center().y()};
  }
  QLabel* stale() { return view.findChild<QLabel*>("warning"); }

  FakeContext context;
  QuantView view;
};
}  // namespace

class QuantTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() { Theme::apply(*qApp, "dark"); }

  /// The keyboard chooses a type to try: the measurement names it, in the view and when it follows.
  void typesAreTried() {
    QuantRig rig;
    auto* keys = rig.view.findChildren<QComboBox*>()[1];
    QCOMPARE(keys->accessibleName(), QString("Type to try for K"));
    keys->setFocus();
    QTest::keyClicks(keys, "int8");
    QVERIFY(golden::settle(rig.view));
    QCOMPARE(rig.context.commands.back().verb, std::string("quantisation_measure"));
    QCOMPARE(rig.context.commands.back().args, nlohmann::json({{"k", "int8"}}));
    QVERIFY(static_cast<bool>(rig.view.setOption("try_v", "fp8-e4m3")));
    QCOMPARE(rig.context.commands.back().args, nlohmann::json({{"k", "int8"}, {"v", "fp8-e4m3"}}));
    QVERIFY(golden::settle(rig.view));
    QVERIFY(static_cast<bool>(rig.view.setOption("try_k", "stored")));
    QCOMPARE(rig.context.commands.back().args, nlohmann::json({{"v", "fp8-e4m3"}}));
    QVERIFY(!rig.view.setOption("try_k", "int4"));
  }

  void figuresOfALayer() {
    auto s = std::make_shared<Snapshot>(*fixture::hugeSnapshot(1, 4));  // 2 KV heads of 16 values
    const nlohmann::json k =
        tensor("int8", {0.5, 0.25, nullptr, 0.125}, {0.75, 0.875, nullptr, 0.5}, {1, 2, nullptr, 3}, {2, 3, 0, 4});
    const nlohmann::json v =
        tensor("bf16", {0, 0, nullptr, 0.125}, {1, 1, nullptr, 1}, {1, 1, nullptr, 1}, {0, 0, 0, 0});
    const nlohmann::json reply{{{"tick", 0}, {"k", k}, {"v", v}, {"worstLogit", 7.0}, {"logit", {1, 7, nullptr, 2}}}};
    const Result<QuantMeasure> measure = quantMeasure(reply, {s});
    QVERIFY(static_cast<bool>(measure));
    const QuantLayer& layer = measure->layers.at(0);
    QCOMPARE(layer.k.lowestCosine, 0.5);
    QCOMPARE(layer.k.shareAtMax, 9.0 / (3 * 32));  // 9 codes in three rows of 32 values
    QVERIFY(std::isnan(layer.v.shareAtMax));       // bf16 has no codes
    QCOMPARE(layer.k.clipped, std::int64_t{2});
    QCOMPARE(layer.k.worstLogit, 7.0);
    QVERIFY(std::isnan(layer.k.atMax[2]));
    QCOMPARE(worstRow(rowValues(layer.k, QuantFigure::Relative)), 0);
    QCOMPARE(worstRow(rowValues(layer.k, QuantFigure::Cosine)), 3);
    QCOMPARE(worstRow(rowValues(layer.k, QuantFigure::Logit)), 1);
    QCOMPARE(rowValues(layer.k, QuantFigure::Cosine)[1], 0.125f);
    QCOMPARE(meanOf(rowValues(layer.k, QuantFigure::AtMax)), 3.0);
    QVERIFY(rowValues(layer.v, QuantFigure::Scale).empty());
    QVERIFY(rowText(*measure, CacheLayer(0), true, 1).contains("3 of 32 at max"));
    QVERIFY(rowText(*measure, CacheLayer(0), false, 3).contains("no scale"));
    QVERIFY(rowText(*measure, CacheLayer(0), true, 2).contains("resident, error not known"));
    QCOMPARE(quantMeasure({{{"tick", 5}, {"k", k}, {"v", v}, {"logit", {1, 7, nullptr, 2}}}}, {s}).error().code,
             std::string("not_found"));
    QCOMPARE(quantMeasure({{{"tick", 0}, {"logit", {1, 7, nullptr, 2}}}}, {s}).error().code, std::string("bad_reply"));
    nlohmann::json packed = reply;  // as the window asks for it
    packed[0]["k"]["relative"] = bytes<float>({0.5f, 0.25f, NAN, 0.125f});
    packed[0]["k"]["atMax"] = bytes<std::int32_t>({2, 3, 0, 4});
    packed[0]["logit"] = bytes<float>({1, 7, NAN, 2});
    const Result<QuantMeasure> same = quantMeasure(packed, {s});
    QCOMPARE(same->layers[0].k.atMax[3], 4.0f);
    QCOMPARE(same->layers[0].k.shareAtMax, layer.k.shareAtMax);
    QCOMPARE(worstRow(same->layers[0].k.logit), 1);
    QCOMPARE(quantMeasure(nullptr, {s}).error().code, std::string("bad_reply"));
  }

  void axesHaveRoundEnds() {
    const ColourScale error = logAxis(0.0032, 0.0066);
    QCOMPARE(error.low, 0.002f);
    QCOMPARE(error.high, 0.01f);
    QCOMPARE(axisLabels(error, 5).size(), std::size_t{3});
    QCOMPARE(axisLabels(error, 2), (std::vector<double>{double(0.002f), double(0.01f)}));
    const ColourScale wide = logAxis(1e-9, 0.6);
    QCOMPARE(wide.high, 1.0f);
    QCOMPARE(wide.low, 1e-4f);
    QCOMPARE(axisLabels(wide, 6).size(), std::size_t{5});  // powers of ten
    const std::vector<double> few = axisLabels(wide, 3);
    QCOMPARE(few.size(), std::size_t{3});
    QCOMPARE(few[1], 0.01);
    QCOMPARE(wide.unit(0), 0.0f);
    QVERIFY(logAxis(0.01, 0.01).low < 0.01f);  // equal values still have a height
    QCOMPARE(linearAxis(3).high, 5.0f);
  }

  /// Errors of K and V compare at one glance; scales have nothing to do with each other.
  void lanesShareTheAxisOfErrors() {
    QuantRig rig;
    QVERIFY(rig.measure());
    const auto& lanes = rig.view.canvas().lanes();
    QCOMPARE(lanes[0].bars.scale.high, lanes[1].bars.scale.high);
    QCOMPARE(lanes[0].strip.figure, QuantFigure::Scale);
    QVERIFY(rig.view.setOption("figure", "scale"));
    QVERIFY(lanes[0].bars.scale.high != lanes[1].bars.scale.high);
    QCOMPARE(lanes[0].strip.figure, QuantFigure::Relative);
    QVERIFY(rig.view.setOption("figure", "logit"));
    QCOMPARE(lanes[0].bars.figure, QuantFigure::Logit);
    QCOMPARE(lanes[1].bars.figure, QuantFigure::Relative);  // values have no logits
  }

  void isMeasuredWhenAsked() {
    QuantRig rig;
    QCOMPARE(rig.asked(), std::size_t{0});
    QVERIFY(rig.view.ready());
    QVERIFY(rig.view.tsv().isEmpty());
    QTest::mouseClick(rig.button("Measure quantisation"), Qt::LeftButton);
    QVERIFY(!rig.view.ready());
    QVERIFY(!rig.button("Measure quantisation")->isEnabled());
    Q_EMIT rig.context.progressed("rebuilding layers", 1, 4);
    QVERIFY(rig.view.picture({600, 300}, 1) != QImage());
    QVERIFY(golden::settle(rig.view));
    QCOMPARE(rig.asked(), std::size_t{1});
    QCOMPARE(rig.context.commands.back().verb, std::string("quantisation_measure"));
    QCOMPARE(rig.view.tsv().count('\n'), 5);
    QVERIFY(!rig.stale()->isVisibleTo(&rig.view));
  }

  void oldMeasurementsSaySo() {
    QuantRig rig;
    QVERIFY(rig.measure());
    const Tick then = rig.context.snapshot()->tick;
    rig.context.showTick(Tick(then.value() - 3));
    QVERIFY(rig.stale()->isVisibleTo(&rig.view));
    QVERIFY(rig.stale()->text().contains(QString("tick %1, shown is %2").arg(then.value()).arg(then.value() - 3)));
    rig.context.showTick(then);
    QVERIFY(!rig.stale()->isVisibleTo(&rig.view));
    auto published = std::make_shared<Snapshot>(*rig.context.snapshot());  // measuring itself does this
    published->serial += 1;
    rig.context.push(published);
    QVERIFY(!rig.stale()->isVisibleTo(&rig.view));
    auto converted = std::make_shared<Snapshot>(*published);
    converted->storage.assign(4, std::make_shared<StorageView>(fixture::plainStorage(1088, 100)));
    rig.context.push(converted);
    QVERIFY(rig.stale()->text().contains("rows have changed since"));
    QVERIFY(rig.view.dump().contains("rows have changed since"));
  }

  void followsTheTicks() {
    QuantRig rig;
    QTest::mouseClick(rig.button("Measure every tick"), Qt::LeftButton);
    QVERIFY(golden::settle(rig.view));
    QCOMPARE(rig.asked(), std::size_t{1});
    auto same = std::make_shared<Snapshot>(*rig.context.snapshot());
    rig.context.push(same);
    QVERIFY(golden::settle(rig.view));
    QCOMPARE(rig.asked(), std::size_t{1});
    auto next = std::make_shared<Snapshot>(*same);
    next->tick = Tick(same->tick.value() + 1);
    rig.context.push(next);
    QVERIFY(golden::settle(rig.view));
    QCOMPARE(rig.asked(), std::size_t{2});
    QVERIFY(!rig.stale()->isVisibleTo(&rig.view));
  }

  void refusalsSayWhyAndWhatToDo() {
    QuantRig rig;
    const auto works = rig.context.answers["quantisation"];
    rig.context.answers["quantisation"] = [](const nlohmann::json&) {
      return Result<nlohmann::json>(Error("unsupported", "quantisation was not measured", "residency is by KV head",
                                          "use a session with residency layer"));
    };
    QTest::mouseClick(rig.button("Measure every tick"), Qt::LeftButton);
    QVERIFY(golden::settle(rig.view));
    QVERIFY(rig.view.dump().contains("Residency is by KV head; use a session with residency layer"));
    rig.context.push(std::make_shared<Snapshot>(*rig.context.snapshot()));
    QCOMPARE(rig.asked(), std::size_t{1});  // not again by itself
    rig.context.answers["quantisation"] = works;
    QVERIFY(rig.measure());
    QCOMPARE(rig.asked(), std::size_t{2});
    QVERIFY(!rig.view.dump().contains("esidency"));
  }

  void worstRowIsFound() {
    QuantRig rig;
    QVERIFY(rig.measure());
    const int bad = rig.context.snapshot()->length() * 3 / 5;
    QCOMPARE(rig.view.canvas().lanes()[0].bars.worst, bad);
    QTest::keyClick(&rig.view.canvas(), Qt::Key_W);
    QCOMPARE(rig.context.focus().position.value(), bad);
    QVERIFY(rig.view.table()
                .model()
                ->index(2, rig.view.table().columnOf("k_worst"))
                .data(Qt::ToolTipRole)
                .toString()
                .contains(QString("position %1,").arg(bad)));
    QCOMPARE(rig.view.table().model()->index(2, rig.view.table().columnOf("k_worst")).data(kBarRole).toDouble(), 1.0);
    QVERIFY(rig.view.table().model()->index(1, rig.view.table().columnOf("k_worst")).data(kBarRole).toDouble() < 0.2);
    QVERIFY(rig.view.table().model()->index(3, rig.view.table().columnOf("v_clipped")).data(kBadRole).toBool());
  }

  /// Many rows to a pixel: the bad one alone reaches the top of its lane.
  void oneBadRowOfManyIsSeen() {
    QuantRig rig(longSnapshot(), {700, 420});
    rig.context.setFocus(Focus{rig.context.snapshot()->tick, CacheLayer(1), Head(0), Position(-1), LedgerId(-1)});
    QVERIFY(rig.measure());
    const QImage shot = rig.view.picture({700, 420}, 1).convertToFormat(QImage::Format_RGB32);
    const QRect bars = rig.view.canvas().bars(0);
    const QPoint corner = rig.view.canvas().mapTo(&rig.view, bars.topLeft());
    const QRgb colour = shot.pixel(corner.x() + 3, corner.y() + bars.height() - 2);
    int tall = 0;
    for (int x = 0; x < bars.width(); ++x) tall += shot.pixel(corner.x() + x, corner.y() + bars.height() / 3) == colour;
    QCOMPARE(tall, 1);
  }

  /// As low as the dock makes it, the bars have most of the room.
  void lowBarsHaveTheRoom() {
    QuantRig rig{QSize(700, 240)};
    QVERIFY(rig.measure());
    QuantCanvas& canvas = rig.view.canvas();
    canvas.resize(500, canvas.minimumHeight());
    for (int lane : {0, 1})
      QVERIFY2(canvas.bars(lane).height() >= 36, qPrintable(QString::number(canvas.bars(lane).height())));
  }

  void clicksAndKeysFocus() {
    QuantRig rig;
    QVERIFY(rig.measure());
    QSignalSpy said(&rig.context, &InspectorContext::scripted);
    QTest::mouseClick(&rig.view.canvas(), Qt::LeftButton, {}, rig.at(1, 40));
    QCOMPARE(rig.context.focus().position, Position(40));
    QCOMPARE(said.last().at(0).toString(), QString("view.focus({layer: 2, row: 40})"));
    QTest::keyClick(&rig.view.canvas(), Qt::Key_Right);
    QTest::keyClick(&rig.view.canvas(), Qt::Key_Up);
    QCOMPARE(rig.context.focus().layer, CacheLayer(1));
    QCOMPARE(rig.context.focus().position, Position(41));
    QTest::keyClick(&rig.view.table(), Qt::Key_Down);
    QCOMPARE(rig.context.focus().layer, CacheLayer(2));
    QCOMPARE(said.last().at(0).toString(), QString("view.focus({layer: 2})"));
  }

  void hoveringReadsOut() {
    QuantRig rig;
    QVERIFY(rig.measure());
    const QPointF at = rig.at(0, 12);
    QMouseEvent move(QEvent::MouseMove, at, rig.view.canvas().mapToGlobal(at), Qt::NoButton, Qt::NoButton,
                     Qt::NoModifier);
    QApplication::sendEvent(&rig.view.canvas(), &move);
    QCOMPARE(rig.context.hovered(), Position(12));
    QVERIFY(rig.view.dump().contains("pointer at 12,"));
  }

  /// A row that stands elsewhere now is focused by its ledger id.
  void oldRowsAreFoundByLedger() {
    QuantRig rig;
    QVERIFY(rig.measure());
    const LedgerId wanted = rig.context.snapshot()->context[60];
    auto shifted = std::make_shared<Snapshot>(*rig.context.snapshot());
    const auto all = shifted->context.span();
    shifted->context = Column<LedgerId>(all.subspan(1));
    shifted->tick = Tick(shifted->tick.value() + 1);
    rig.context.push(shifted);
    QTest::mouseClick(&rig.view.canvas(), Qt::LeftButton, {}, rig.at(0, 60));
    QCOMPARE(rig.context.focus().ledger, wanted);
    QCOMPARE(rig.context.focus().position, Position(59));
    QCOMPARE(rig.view.canvas().focusRow(), 60);
  }

  void tableIsOrdered() {
    QuantRig rig;
    QVERIFY(rig.measure());
    QSignalSpy said(&rig.context, &InspectorContext::scripted);
    QHeaderView* header = rig.view.table().horizontalHeader();
    QTest::mouseClick(header->viewport(), Qt::LeftButton, {},
                      QPoint(header->sectionViewportPosition(rig.view.table().columnOf("k_worst")) + 20, 8));
    QCOMPARE(said.last().at(0).toString(), QString("view.set(\"quant\", {sort: \"k_worst\"})"));
    QCOMPARE(rig.view.table().model()->index(0, 0).data().toString(), QString("0"));  // f16 loses least
    QCOMPARE(rig.view.table().model()->index(3, 0).data().toString(), QString("2"));
    QCOMPARE(rig.view.table().currentIndex().row(), 3);  // the focused layer still
    QVERIFY(rig.view.table()
                .model()
                ->headerData(rig.view.table().columnOf("k_worst"), Qt::Horizontal)
                .toString()
                .endsWith(SortedTable::kUp));
    QVERIFY(!rig.view.tsv().contains(SortedTable::kUp));
    QVERIFY(rig.view.setOption("sort", "-v_scale"));
    QCOMPARE(rig.view.options()["sort"], nlohmann::json("-v_scale"));
    QVERIFY(!rig.view.setOption("sort", "colour"));
    QTest::keyClick(&rig.view.canvas(), Qt::Key_S);
    QCOMPARE(rig.view.options()["sort"], nlohmann::json("layer"));
  }

  void typesWithoutScaleSaySo() {
    QuantRig rig;
    rig.context.setFocus(
        Focus{rig.context.snapshot()->tick, CacheLayer(0), Head(0), Position(20), rig.context.snapshot()->context[20]});
    QVERIFY(rig.measure());
    QVERIFY(rig.view.setOption("figure", "at_max"));
    QVERIFY(rig.view.canvas().lanes()[0].bars.values.empty());
    QVERIFY(rig.view.dump().contains("no scale"));
    QCOMPARE(rig.view.table().model()->index(0, rig.view.table().columnOf("k_scale")).data().toString(), QString("–"));
  }

  void optionsComeBack() {
    QuantRig rig, other;
    rig.view.findChild<QComboBox*>()->setCurrentIndex(1);
    QVERIFY(rig.view.setOption("follow", true));
    QVERIFY(rig.view.setOption("sort", "-logit"));
    const nlohmann::json options = rig.view.options();
    QCOMPARE(
        options,
        nlohmann::json(
            {{"figure", "cosine"}, {"follow", true}, {"sort", "-logit"}, {"try_k", "stored"}, {"try_v", "stored"}}));
    for (const auto& [name, value] : options.items()) QVERIFY(other.view.setOption(name, value));
    QCOMPARE(other.view.options(), options);
    QCOMPARE(rig.view.setOption("figure", "error").error().remedy,
             std::string("use relative, cosine, scale, at_max or logit"));
    QVERIFY(!rig.view.setOption("follow", "yes"));
    QVERIFY(!rig.view.setOption("colour", 1));
  }

  /// The other session may be of the same model and count its snapshots on: a fork does.
  void anotherSessionForgets() {
    QuantRig rig;
    QVERIFY(rig.measure());
    auto later = std::make_shared<Snapshot>(*rig.context.snapshot());
    later->serial += 100;
    rig.context.open({later});
    QVERIFY(rig.view.dump().contains("not measured"));
    rig.context.open({longSnapshot(64)});
    QVERIFY(rig.view.dump().contains("not measured"));
  }

  void anotherSessionWasNotRefused() {
    QuantRig rig;
    const auto works = std::exchange(rig.context.answers["quantisation"], [](const nlohmann::json&) {
      return Result<nlohmann::json>(Error("unsupported", "quantisation was not measured", "residency is by KV head",
                                          "use a session with residency layer"));
    });
    QVERIFY(rig.view.setOption("follow", true));
    QVERIFY(golden::settle(rig.view));
    QVERIFY(rig.view.dump().contains("Residency is by KV head"));
    rig.context.answers["quantisation"] = works;
    auto later = std::make_shared<Snapshot>(*rig.context.snapshot());
    later->serial += 100;
    rig.context.open({later});
    QVERIFY(golden::settle(rig.view));
    QCOMPARE(rig.asked(), std::size_t{2});
    QVERIFY(!rig.view.dump().contains("not measured"));
  }

  void aLateReplyIsOfNoUse() {
    QuantRig rig;
    QTest::mouseClick(rig.button("Measure quantisation"), Qt::LeftButton);
    auto later = std::make_shared<Snapshot>(*rig.context.snapshot());
    later->serial += 100;
    rig.context.open({later});
    QVERIFY(rig.view.ready());
    QCoreApplication::processEvents();
    QVERIFY(rig.view.dump().contains("not measured"));
  }

  void pictures_data() {
    QTest::addColumn<QString>("theme");
    QTest::addColumn<QSize>("size");
    QTest::addColumn<int>("scale");
    QTest::addColumn<QString>("figure");
    QTest::addRow("quant_long_dark") << "dark" << QSize(1180, 300) << 1 << "relative";
    QTest::addRow("quant_long_light") << "light" << QSize(1180, 300) << 1 << "logit";
    QTest::addRow("quant_scale_dark@2") << "dark" << QSize(560, 640) << 2 << "scale";
    QTest::addRow("quant_large_light") << "light" << QSize(1600, 1000) << 1 << "at_max";
    QTest::addRow("quant_large_dark") << "dark" << QSize(1600, 1000) << 1 << "cosine";
    QTest::addRow("quant_refused_light") << "light" << QSize(700, 300) << 1 << "";
    QTest::addRow("quant_unmeasured_dark") << "dark" << QSize(700, 300) << 1 << "";
    QTest::addRow("quant_stale_dark") << "dark" << QSize(700, 300) << 1 << "relative";
  }
  void pictures() {
    QFETCH(QString, theme);
    QFETCH(QSize, size);
    QFETCH(int, scale);
    QFETCH(QString, figure);
    const QString tag = QTest::currentDataTag();
    Theme::apply(*qApp, theme);
    const std::unique_ptr<QuantRig> rig(tag.contains("long") ? new QuantRig(longSnapshot(), size) : new QuantRig(size));
    if (tag.contains("refused"))
      rig->context.answers["quantisation"] = [](const nlohmann::json&) {
        return Result<nlohmann::json>(
            Error("unsupported", "quantisation was not measured",
                  "the session has a working context of tokens and gists, whose rows are not one per token",
                  "use a session without wlod"));
      };
    if (!tag.contains("unmeasured")) QVERIFY(rig->measure());
    if (!figure.isEmpty()) QVERIFY(rig->view.setOption("figure", figure.toStdString()));
    rig->context.setFocus(Focus{rig->context.snapshot()->tick, CacheLayer(tag.contains("long") ? 1 : 2), Head(0),
                                Position(-1), LedgerId(-1)});
    rig->context.focusPosition(Position(52));
    if (tag.contains("stale")) rig->context.showTick(Tick(18));
    const QImage shot = rig->view.picture(size, scale);
    Theme::apply(*qApp, "dark");
    QCOMPARE(golden::compareImage(tag, shot), QString());
  }
};

KV_TEST(QuantTest)
#include "quant_test.moc"
