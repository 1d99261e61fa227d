// SPDX-License-Identifier: GPL-3.0-or-later
// Scales of colours: every curve over values of every sort, the range of all cells, of each line and fixed ones, sinks,
// cells without a value, and the menu.
#include <QMenu>
#include <QSignalSpy>
#include <QToolButton>
#include <algorithm>
#include <limits>
#include <random>

#include "fake_context.h"
#include "golden.h"
#include "support/runner.h"
#include "widgets/base/scale_menu.h"
#include "widgets/canvas/matrix_colours.h"
#include "widgets/views/map/map_view.h"

using namespace kvlab;

namespace {
using Curve = ScaleChoice::Curve;
using Range = ScaleChoice::Range;
constexpr std::array kCurves = {Curve::Linear, Curve::Root, Curve::Log, Curve::Rank};
constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

ScaleChoice chosenScale(Curve curve, Range range = Range::All) {
  ScaleChoice out;
  out.curve = curve, out.range = range;
  return out;
}

/// A few large values among many small ones, as attention has them.
std::vector<float> heavyTailed(std::size_t count) {
  std::mt19937 random(11);
  std::lognormal_distribution<float> draw(-7, 2);
  std::vector<float> out(count);
  for (float& one : out) one = draw(random);
  return out;
}

void addCurves() {
  QTest::addColumn<int>("curve");
  for (const Curve curve : kCurves) QTest::newRow(qPrintable(curveText(curve))) << static_cast<int>(curve);
}
}  // namespace

class ScaleTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() { Theme::apply(*qApp, "dark"); }

  /// A larger value never has a lower colour, the smallest has the first colour and the largest the last.
  void curvesGrowFromEndToEnd_data() { addCurves(); }
  void curvesGrowFromEndToEnd() {
    QFETCH(int, curve);
    std::vector<float> negative = heavyTailed(500);
    for (float& one : negative) one = -one;
    for (std::vector<float> values :
         {heavyTailed(3000), negative, std::vector<float>{5, 6, 7}, std::vector<float>{0, 1}}) {
      std::sort(values.begin(), values.end());
      const ColourScale scale = scaleFor(Quantity::Score, values, chosenScale(static_cast<Curve>(curve)));
      for (std::size_t i = 1; i < values.size(); ++i) QVERIFY(scale.index(values[i]) >= scale.index(values[i - 1]));
      QCOMPARE(scale.index(values.front()), kFirstColour);
      QCOMPARE(scale.index(values.back()), std::uint8_t{255});
      QCOMPARE(scale.index(-INFINITY), kFirstColour);
      QCOMPARE(scale.index(INFINITY), std::uint8_t{255});
    }
  }

  void manyValuesAtOnceAreTheSame_data() { addCurves(); }
  void manyValuesAtOnceAreTheSame() {
    QFETCH(int, curve);
    std::vector<float> values = heavyTailed(1000);
    values[3] = kNone, values[4] = INFINITY, values[5] = -INFINITY, values[6] = -0.0f;
    const ColourScale scale = scaleFor(Quantity::Attention, values, chosenScale(static_cast<Curve>(curve)));
    std::vector<std::uint8_t> indices(values.size());
    scale.quantise(values, indices);
    for (std::size_t i = 0; i < values.size(); ++i) QCOMPARE(indices[i], scale.index(values[i]));
    QCOMPARE(indices[3], kUnmeasured);
    QCOMPARE(std::count(indices.begin(), indices.end(), kUnmeasured), std::ptrdiff_t{1});
  }

  /// No value, one value, only zeros: there is always a scale, and equal values have equal colours.
  void valuesThatDoNotDifferHaveAScale_data() { addCurves(); }
  void valuesThatDoNotDifferHaveAScale() {
    QFETCH(int, curve);
    for (const std::vector<float>& values : std::vector<std::vector<float>>{
             {}, {kNone, kNone}, {0, 0, 0}, {7, 7}, {-2, -2}, {kNone, 1e-30f}, {INFINITY, INFINITY}, {3e38f, -3e38f}})
      for (const Quantity quantity : {Quantity::Attention, Quantity::KNorm, Quantity::Brightness})
        for (const bool sinks : {true, false})
          for (const Range range : {Range::All, Range::Line}) {
            ScaleChoice choice = chosenScale(static_cast<Curve>(curve), range);
            choice.sinks = sinks;
            const ColourScales scales = scalesFor(quantity, values, 1, choice);
            for (const float value : values)
              QVERIFY(std::isnan(value) ? scales.first().index(value) == kUnmeasured
                                        : scales.first().index(value) >= kFirstColour);
          }
  }

  /// By rank every colour stands for about as many cells, however the values lie.
  void ranksShareTheColoursOut() {
    const std::vector<float> values = heavyTailed(25400);
    const ColourScale scale = scaleFor(Quantity::Attention, values, chosenScale(Curve::Rank));
    std::vector<float> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    for (const double share : {0.1, 0.25, 0.5, 0.75, 0.9}) {
      const float value = sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size()))];
      QVERIFY2(std::abs(double(scale.unit(value)) - share) < 0.02, qPrintable(QString::number(share)));
    }
    const double half = double(sorted[sorted.size() / 2]);
    QVERIFY(std::abs(double(scale.ranks->median()) / half - 1) < 0.02);
    const ColourScale linear = scaleFor(Quantity::Attention, values, chosenScale(Curve::Linear));
    QCOMPARE(linear.index(sorted[sorted.size() / 2]), kFirstColour);  // the fault that ranks are for
  }

  void eachLineHasItsOwnRange() {
    const std::vector<float> values{1, 2, 3, 100, 200, 300};
    const ColourScales own = scalesFor(Quantity::KNorm, values, 2, chosenScale(Curve::Linear, Range::Line));
    QCOMPARE(own.lines.size(), std::size_t{2});
    const std::vector<std::uint8_t> indices = own.indices(values);
    QCOMPARE(indices[0], indices[3]);
    QCOMPARE(indices[2], std::uint8_t{255});
    const std::vector<std::uint8_t> shared =
        scalesFor(Quantity::KNorm, values, 2, chosenScale(Curve::Linear)).indices(values);
    QVERIFY(shared[2] < shared[3]);
  }

  void aFixedRangeStays() {
    ScaleChoice choice = chosenScale(Curve::Linear, Range::Fixed);
    choice.low = 2, choice.high = 4;
    const ColourScale scale = scaleFor(Quantity::Attention, std::vector<float>{0, 900}, choice);
    QCOMPARE(scale.index(1), kFirstColour);
    QCOMPARE(scale.index(900), std::uint8_t{255});
    QCOMPARE(scale.unit(3), 0.5f);
  }

  /// The first tokens stretch no range, and keep a colour.
  void sinksDoNotSetTheRange() {
    const std::vector<float> values{9, 0, 0, 0, 0.1f, 0.2f, 9, 0, 0, 0, 0.3f, 0.4f};
    ScaleChoice choice = chosenScale(Curve::Linear);
    QCOMPARE(scalesFor(Quantity::Attention, values, 2, choice).first().high, 9.0f);
    choice.sinks = false;
    const ColourScales scales = scalesFor(Quantity::Attention, values, 2, choice);
    QCOMPARE(scales.first().high, 0.4f);
    QCOMPARE(scales.first().index(9), std::uint8_t{255});
    QCOMPARE(scalesFor(Quantity::Attention, std::vector<float>{9, 8}, 1, choice).first().index(8), std::uint8_t{255});
  }

  /// Names have colours of their own, whatever the choice.
  void namesHaveNoCurve() {
    for (const Quantity quantity : {Quantity::Residency, Quantity::Staleness})
      QCOMPARE(scaleFor(quantity, std::vector<float>{0, 1}, chosenScale(Curve::Rank, Range::Line)),
               scaleFor(quantity, std::vector<float>{0, 1}));
  }

  /// A cell without a value is gone if its layer lacks the row; else nobody has measured it.
  void goneAndNotMeasuredAreTwoThings() {
    const FakeContext context;
    const Snapshot& s = *context.snapshot();
    std::vector<CacheLayer> layers;
    for (int layer = 0; layer < static_cast<int>(s.layers.size()); ++layer) layers.emplace_back(layer);
    const std::vector<float> values(layers.size() * s.context.size(), kNone);
    const MatrixColours colours = matrixColours(Quantity::Attention, values, s, layers, {});
    QVERIFY(colours.gone && colours.unmeasured);
    for (const CacheLayer layer : layers) {
      const std::vector<LedgerId> there(s.layers[kvlab::at(layer)]->ledger.begin() + s.layers[kvlab::at(layer)]->first,
                                        s.layers[kvlab::at(layer)]->ledger.end());
      for (int p = 0; p < s.length(); ++p) {
        const bool held = std::find(there.begin(), there.end(), s.context[kvlab::at(p)]) != there.end();
        QCOMPARE(colours.cells.at(layer.value(), p), held ? kUnmeasured : kGone);
      }
    }
  }

  /// The menu and the legend show the settings of a script; a click writes the script line.
  void theMenuAndScriptsSetTheSame() {
    FakeContext context;
    context.setQuantity(Quantity::Attention);
    MapView view(context, nullptr);
    view.setObjectName("map");
    view.resize(1180, 420);
    view.show();
    QVERIFY(QTest::qWaitForWindowExposed(&view) && golden::settle(view));
    const auto legend = [&] { return view.findChild<LegendBar*>()->accessibleDescription(); };
    const auto action = [&](const QString& text) {
      auto* button = view.findChild<ScaleMenu*>()->parent();
      QMenu* menu = qobject_cast<QToolButton*>(button)->menu();
      Q_EMIT menu->aboutToShow();
      const QList<QAction*> all = menu->actions();
      return *std::find_if(all.begin(), all.end(), [&](QAction* one) { return one->text().startsWith(text); });
    };
    QVERIFY(view.setOption("scale", "linear") && view.setOption("range", "line") && view.setOption("sinks", false));
    QVERIFY(golden::settle(view));
    QVERIFY2(legend().endsWith("linear, each line by itself, without the first 4 tokens"), qPrintable(legend()));
    QVERIFY(action("Linear")->isChecked() && action("A range for each layer")->isChecked());
    QVERIFY(action("Without the first")->isChecked());
    const QString dump = view.dump();
    QSignalSpy said(&context, &InspectorContext::scripted);
    action("By rank")->trigger();
    QCOMPARE(said.last().at(0).toString(), QString("view.set(\"map\", {scale: \"rank\"})"));
    QVERIFY(golden::settle(view));
    QVERIFY(view.dump() != dump);
    QVERIFY(view.setOption("range", {0.25, 0.5}) && golden::settle(view));
    QCOMPARE(view.options()["range"], nlohmann::json({0.25, 0.5}));
    QVERIFY(action("Keep 0.2500 to 0.5000")->isChecked());
    for (const nlohmann::json& bad : nlohmann::json::parse(R"([[2, 1], [1], "layer", 3, null, [0, 1, 2], ["a", "b"]])"))
      QVERIFY2(!view.setOption("range", bad), bad.dump().c_str());
    QVERIFY(!view.setOption("scale", "exp") && !view.setOption("sinks", 1));
    context.setQuantity(Quantity::KNorm);  // another quantity has a choice of its own
    QCOMPARE(view.options()["scale"], nlohmann::json("usual"));
  }
};

KV_TEST(ScaleTest)
#include "scale_test.moc"
