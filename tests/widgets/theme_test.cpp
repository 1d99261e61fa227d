// SPDX-License-Identifier: GPL-3.0-or-later
// The colours of both themes: every text can be read on its background (WCAG 2.1, level AA: 4.5 to
// 1 for text of this size); fonts of labels outlive a change of theme.
#include <QLabel>
#include <algorithm>
#include <cmath>

#include "support/runner.h"
#include "widgets/base/elided_label.h"
#include "widgets/base/strip_layout.h"
#include "widgets/base/theme.h"
#include "widgets/canvas/sharp_plot.h"

using namespace kvlab;

class ThemeTest : public QObject {
  Q_OBJECT

  static double luminance(const QColor& colour) {
    const auto linear = [](double c) { return c <= 0.03928 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); };
    return 0.2126 * linear(colour.redF()) + 0.7152 * linear(colour.greenF()) + 0.0722 * linear(colour.blueF());
  }
  static double contrast(const QColor& a, const QColor& b) {
    const double x = luminance(a), y = luminance(b);
    return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
  }

 private Q_SLOTS:
  void textCanBeRead_data() {
    QTest::addColumn<QString>("theme");
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("ground");
    QTest::addColumn<QColor>("front");
    QTest::addColumn<QColor>("back");
    for (const char* name : {"dark", "light"}) {
      const Theme t = Theme::named(name);
      const std::pair<const char*, QColor> texts[] = {{"text", t.text},   {"muted", t.muted},   {"faint", t.faint},
                                                      {"ghost", t.ghost}, {"accent", t.accent}, {"warning", t.warning},
                                                      {"error", t.error}, {"ok", t.ok}};
      const std::pair<const char*, QColor> grounds[] = {
          {"surface", t.surface}, {"raised", t.raised}, {"selection", t.selection}};
      for (const auto& [text, front] : texts)
        for (const auto& [ground, back] : grounds) {
          const bool raisedByTables =
              ground == std::string("selection") && (text == std::string("faint") || text == std::string("ghost"));
          if (!raisedByTables)
            QTest::addRow("%s %s on %s", name, text, ground) << name << text << ground << front << back;
        }
    }
  }
  void textCanBeRead() {
    QFETCH(QColor, front);
    QFETCH(QColor, back);
    QVERIFY2(contrast(front, back) >= 4.5, qPrintable(QString("%1 to 1").arg(contrast(front, back), 0, 'f', 2)));
  }
  void labelsKeepTheirFonts() {
    Theme::apply(*qApp, "dark");
    QWidget card;
    card.setObjectName("card");
    QLabel title("title", &card);
    title.setObjectName("cardTitle");
    title.setFont(Theme::current()->strong);
    card.setAttribute(Qt::WA_DontShowOnScreen);
    card.show();
    for (const char* name : {"light", "dark", "light"}) {
      Theme::apply(*qApp, name);
      QCOMPARE(title.font().weight(), QFont::DemiBold);
      QCOMPARE(title.palette().color(QPalette::WindowText), Theme::current()->text);
    }
  }
  /// Rendered at twice the scale, a plot draws its ground itself.
  void plotsTakeTheNewGround() {
    struct Holder : QWidget {
      SharpPlot plot{this};
      bool event(QEvent* event) override {
        if (event->type() == QEvent::PaletteChange) followTheme(plot);
        return QWidget::event(event);
      }
    } holder;
    Theme::apply(*qApp, "dark");
    holder.plot.resize(200, 100);
    holder.setAttribute(Qt::WA_DontShowOnScreen);
    holder.show();
    for (const char* name : {"light", "dark", "light"}) {
      Theme::apply(*qApp, name);
      QImage picture(400, 200, QImage::Format_RGB32);
      picture.setDevicePixelRatio(2);
      holder.plot.render(&picture);
      QCOMPARE(picture.pixelColor(396, 4), Theme::current()->surface);
    }
  }
  /// A strip breaks into lines where it is narrow: nothing is cut off, nothing overlaps.
  void stripsBreakIntoLines() {
    QWidget holder;
    auto* strip = new StripLayout(34, &holder);
    strip->setSpacing(8);
    QList<QWidget*> items;
    for (const int wide : {90, 60, 120, 70}) {
      items << new QWidget(&holder);
      items.last()->setFixedSize(wide, 20);
    }
    strip->addWidget(items[0]);
    strip->addWidget(items[1]);
    strip->addStretch();
    strip->addWidget(items[2]);
    strip->addWidget(items[3]);
    for (const int width : {600, 380, 300, 170, 120}) {
      holder.resize(width, strip->heightForWidth(width));
      strip->setGeometry(holder.rect());
      for (const QWidget* one : items) {
        QVERIFY2(holder.rect().contains(one->geometry()), qPrintable(QString::number(width)));
        for (const QWidget* other : items) QVERIFY(one == other || !one->geometry().intersects(other->geometry()));
      }
    }
    QCOMPARE(strip->heightForWidth(600), 34);
    QCOMPARE(strip->heightForWidth(300), 68);
    strip->setGeometry(QRect(0, 0, 600, 34));
    QCOMPARE(items[3]->geometry().right(), 599);  // the item after the stretch stands at the end
  }
  void labelsElide() {
    ElidedLabel label("a rather long line of text that has no room");
    label.resize(90, 20);
    QVERIFY(label.elided());
    QVERIFY(label.minimumSizeHint().width() < 90);
    label.resize(900, 20);
    QVERIFY(!label.elided());
    QCOMPARE(label.text(), QString("a rather long line of text that has no room"));
  }
};

KV_TEST(ThemeTest)
#include "theme_test.moc"
