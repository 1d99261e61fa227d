// SPDX-License-Identifier: GPL-3.0-or-later
// The plain values behind the painting: axis, pyramid, scales and colour maps.
#include <random>

#include "support/runner.h"
#include "widgets/canvas/axis_map.h"
#include "widgets/canvas/colour_map.h"
#include "widgets/canvas/max_pyramid.h"

using namespace kvlab;

class PaintingTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void axisMapsBackAndForth() {
    AxisMap axis;
    axis.resize(1000, 500);
    QCOMPARE(axis.scale, 0.5);
    axis.zoom(250, 8);
    for (double item : {460.0, 500.0, 531.5}) QVERIFY(qFuzzyCompare(axis.item(axis.pixel(item)), item));
    QCOMPARE(axis.at(-1), static_cast<int>(std::floor(axis.item(-1))));
    QCOMPARE(axis.at(501), -1);
  }
  void axisKeepsTheItemUnderTheCursor() {
    AxisMap axis;
    axis.resize(1000, 500);
    axis.zoom(300, 4);
    QVERIFY(std::abs(axis.item(300) - 600) < 1e-9);
    axis.zoom(300, 1e-9);
    QVERIFY(axis.fitted);
    QCOMPARE(axis.first, 0.0);
  }
  void axisStaysInside() {
    AxisMap axis;
    axis.resize(100, 500);
    axis.zoom(0, 4);
    axis.pan(1e6);
    QCOMPARE(axis.first, 0.0);
    axis.pan(-1e6);
    QCOMPARE(axis.first + axis.visible(), 100.0);
    axis.resize(101, 500);
    QCOMPARE(axis.first + axis.visible(), 101.0);
    axis.reveal(3);
    QCOMPARE(axis.first, 3.0);
  }

  void pyramidFindsTheOneBadRow() {
    MaxPyramid pyramid;
    std::vector<std::uint8_t> flat(200000, 10);
    flat[100000 + 77777] = 200;
    pyramid.assign(2, 100000, flat);
    std::vector<std::uint8_t> line(300);
    pyramid.line(1, 0, 300.0 / 100000, line);
    QCOMPARE(static_cast<int>(std::count(line.begin(), line.end(), 200)), 1);
    pyramid.line(0, 0, 300.0 / 100000, line);
    QCOMPARE(static_cast<int>(std::count(line.begin(), line.end(), 10)), 300);
  }
  /// Against a plain loop.
  void pyramidEqualsALoop() {
    std::mt19937 random(7);
    for (int round = 0; round < 100; ++round) {
      const int positions = static_cast<int>(random() % (round % 8 ? 700u : 40000u)) + 1;
      std::vector<std::uint8_t> plain(3 * static_cast<std::size_t>(positions));
      for (auto& index : plain) index = static_cast<std::uint8_t>(random() % 256);
      MaxPyramid pyramid;
      pyramid.assign(3, positions, plain);
      for (int check = 0; check < 20; ++check) {
        const int layer = static_cast<int>(random() % 3);
        const int from = static_cast<int>(random() % static_cast<unsigned>(positions));
        const int to = from + 1 + static_cast<int>(random() % static_cast<unsigned>(positions - from));
        const auto row = plain.begin() + layer * positions;
        QCOMPARE(pyramid.maxOf(layer, from, to), *std::max_element(row + from, row + to));
        QCOMPARE(pyramid.at(layer, from), row[from]);
      }
    }
  }
  void blitHatchesMissingCells() {
    MaxPyramid pyramid;
    pyramid.assign(1, 3, {kGone, 9, kUnmeasured});
    MaxPyramid::Look look;
    look.ground = 0xff000001, look.colours[9] = 0xff000003;
    look.colours[kGone] = 0xff000002, look.colours[kUnmeasured] = 0xff000004;
    QImage image(42, 10, QImage::Format_RGB32);
    pyramid.blit(image, 0, 12, std::vector<int>{0, 10}, look);
    QCOMPARE(image.pixel(0, 0), 0xff000002);
    QCOMPARE(image.pixel(1, 0), 0xff000001);
    QCOMPARE(image.pixel(13, 3), 0xff000003);
    QCOMPARE(image.pixel(5, 1), 0xff000002);   // lines from corner to corner
    QCOMPARE(image.pixel(24, 0), 0xff000004);  // dots
    QCOMPARE(image.pixel(29, 1), 0xff000001);
    QCOMPARE(image.pixel(38, 3), 0xff000001);  // behind the last position
  }

  void scalesAreMonotonic_data() {
    QTest::addColumn<int>("quantity");
    for (int q = 0; q < kQuantities; ++q) QTest::newRow(std::string(name(static_cast<Quantity>(q))).c_str()) << q;
  }
  void scalesAreMonotonic() {
    QFETCH(int, quantity);
    const auto q = static_cast<Quantity>(quantity);
    std::vector<float> values;
    for (int i = 0; i <= 1000; ++i) values.push_back(static_cast<float>(i) * 0.0043f);
    values.push_back(NAN);
    const ColourScale scale = scaleFor(q, values);
    std::vector<std::uint8_t> indices(values.size());
    scale.quantise(values, indices);
    for (std::size_t i = 0; i < values.size(); ++i) QCOMPARE(indices[i], scale.index(values[i]));
    for (std::size_t i = 1; i < 1001; ++i)
      QVERIFY(q == Quantity::Residency ? indices[i] <= indices[i - 1] : indices[i] >= indices[i - 1]);
    QCOMPARE(indices.back(), MaxPyramid::kNone);
    QVERIFY(indices[0] != MaxPyramid::kNone);
  }
  /// A fade of a few units is seen, and nothing brighter than the data is claimed.
  void brightnessFillsItsScale() {
    const auto scaleOf = [](std::vector<float> values) {
      return scaleFor(Quantity::Brightness, values, {.curve = ScaleChoice::Curve::Linear});
    };
    const auto low = [&](std::vector<float> values) { return scaleOf(std::move(values)).low; };
    QCOMPARE(low({}), 0.0f);
    QCOMPARE(low({NAN, NAN}), 0.0f);
    QCOMPARE(low({255, 255}), 247.0f);
    QCOMPARE(low({255, 253}), 247.0f);
    QCOMPARE(low({255, 243, NAN, INFINITY}), 240.0f);
    QCOMPARE(low({3, 255}), 0.0f);
    QCOMPARE(scaleOf({3, 90}).high, 255.0f);
    QCOMPARE(scaleOf({3, 400}).high, 400.0f);
    const ColourScale scale = scaleOf({255, 253});
    QVERIFY(scale.index(255) - scale.index(253) > 40);
  }
  /// Thousands of rows share the attention of a few ticks: their brightness differs by hundredths, and is seen by rank.
  void hundredthsOfBrightnessAreSeen() {
    std::vector<float> values(2000, 247.0f);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += 0.00002f * static_cast<float>(i);
    values.back() = 255;
    const ColourScale scale = scaleFor(Quantity::Brightness, values);
    QVERIFY(scale.index(values[1998]) - scale.index(values[0]) > 200);
    QCOMPARE(scaleFor(Quantity::Brightness, std::vector<float>{255, 255}).low, 247.0f);
  }
  /// The fast pass over many values against the plain one.
  void scalesIgnoreWhatIsNoNumber() {
    std::vector<float> values(1000, NAN);
    values[777] = 5, values[13] = 2, values[999] = INFINITY, values[998] = 7;
    const ColourScale scale = scaleFor(Quantity::KNorm, values);
    QCOMPARE(scale.low, 2.0f);
    QCOMPARE(scale.high, 7.0f);
  }
  /// Sequential maps grow lighter all the way, so that they read without colour too.
  void mapsGrowLighter_data() {
    QTest::addColumn<int>("kind");
    QTest::newRow("viridis") << static_cast<int>(MapKind::Viridis);
    QTest::newRow("cividis") << static_cast<int>(MapKind::Cividis);
    QTest::newRow("inferno") << static_cast<int>(MapKind::Inferno);
  }
  void mapsGrowLighter() {
    QFETCH(int, kind);
    const ColourTable table = colourTable(static_cast<MapKind>(kind), Theme::named("dark"));
    double last = -1;
    for (std::size_t i = kFirstColour; i < table.size(); i += 6) {
      const double light = 0.2126 * std::pow(qRed(table[i]) / 255.0, 2.2) +
          0.7152 * std::pow(qGreen(table[i]) / 255.0, 2.2) + 0.0722 * std::pow(qBlue(table[i]) / 255.0, 2.2);
      QVERIFY2(light > last, qPrintable(QString::number(i)));
      last = light;
    }
  }
  /// Text tiers keep a contrast of 4.5 to 1 on the surface (3 to 1 for the faintest).
  void textIsReadable() {
    const auto luminance = [](const QColor& c) {
      const auto linear = [](double v) { return v <= 0.03928 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4); };
      return 0.2126 * linear(c.redF()) + 0.7152 * linear(c.greenF()) + 0.0722 * linear(c.blueF());
    };
    for (const char* name : {"dark", "light"}) {
      const Theme t = Theme::named(name);
      const auto contrast = [&](const QColor& a, const QColor& b) {
        const double x = luminance(a), y = luminance(b);
        return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
      };
      for (const QColor& back : {t.surface, t.raised, t.window})
        for (const QColor& text : {t.text, t.muted, t.accent, t.warning, t.error, t.ok})
          QVERIFY2(
              contrast(text, back) >= 4.3,
              qPrintable(QString("%1: %2 on %3 is %4").arg(name, text.name(), back.name()).arg(contrast(text, back))));
      QVERIFY2(contrast(t.faint, t.surface) >= 3, name);
      QVERIFY2(contrast(t.ghost, t.surface) >= 2.7, name);
    }
  }
};

KV_TEST(PaintingTest)
#include "painting_test.moc"
