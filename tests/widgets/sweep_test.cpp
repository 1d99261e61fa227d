// SPDX-License-Identifier: GPL-3.0-or-later
// The view of sweeps: its display of a file and of a running sweep, with filters, the pointer and the keyboard.
#include <QAbstractItemModelTester>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QTemporaryDir>
#include <QToolButton>
#include <map>
#include <set>

#include "fake_context.h"
#include "golden.h"
#include "support/runner.h"
#include "widgets/base/theme.h"
#include "widgets/base/view_registry.h"
#include "widgets/canvas/sharp_plot.h"
#include "widgets/views/sweep/sweep_view.h"

using namespace kvlab;

class SweepViewTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void init() {
    Theme::apply(*qApp, "dark");
    m_context = std::make_unique<FakeContext>();
    m_view = std::make_unique<SweepView>(*m_context, nullptr);
    m_view->resize(1180, 420);
    QVERIFY(golden::settle(*m_view));
  }
  void cleanup() {
    m_view.reset();
    m_context.reset();
  }

  void showsAFile() {
    QCOMPARE(m_view->plot().points().size(), std::size_t{21});
    QCOMPARE(m_view->table().model()->rowCount(), 42);
    QVERIFY(text().contains("84 cells, 1 failed"));
    QVERIFY(m_view->dump().startsWith("sweep: smartkv: 84 cells, 1 failed; recall-512, asked after\n"));
    QVERIFY(m_view->tsv().count('\n') >= 42);
  }
  void model() {
    SweepModel model(nullptr);
    QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
    std::vector<SweepRow> rows = fixture::sweep()->rows;
    std::vector<SweepRow> few(rows.begin(), rows.begin() + 10);
    model.show(few, {"full", "random"});
    model.show(rows, {"full", "random"});
    model.show({}, {});
    QCOMPARE(model.rowCount(), 0);
  }
  void filters() {
    auto* filter = m_view->findChild<QLineEdit*>();
    QTest::keyClicks(filter, "smart h2o");
    QCOMPARE(m_view->plot().points().size(), std::size_t{10});
    QCOMPARE(m_view->table().model()->rowCount(), 20);
    QTest::keyClick(filter, Qt::Key_Return);
    QVERIFY(m_view->setOption("filter", "nothing"));
    QCOMPARE(m_view->table().model()->rowCount(), 0);
    QVERIFY(m_view->setOption("filter", ""));
    QVERIFY(m_view->setOption("prompts", "recall-256"));
    QVERIFY(m_view->dump().contains("recall-256"));
    QVERIFY(!m_view->setOption("prompts", "frobnicate"));
    QVERIFY(!m_view->setOption("frobnicate", 1));
  }
  /// Series that a person cannot tell apart by colour have marks of other shapes.
  void marksDifferInShape() {
    auto* plot = m_view->plot().findChild<QCustomPlot*>();
    QVERIFY(plot);
    std::map<QString, int> shapes;
    for (int i = 0; i < plot->graphCount(); ++i)
      shapes[plot->graph(i)->name()] = plot->graph(i)->scatterStyle().shape();
    QVERIFY(shapes.size() > 3);
    std::set<int> different;
    for (const auto& [name, shape] : shapes) different.insert(shape);
    QCOMPARE(different.size(), std::min<std::size_t>(shapes.size(), 7));
  }
  void pointer() {
    const int point = 13;
    for (int panel : {0, 1}) {
      const QPointF at = m_view->plot().pointOf(point, panel);
      QVERIFY(!at.isNull());
      auto* plot = m_view->plot().findChild<QWidget*>();
      QMouseEvent move(QEvent::MouseMove, at, at, Qt::NoButton, Qt::NoButton, Qt::NoModifier);
      QApplication::sendEvent(plot, &move);
      const SweepPoint& marked = m_view->plot().points()[static_cast<std::size_t>(m_view->plot().marked())];
      const QPointF there = m_view->plot().pointOf(m_view->plot().marked(), panel);
      QVERIFY((there - at).manhattanLength() < 2);
      QVERIFY(readout().startsWith(QString::fromStdString(marked.series)));
      QVERIFY(readout().contains("% right"));
    }
  }
  void keyboard() {
    m_view->plot().setFocus();
    QTest::keyClick(&m_view->plot(), Qt::Key_Right);
    QCOMPARE(m_view->plot().marked(), 0);
    QTest::keyClick(&m_view->plot(), Qt::Key_End);
    QCOMPARE(m_view->plot().marked(), 20);
    QTest::keyClick(&m_view->plot(), Qt::Key_Return);
    const QString cell =
        m_view->table().currentIndex().siblingAtColumn(m_view->table().columnOf("series")).data().toString();
    QCOMPARE(cell.toStdString(), m_view->plot().points()[20].series);
  }
  void cellMarksItsPoint() {
    QTest::mouseClick(m_view->table().viewport(), Qt::LeftButton, {},
                      m_view->table().visualRect(m_view->table().model()->index(2, 0)).center());
    QVERIFY(m_view->plot().marked() >= 0);
    QVERIFY(readout().contains("random, budget 0.1"));
  }
  void runs() {
    SweepSource::of(*m_context).setSweep(fixture::sweep(true));
    QVERIFY(text().contains("30 of 84 cells"));
    QVERIFY(text().contains("1 min 15 s left"));
    auto none = std::make_shared<SweepShown>();
    none->name = "new";
    none->running = true;
    SweepSource::of(*m_context).setSweep(none);
    QVERIFY(m_view->ready());
    QCOMPARE(m_view->table().model()->rowCount(), 0);
  }
  void asksForFiles() {
    for (QToolButton* button : m_view->findChildren<QToolButton*>())
      if (button->text() == "Open…" || button->text() == "Run…") button->click();
    QCOMPARE(m_context->commands.size(), std::size_t{2});
    QCOMPARE(m_context->commands[0].verb, std::string("open_sweep"));
    QCOMPARE(m_context->commands[1].verb, std::string("run_sweep"));
  }
  void exports() {
    QTemporaryDir folder;
    QVERIFY(m_view->exportSvg(folder.filePath("a.svg")));
    QFile file(folder.filePath("a.svg"));
    QVERIFY(file.open(QIODevice::ReadOnly));
    const QByteArray svg = file.readAll();
    QVERIFY(svg.startsWith("<svg") && svg.contains("smartkv") && svg.contains("recall-256"));
    QVERIFY(!m_view->exportSvg(folder.filePath("no/a.svg")));
  }

 private:
  QString text() const {
    QString all;
    for (const QLabel* label : m_view->findChildren<QLabel*>()) all += label->text() + '\n';
    return all;
  }
  QString readout() const {
    for (const QLabel* label : m_view->findChildren<QLabel*>())
      if (label->text().contains("budget ")) return label->text();
    return {};
  }
  std::unique_ptr<FakeContext> m_context;
  std::unique_ptr<SweepView> m_view;
};

KV_TEST(SweepViewTest)
#include "sweep_test.moc"
