// SPDX-License-Identifier: GPL-3.0-or-later
// The token strip as a transcript, with real clicks and keys: text as it is, one selection with all views; the list of
// colours in groups; what is not measured says what would measure it.
#include <QCheckBox>
#include <QLabel>
#include <QStandardItemModel>
#include <limits>
#include <set>

#include "open_view.h"
#include "support/runner.h"
#include "widgets/base/tokens.h"
#include "widgets/canvas/measured_by.h"
#include "widgets/views/map/map_view.h"
#include "widgets/views/strip/strip_view.h"

using namespace kvlab;

/// Tiles without a value.
class Unmeasured : public FakeContext {
 public:
  void fetch(const std::string&, const TileRequest& request, QObject* receiver, TileReply reply) override {
    auto tile = std::make_shared<Tile>();
    tile->request = request;
    tile->tick = snapshot()->tick;
    tile->layers = static_cast<int>(snapshot()->layers.size());
    tile->positions = snapshot()->length();
    tile->values.assign(at(tile->layers) * at(tile->positions), std::numeric_limits<float>::quiet_NaN());
    QMetaObject::invokeMethod(
        this,
        [tile, reply, guard = QPointer<QObject>(receiver)] {
          if (guard) reply(tile);
        },
        Qt::QueuedConnection);
  }
};

class StripTest : public QObject {
  Q_OBJECT

  /// Tokens of these texts; control: the special ones.
  static TokenLines linesOf(const QStringList& texts, int right, const std::set<int>& control = {}) {
    const QFontMetrics metrics(Theme::current()->ui);
    std::vector<ProseToken> tokens;
    for (int i = 0; i < texts.size(); ++i) tokens.push_back(proseToken(texts[i], control.contains(i), metrics));
    return proseLines(
        static_cast<int>(texts.size()), [&](int i) -> const ProseToken& { return tokens[at(i)]; }, 0, right);
  }
  static QList<int> lineNumbers(const TokenLines& lines) {
    QList<int> out;
    for (const TokenPlace& one : lines.places) out << one.line;
    return out;
  }

 private Q_SLOTS:
  void initTestCase() { Theme::apply(*qApp, "dark"); }

  void wordsStayWhole() {
    const QStringList texts{"The", " quick", " un", "believ", "able", " fox"};
    const QFontMetrics metrics(Theme::current()->ui);
    const int room = metrics.horizontalAdvance("The quick unbeliev") + 2;
    const TokenLines lines = linesOf(texts, room);
    QCOMPARE(lineNumbers(lines), (QList<int>{0, 0, 1, 1, 1, lines.places[5].line}));
    QCOMPARE(lines.places[2].x, -metrics.horizontalAdvance(' '));  // the space lies between the lines
    QCOMPARE(lines.places[3].x, lines.places[2].x + lines.places[2].width);
    QVERIFY(linesOf({"abc", "def", "ghi"}, metrics.horizontalAdvance("abcd")).first.size() == 3);  // no room for a word
  }
  void lineBreaksAreKept() {
    const TokenLines lines = linesOf({"one", "\n\n", "two", ".\n", "three"}, 1000);
    QCOMPARE(lineNumbers(lines), (QList<int>{0, 0, 2, 2, 3}));
    QCOMPARE(lines.first, (std::vector<std::int32_t>{0, 2, 2, 4}));
    // Turns of a chat whose template has no line break between them.
    QCOMPARE(lineNumbers(linesOf({"yes", "<eot>", "<start>", "user"}, 1000, {1, 2})), (QList<int>{0, 0, 1, 1}));
  }

  void transcriptIsTheText() {
    FakeContext context;
    const auto view = open<StripView>(context);
    const QString chips = view->dump();
    auto* box = named<QCheckBox>(*view, "Show as transcript");
    QVERIFY(box);
    QTest::mouseClick(box, Qt::LeftButton, {}, {6, box->height() / 2});
    QVERIFY(box->isChecked() && view->text().isTranscript());
    QCOMPARE(view->options()["transcript"], nlohmann::json(true));
    const Snapshot& s = *context.snapshot();
    QString raw;
    for (const LedgerId id : s.context) raw += rawText(s, id);
    QString shown;
    for (std::size_t i = 0; i < view->text().chips().size(); ++i)
      if (const Chip& chip = view->text().chips()[i]; chip.position >= 0) shown += rawText(s, chip.ledger);
    QCOMPARE(shown, raw);
    QVERIFY2(view->dump().contains(raw.left(12).trimmed()), qPrintable(view->dump()));
    QTest::mouseClick(box, Qt::LeftButton, {}, {6, box->height() / 2});
    QCOMPARE(view->dump(), chips);
  }

  /// A click in the transcript focuses the row of all views, and a focus from elsewhere is in sight here.
  void selectionGoesBothWays() {
    FakeContext context;
    const auto view = open<StripView>(context);
    QVERIFY(view->setOption("transcript", true));
    TokenText& text = view->text();
    const auto chipOf = [&](int position) {
      for (std::size_t i = 0; i < text.chips().size(); ++i)
        if (text.chips()[i].position == position) return static_cast<int>(i);
      return -1;
    };
    const auto click = [&](int position, Qt::KeyboardModifiers held = {}) {
      QTest::mouseClick(text.viewport(), Qt::LeftButton, held, text.chipRect(chipOf(position)).center());
    };
    click(5);
    QCOMPARE(context.focus().position, Position(5));
    click(8, Qt::ShiftModifier);
    QCOMPARE(context.selection().size(), std::size_t{4});
    QVERIFY(!text.selectedText().isEmpty());
    QTest::keyClick(&text, Qt::Key_Down);
    QVERIFY(context.focus().position > Position(8));
    QTest::keyClick(&text, Qt::Key_Home);
    const Position last(context.snapshot()->length() - 1);
    context.focusPosition(last);
    QVERIFY(text.viewport()->rect().intersects(text.chipRect(chipOf(last.value()))));
  }

  /// The map of values that nobody has measured says it below, whatever room its legend has.
  void aMapWithoutValuesSaysWhy() {
    Unmeasured context;
    MapView map(context, nullptr);
    context.setQuantity(Quantity::DriftV);
    QVERIFY(golden::settle(map));
    QCOMPARE(map.canvas().note(), QString("not measured: Measure Drift, Ctrl+D"));
    context.setQuantity(Quantity::KNorm);  // comes by itself
    QVERIFY(golden::settle(map));
    QCOMPARE(map.canvas().note(), QString());
  }

  void coloursStandInGroups() {
    FakeContext context;
    QuantityBox box(context, nullptr);
    std::set<int> found;
    int headings = 0;
    for (int i = 0; i < box.count(); ++i) {
      const bool heading = !(box.model()->flags(box.model()->index(i, 0)) & Qt::ItemIsEnabled);
      headings += heading;
      if (!heading) QVERIFY(found.insert(box.itemData(i).toInt()).second);
      QVERIFY(!box.itemText(i).isEmpty());
    }
    QCOMPARE(found.size(), std::size_t{kQuantities});
    QVERIFY(headings >= 5);
    box.show();
    for (int i = 0; i < 2 * kQuantities; ++i) QTest::keyClick(&box, Qt::Key_Down);  // past headings
    QVERIFY(box.itemData(box.currentIndex()).isValid());
    QCOMPARE(static_cast<int>(context.quantity()), box.currentData().toInt());
    QCOMPARE(box.currentIndex(), box.count() - 1);
    context.setQuantity(Quantity::Score);
    QCOMPARE(box.currentData().toInt(), static_cast<int>(Quantity::Score));
  }

  void unmeasuredSaysWhatMeasures() {
    const ColourLegend drift{scalesFor(Quantity::DriftV, {}, 0, {}), {}, false, true};
    QVERIFY2(legendText(drift).endsWith("; not measured: Measure Drift, Ctrl+D"), qPrintable(legendText(drift)));
    const ColourLegend known{scalesFor(Quantity::DriftV, {}, 0, {}), {}, true, false};
    QVERIFY(!legendText(known).contains("not measured"));
    FakeContext context;
    const Snapshot& s = *context.snapshot();
    const LedgerId newest = s.context[at(s.length() - 1)];
    QCOMPARE(noValueText(s, newest, {}, Quantity::DriftV, "drift of V"),
             QString("resident, drift of V not measured: Measure Drift, Ctrl+D"));
    QCOMPARE(noValueText(s, newest, {}, Quantity::Attention, "attention"), QString("resident, attention not known"));
  }
};

KV_TEST(StripTest)
#include "strip_test.moc"
