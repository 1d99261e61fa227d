// SPDX-License-Identifier: Apache-2.0
// Reports of explanations: a page that is whole, escaped and without scripts, and maps whose cells are the figures.
#include <QRegularExpression>
#include <QXmlStreamReader>
#include <cmath>
#include <limits>

#include "core/explain/html_report.h"
#include "core/explain/left_map.h"
#include "support/runner.h"

using namespace kvlab;

namespace {
constexpr float kNoFigure = std::numeric_limits<float>::quiet_NaN();

/// Two layers of two heads; keys of layer 5 have figures of every class.
Explanation mixed() {
  Explanation out;
  out.outcome = ExplainOutcome::Unexplained;
  out.verdict = "keys of <layer 5> & more are left";
  out.importer = "arrays", out.keyType = out.valueType = "f16", out.heads = 2, out.headDim = 4;
  for (int id = 100; id < 108; ++id) out.ids.emplace_back(id);
  out.causes = {{"head_order", {{"order", {1, 0}}}, "KV heads stand in the order 1, 0", 1.4}};
  out.rivals = {{{}, {1.4, 1.4, 1.5, 1.5, 1}}};
  out.notes = {"a \"note\""};
  out.begins = ExplainedPlace{Side::Keys, 5, 1, 3, 3, 0.3, 0.001};
  const std::vector<float> keys{0.0005f, 0.001f, 0.005f, 0.05f, 0.3f, 0.7f, 1.4f, kNoFigure};  // row 3 ends in no token
  for (const int number : {4, 5}) {
    ExplainedLayer layer;
    layer.layer = number, layer.own = number;
    layer.tokens = {0, 1, 2, number == 5 ? -1 : 3}, layer.positions = {0, 1, 2, 3};
    layer.values.assign(8, 0.0f), layer.keys = number == 5 ? keys : layer.values;
    layer.keyBounds.assign(8, 0.001f), layer.valueBounds.assign(8, 0.001f);
    out.layers.push_back(std::move(layer));
  }
  return out;
}

std::string pathOf(const std::string& map, std::string_view kind) {
  const QRegularExpression wanted(QStringLiteral("class=\"%1\" d=\"([^\"]*)\"")
                                      .arg(QLatin1String(kind.data(), static_cast<qsizetype>(kind.size()))));
  return wanted.match(QString::fromStdString(map)).captured(1).toStdString();
}

/// Names of all elements; empty where the text is no whole document.
QStringList elementsOf(const std::string& text, QString* all) {
  QXmlStreamReader reader(QByteArray::fromStdString(text));
  QStringList out;
  while (!reader.atEnd()) {
    reader.readNext();
    if (reader.isStartElement()) out << reader.name().toString();
    if (reader.isCharacters()) *all += reader.text();
  }
  if (reader.hasError()) qWarning("%s", qPrintable(reader.errorString()));
  return reader.hasError() ? QStringList() : out;
}
}  // namespace

class HtmlReportTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void aPageIsWholeAndEscaped();
  void cellsAreTheWorstHeadOfARow();
  void cellsAreTheWorstRowOfAHead();
  void aMapOfManyRowsStaysSmall();
  void nothingLeftIsAPage();
};

void HtmlReportTest::aPageIsWholeAndEscaped() {
  const std::string page = htmlReport(mixed(), {"<script>alert(1)</script>", "model & co", "9.8.7"});
  QString text;
  const QStringList elements = elementsOf(page, &text);
  QVERIFY(!elements.isEmpty());
  for (const char* forbidden : {"script", "img", "link", "iframe", "object"})
    QVERIFY(!elements.contains(QLatin1String(forbidden)));
  for (const char* said :
       {"keys of <layer 5> & more are left", "<script>alert(1)</script>", "model & co", "kvlab 9.8.7",
        "KV heads stand in the order 1, 0", "{\"order\":[1,0]}", "a \"note\"", "token 3"})
    QVERIFY2(text.contains(QLatin1String(said)), said);
  QVERIFY(!QString::fromStdString(page).contains(QRegularExpression("(src|href|url)\\W*http")));
  QCOMPARE(elements.count(QStringLiteral("figure")), 4);
  QVERIFY(page.find("<mark>103</mark>") != std::string::npos);
}

void HtmlReportTest::cellsAreTheWorstHeadOfARow() {
  const std::string keys = rowsMap(mixed(), Side::Keys);
  QCOMPARE(pathOf(keys, "fine"), std::string("M0 0h4v1h-4zM0 1h1v1h-1z"));
  QCOMPARE(pathOf(keys, "l2"), std::string("M1 1h1v1h-1z"));
  QCOMPARE(pathOf(keys, "l4"), std::string("M2 1h1v1h-1z"));
  QCOMPARE(pathOf(keys, "l5"), std::string("M3 1h1v1h-1z"));
  QVERIFY(keys.find("class=\"begin\"") != std::string::npos);
  const std::string values = rowsMap(mixed(), Side::Values);
  QCOMPARE(pathOf(values, "fine"), std::string("M0 0h4v1h-4zM0 1h4v1h-4z"));
  QVERIFY(values.find("class=\"begin\"") == std::string::npos);
}

void HtmlReportTest::cellsAreTheWorstRowOfAHead() {
  const std::string keys = headsMap(mixed(), Side::Keys);
  QCOMPARE(pathOf(keys, "fine"), std::string("M0 0h2v1h-2z"));
  QCOMPARE(pathOf(keys, "l5"), std::string("M0 1h1v1h-1z"));
  QCOMPARE(pathOf(keys, "l4"), std::string("M1 1h1v1h-1z"));
}

void HtmlReportTest::aMapOfManyRowsStaysSmall() {
  Explanation many = mixed();
  ExplainedLayer& layer = many.layers.back();
  const std::size_t rows = 100'000;
  layer.tokens.assign(rows, 0), layer.positions.assign(rows, 0);
  layer.keys.assign(2 * rows, 0.0f), layer.values = layer.keys;
  layer.keyBounds.assign(2 * rows, 0.001f), layer.valueBounds = layer.keyBounds;
  layer.keys[2 * 50'000] = 2;  // one row of many
  const std::string map = rowsMap(many, Side::Keys);
  QVERIFY(map.size() < 20'000);
  QCOMPARE(pathOf(map, "l5"), std::string("M510 1h1v1h-1z"));  // 98 rows in a column
}

void HtmlReportTest::nothingLeftIsAPage() {
  QString text;
  QVERIFY(!elementsOf(htmlReport(Explanation{}, {}), &text).isEmpty());
  QVERIFY(text.contains(QStringLiteral("None was found.")));
}

KV_TEST(HtmlReportTest)
#include "html_report_test.moc"
