// SPDX-License-Identifier: GPL-3.0-or-later
// Pictures of views as SVG and PDF: texts are texts, shapes are shapes, and nothing reaches beyond its clip.
#include <QAbstractButton>
#include <QAbstractSpinBox>
#include <QComboBox>
#include <QLabel>
#include <QRegularExpression>
#include <QScrollArea>
#include <QScrollBar>
#include <QXmlStreamReader>

#include "filled_views.h"
#include "support/runner.h"
#include "widgets/base/picture_file.h"
#include "widgets/canvas/figure_cells.h"
#include "widgets/canvas/matrix_canvas.h"

using namespace kvlab;

namespace {

struct SvgFacts {
  QString error;
  QSize size;
  QStringList texts, cutTexts;  // cut: by a clip
  int shapes = 0;
  std::vector<QRectF> images;
};

SvgFacts factsOf(const QByteArray& svg) {
  SvgFacts out;
  QXmlStreamReader in(svg);
  bool defs = false, cut = false;
  while (!in.atEnd()) {
    const QXmlStreamReader::TokenType token = in.readNext();
    if (in.name() == QLatin1String("defs")) defs = token == QXmlStreamReader::StartElement;
    if (token != QXmlStreamReader::StartElement) continue;
    const auto number = [&](const char* name) { return in.attributes().value(QLatin1String(name)).toDouble(); };
    if (in.name() == QLatin1String("g")) cut = in.attributes().hasAttribute("clip-path");
    if (in.name() == QLatin1String("svg")) out.size = QSizeF(number("width"), number("height")).toSize();
    else if (in.name() == QLatin1String("text")) {
      out.texts << in.readElementText();
      if (std::exchange(cut, false)) out.cutTexts << out.texts.back();
    } else if (in.name() == QLatin1String("path") && !defs) ++out.shapes;
    else if (in.name() == QLatin1String("image") && !defs)
      out.images.emplace_back(number("x"), number("y"), number("width"), number("height"));
  }
  out.error = in.errorString();
  return out;
}

QByteArray fileOf(const char* name, QWidget& widget) {
  const Result<PictureFile> made = pictureFile(QString::fromLatin1(name), widget, 1);
  return made ? made->bytes : QByteArray();
}

QString withoutSpaces(QString text) { return text.remove(QRegularExpression("\\s")); }

/// Words of labels and buttons that a picture shows whole.
QStringList wordsOf(const QWidget& view) {
  QStringList out;
  const auto add = [&](const QWidget& widget, const QString& text, Qt::TextFormat format = Qt::PlainText) {
    bool whole = widget.isVisibleTo(&view) && format != Qt::RichText &&
        widget.fontMetrics().horizontalAdvance(text) <= widget.contentsRect().width();
    for (const QWidget* around = widget.parentWidget(); whole && around; around = around->parentWidget()) {
      whole = around->rect().contains(QRect(widget.mapTo(around, QPoint()), widget.size()));
      if (around == &view) break;
    }
    if (!whole) return;
    for (const QString& word : text.split(QRegularExpression("[\\s&]+"), Qt::SkipEmptyParts)) out << word;
  };
  for (const auto* label : view.findChildren<QLabel*>()) add(*label, label->text(), label->textFormat());
  for (const auto* button : view.findChildren<QAbstractButton*>()) add(*button, button->text());
  return out;
}

/// Two lines over so many items, all but one of the same colour.
class Wide : public MatrixCanvas {
 public:
  Wide(InspectorContext& context, int items) : MatrixCanvas(context, nullptr), m_items(items) {
    std::vector<std::uint8_t> indices(2 * at(items), kFirstColour);
    indices[at(items / 3)] = 255;
    m_values.assign(2, items, std::move(indices));
    resize(600, 200);
    changed();
  }
  QString readout() const override { return "nothing"; }

 protected:
  MatrixShape shape() const override { return {.overview = true}; }
  Cells cells(const Theme& theme) const override { return {&m_values, colourTable(Quantity::Brightness, theme)}; }
  int lines() const override { return 2; }
  int items() const override { return m_items; }
  QString lineName(int line) const override { return QString("line%1").arg(line); }

 private:
  int m_items;
  MaxPyramid m_values;
};

}  // namespace

class FiguresTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void everyView_data() {
    QTest::addColumn<QString>("id");
    QTest::addColumn<bool>("empty");
    for (const ViewInfo& info : views()) {
      QTest::addRow("%s", info.id) << info.id << false;
      QTest::addRow("%s_empty", info.id) << info.id << true;
    }
  }
  void everyView() {
    QFETCH(QString, id);
    QFETCH(bool, empty);
    Theme::apply(*qApp, "light");
    const auto context = empty ? std::make_unique<FakeContext>(FakeContext::Nothing{})
                               : std::make_unique<FakeContext>(golden::optionsFor(id));
    context->measured = true;
    const auto view = golden::show(id, *context);
    view->arrange(golden::sizeOf(*findView(id)));
    keep(id + (empty ? "_empty" : ""), *view);

    const QByteArray svg = fileOf("a.svg", *view);
    const SvgFacts facts = factsOf(svg);
    QCOMPARE(facts.error, QString());
    QCOMPARE(facts.size, view->size());
    QVERIFY(facts.shapes > 0);
    QVERIFY2(facts.texts.size() > (empty ? 0 : 3), qPrintable(facts.texts.join('|')));
    for (const QRectF& image : facts.images) QVERIFY2(isControl(image, *view), qPrintable(toString(image)));
    const QString all = withoutSpaces(facts.texts.join(QString()));
    for (const QString& word : wordsOf(*view))
      QVERIFY2(all.contains(word), qPrintable(word + " is not among " + facts.texts.join('|')));
    QCOMPARE(fileOf("a.svg", *view), svg);

    const QByteArray pdf = fileOf("a.pdf", *view);
    QVERIFY(pdf.startsWith("%PDF"));
    QVERIFY(pdf.contains("/FontFile") && pdf.contains("/ToUnicode"));
    const QRegularExpression box(
        QString("MediaBox \\[0 0 %1(\\.0+)? %2(\\.0+)?\\]").arg(view->width()).arg(view->height()));
    QVERIFY(QString::fromLatin1(pdf).contains(box));
  }

  void theSuffixNamesTheForm() {
    QLabel label("some words");
    label.resize(200, 40);
    QCOMPARE(pictureFile("a.png", label, 2)->size, QSize(400, 80));
    QVERIFY(QImage::fromData(fileOf("a.PNG", label), "PNG").size() == QSize(200, 40));
    QCOMPARE(pictureFile("a.svg", label, 2)->size, QSize(200, 40));
    for (const char* name : {"a.jpeg", "a", "svg", "a.svg.gz"}) {
      const Result<PictureFile> refused = pictureFile(name, label, 1);
      QVERIFY2(!refused, name);
      QCOMPARE(refused.error().code, std::string("bad_argument"));
      for (const char* form : {".png", ".svg", ".pdf"}) QVERIFY(refused.error().remedy.find(form) != std::string::npos);
    }
  }

  /// Words in sight, a line that an edge cuts, and lines out of sight.
  void nothingReachesBeyondItsClip() {
    QScrollArea area;
    QLabel many;
    QStringList lines;
    for (int i = 0; i < 40; ++i) lines << QString("line%1").arg(i);
    many.setText(lines.join('\n'));
    area.setWidget(&many);
    area.resize(160, 100);
    area.show();
    area.verticalScrollBar()->setValue(many.fontMetrics().lineSpacing() * 3 / 2);
    const SvgFacts facts = factsOf(fileOf("a.svg", area));
    QVERIFY(!facts.texts.contains("line0") && facts.texts.contains("line1") && facts.texts.contains("line2"));
    QVERIFY(!facts.texts.contains("line39"));
    QVERIFY2(facts.cutTexts.contains("line1") && !facts.cutTexts.contains("line2"),
             qPrintable(facts.cutTexts.join('|')));
    area.takeWidget();
  }

  /// Marks of XML, characters that it does not have, and letters that a second font has.
  void anyText() {
    QLabel label(QString::fromUtf8("a<b> & \"c\" \xd0\x96 \xe2\x9c\x95 x") + QChar(0x1) + QChar(0xd800) + 'y');
    label.setTextFormat(Qt::PlainText);
    label.resize(400, 40);
    const SvgFacts facts = factsOf(fileOf("a.svg", label));
    QCOMPARE(facts.error, QString());
    const QString all = facts.texts.join(QString());
    QVERIFY2(all.contains("a<b> & \"c\"") && all.contains(QChar(0x2715)), qPrintable(all));
    QCOMPARE(all.count('y'), 1);
  }

  /// The shapes have the pixels of the image that the window shows.
  void cellsAreThoseOfTheImage() {
    const auto theme = Theme::current();
    const ColourTable colours = colourTable(Quantity::Brightness, *theme);
    const int layers = 3, positions = 20, scale = 4, tall = 10;
    std::vector<std::uint8_t> indices;
    for (int i = 0; i < layers * positions; ++i)
      indices.push_back(static_cast<std::uint8_t>(kFirstColour + i * i % 250));
    MaxPyramid values;
    values.assign(layers, positions, indices);
    QImage image(positions * scale, layers * tall, QImage::Format_RGB32), shapes = image;
    values.blit(image, 2, scale, std::array{0, tall, 2 * tall, 3 * tall}, {colours, theme->surface.rgb()});
    shapes.fill(theme->surface);
    const CellPlaces places{QRectF(image.rect()), 2, scale, {0, tall, 2 * tall, 3 * tall}};
    QPainter painter(&shapes);
    paintCellShapes(painter, values, places, colours, *theme);
    painter.end();
    QCOMPARE(shapes, image);
    QCOMPARE(cellsInSight(values, places), std::int64_t{layers * (positions - 2)});
  }

  /// A matrix with very many cells in sight has one image, of its cells alone.
  void manyCellsAreAnImage() {
    FakeContext context;
    for (const int items : {1000, 60'000}) {
      Wide canvas(context, items);
      const SvgFacts facts = factsOf(fileOf("a.svg", canvas));
      QCOMPARE(facts.error, QString());
      QCOMPARE(facts.images.size(), std::size_t(items > 50'000));
      for (const QRectF& image : facts.images) QVERIFY(image.width() > 500 && image.height() < 180);
      QVERIFY2(facts.texts.contains("line1") && facts.texts.contains("layer"), qPrintable(facts.texts.join('|')));
    }
  }

  /// One bad row among thousands stays in sight.
  void aSingleCellIsSeen() {
    const auto theme = Theme::current();
    ColourTable colours{};
    colours.fill(qRgb(0, 0, 0));
    colours[255] = qRgb(255, 0, 0);
    std::vector<std::uint8_t> indices(5000, kFirstColour);
    indices[2345] = 255;
    MaxPyramid values;
    values.assign(1, 5000, indices);
    QImage image(500, 10, QImage::Format_RGB32);
    image.fill(Qt::black);
    QPainter painter(&image);
    paintCellShapes(painter, values, {QRectF(image.rect()), 0, 0.1, {0, 10}}, colours, *theme);
    painter.end();
    int red = 0;
    for (int x = 0; x < image.width(); ++x) red += image.pixel(x, 5) == qRgb(255, 0, 0);
    QCOMPARE(red, 1);
  }

 private:
  /// An icon, or what the style paints of a button, a choice or a number to type.
  static bool isControl(const QRectF& image, const QWidget& view) {
    constexpr double kIcon = 24;
    if (std::max(image.width(), image.height()) <= kIcon) return true;
    for (const QWidget* child : view.findChildren<QWidget*>())
      if (qobject_cast<const QAbstractButton*>(child) || qobject_cast<const QComboBox*>(child) ||
          qobject_cast<const QAbstractSpinBox*>(child))
        if (QRectF(child->mapTo(&view, QPoint()), child->size()).adjusted(-1, -1, 1, 1).contains(image)) return true;
    return false;
  }
  static QString toString(const QRectF& box) {
    return QString("an image of %1x%2 at (%3, %4)").arg(box.width()).arg(box.height()).arg(box.x()).arg(box.y());
  }
  /// KV_FIGURES names a folder to look at the pictures in.
  static void keep(const QString& name, QWidget& view) {
    const QString folder = qEnvironmentVariable("KV_FIGURES");
    if (folder.isEmpty()) return;
    for (const char* form : {".png", ".svg", ".pdf"})
      QVERIFY(savePicture(folder + '/' + name + form, *pictureFile(form, view, 2)));
  }
};

KV_TEST(FiguresTest)
#include "figures_test.moc"
