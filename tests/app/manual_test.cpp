// SPDX-License-Identifier: GPL-3.0-or-later
// Help > Manual: every page that index.md lists opens, every link leads somewhere, the search finds words, F1 opens the
// page of the view that has the keyboard, pictures that do not exist are left out.
#include <QLineEdit>
#include <QListWidget>
#include <QTextBlock>

#include "app/fake_engine.h"
#include "app/whole_window.h"
#include "support/runner.h"

using namespace kvlab;
using nlohmann::json;

namespace {

const QString kFolder = QStringLiteral(KVLAB_RESOURCES_DIR "/manual");

/// The addresses behind links of a page's text.
QStringList links(const QString& text) {
  static const QRegularExpression link(R"((?<!!)\[[^\]]*\]\(([^)]+)\))");
  QStringList found;
  for (auto at = link.globalMatch(text); at.hasNext();) found << at.next().captured(1);
  return found;
}

QStringList headings(const QString& text) {
  QStringList found;
  for (const QString& line : text.split('\n'))
    if (line.startsWith('#')) found << headingAnchor(line.section(' ', 1));
  return found;
}

}  // namespace

class ManualTest : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir m_settings;
  test::FakeState m_state;
  std::unique_ptr<MainWindow> m_window;

  std::unique_ptr<MainWindow> make(bool headless) {
    WindowSettings settings;
    settings.engines = [this](const json&) { return test::fakeOpener(m_state); };
    settings.headless = headless;
    return test::wholeWindow(settings);
  }
  ManualWindow& open(const std::string& page) {
    const Status opened = m_window->runCommand("manual", {{"page", page}});
    if (!opened) qFatal("%s", opened.error().text().c_str());
    if (!QTest::qWaitFor([this] { return QApplication::activeWindow() == m_window->manual(); }))
      qFatal("the manual's window is not active");
    return *m_window->manual();
  }
  QLineEdit* searchLine() { return m_window->manual()->findChild<QLineEdit*>("manual_search"); }

 private Q_SLOTS:
  void initTestCase() {
    qputenv("KVLAB_RESOURCES", KVLAB_RESOURCES_DIR);
    QSettings::setDefaultFormat(QSettings::IniFormat);
    QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, m_settings.path());
    QCoreApplication::setOrganizationName("kvlab-test");
    QCoreApplication::setApplicationName("kvlab-test");
  }
  void init() { m_window = make(true); }
  void cleanup() { m_window.reset(); }

  void everyPageOpens();
  void everyFileIsAPage();
  void everyLinkLeadsSomewhere();
  void everyViewHasAPage();
  void linksAndBackGoBetweenPages();
  void searchFindsWords();
  void keysGoThroughTheHits();
  void keyOpensThePageOfTheView();
  void wrongPagesAreRefused();
  void missingPicturesAreLeftOut();
  void picturesAreAsWideAsThePage();
  void themeChangesThePage();
  void sizeIsRemembered();
};

void ManualTest::everyPageOpens() {
  ManualWindow& manual = open("index");
  QVERIFY(manual.pages().all().size() > 40);
  QCOMPARE(manual.listed().size(), static_cast<qsizetype>(manual.pages().all().size()));
  for (const ManualPage& page : manual.pages().all()) {
    open(page.id.toStdString());
    QCOMPARE(manual.browser().page(), page.id);
    const QString shown = manual.browser().toPlainText();
    QVERIFY2(shown.startsWith(page.title), qPrintable(page.id + " begins: " + shown.left(60)));
    QVERIFY2(manual.windowTitle().startsWith(page.title), qPrintable(manual.windowTitle()));
    const QString last = page.plain.trimmed().section('\n', -1).section(' ', -1);
    QVERIFY2(shown.trimmed().endsWith(last.right(6)), qPrintable(page.id + " does not end with " + last));
  }
}

void ManualTest::everyFileIsAPage() {
  const auto pages = ManualPages::read(kFolder);
  QVERIFY(pages);
  for (const QString& file : QDir(kFolder).entryList({"*.md"}))
    QVERIFY2(pages->find(file.chopped(3)), qPrintable("index.md does not link " + file));
}

void ManualTest::everyLinkLeadsSomewhere() {
  const auto pages = ManualPages::read(kFolder);
  QVERIFY(pages);
  int followed = 0;
  for (const ManualPage& page : pages->all())
    for (const QString& link : links(page.text)) {
      if (link.contains("://")) continue;
      ++followed;
      const QString said = page.id + ".md links " + link, name = link.section('#', 0, 0), anchor = link.section('#', 1);
      if (!name.isEmpty() && !name.endsWith(".md")) {
        QVERIFY2(QFileInfo::exists(kFolder + '/' + name), qPrintable(said));
        continue;
      }
      const QString id = name.isEmpty() ? page.id : name.chopped(3);
      QVERIFY2(pages->find(id), qPrintable(said));
      if (!anchor.isEmpty()) QVERIFY2(headings(pages->find(id)->text).contains(anchor), qPrintable(said));
    }
  QVERIFY(followed > 60);
}

void ManualTest::everyViewHasAPage() {
  const auto pages = ManualPages::read(kFolder);
  QVERIFY(pages);
  for (const ViewInfo& info : views()) QVERIFY2(pages->find(QString("view-") + info.id), info.id);
}

void ManualTest::linksAndBackGoBetweenPages() {
  ManualBrowser& browser = open("index").browser();
  emit browser.anchorClicked(QUrl("rings.md"));
  QCOMPARE(browser.page(), QString("rings"));
  QTest::keyClick(m_window->manual(), Qt::Key_Left, Qt::AltModifier);
  QCOMPARE(browser.page(), QString("index"));
  QTest::keyClick(m_window->manual(), Qt::Key_Right, Qt::AltModifier);
  QCOMPARE(browser.page(), QString("rings"));
  emit browser.anchorClicked(QUrl("storage.md#layouts"));
  QCOMPARE(browser.page(), QString("storage"));
  QTest::keyClick(m_window->manual(), Qt::Key_F1);
  QCOMPARE(browser.page(), QString("index"));
  const auto* list = m_window->manual()->findChild<QListWidget*>("manual_list");
  QCOMPARE(list->currentItem()->data(Qt::UserRole).toString(), QString("index"));
}

void ManualTest::searchFindsWords() {
  ManualWindow& manual = open("index");
  const qsizetype all = manual.listed().size();
  searchLine()->setText("ring_LUT");
  QVERIFY2(manual.listed().contains("rings"), qPrintable(manual.listed().join(' ')));
  QVERIFY(manual.listed().size() < all);
  searchLine()->setText("rings");
  QCOMPARE(manual.listed().first(), QString("rings"));  // the title has it
  QTest::keyClick(searchLine(), Qt::Key_Return);
  QCOMPARE(manual.browser().page(), QString("rings"));
  QVERIFY(manual.browser().marks() > 0);
  searchLine()->setText("no page has this word");
  QCOMPARE(manual.listed(), QStringList());
  searchLine()->clear();
  QCOMPARE(manual.listed().size(), all);
  QCOMPARE(manual.browser().marks(), 0);
}

void ManualTest::keysGoThroughTheHits() {
  ManualWindow& manual = open("index");
  QTest::keyClick(&manual, Qt::Key_F, Qt::ControlModifier);
  QVERIFY(searchLine()->hasFocus());
  QTest::keyClicks(searchLine(), "policy");
  const QStringList hits = manual.listed();
  QVERIFY(hits.size() > 2);
  QTest::keyClick(searchLine(), Qt::Key_Down);
  QCOMPARE(manual.browser().page(), hits[1]);
  QTest::keyClick(searchLine(), Qt::Key_Escape);
  QVERIFY(searchLine()->text().isEmpty() && manual.isVisible());
  QTest::keyClick(searchLine(), Qt::Key_Escape);
  QVERIFY(!manual.isVisible());
  for (QWidget* one : manual.findChildren<QWidget*>())
    if ((one->focusPolicy() & Qt::TabFocus) && one->inherits("QAbstractScrollArea"))
      QVERIFY2(!one->accessibleName().isEmpty(), one->metaObject()->className());
}

void ManualTest::keyOpensThePageOfTheView() {
  QTest::keyClick(m_window.get(), Qt::Key_F1);
  QTRY_VERIFY(m_window->manual());
  m_window->manual()->close();
  for (const char* view : {"map", "events", "rings"}) {
    m_window->activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(m_window.get()));
    QVERIFY(m_window->views().showView(view));
    QTest::keyClick(m_window.get(), Qt::Key_F1);
    QTRY_COMPARE(m_window->manual()->browser().page(), QString("view-") + view);
    QVERIFY(m_window->manual()->isVisible());
  }
}

void ManualTest::wrongPagesAreRefused() {
  const Status refused = m_window->runCommand("manual", {{"page", "ringz"}});
  QVERIFY(!refused);
  QCOMPARE(refused.error().code, std::string("unknown_page"));
  QCOMPARE(refused.error().field, std::string("page"));
  QCOMPARE(refused.error().why, std::string("index.md does not link it; the nearest is rings"));
  QCOMPARE(m_window->runCommand("manual", {{"page", 1}}).error().code, std::string("bad_argument"));
  QCOMPARE(ManualPages::read(m_settings.path()).error().code, std::string("no_resources"));
}

void ManualTest::missingPicturesAreLeftOut() {
  QTemporaryDir folder;
  QFile page(folder.filePath("index.md"));
  QVERIFY(page.open(QIODevice::WriteOnly));
  page.write("# Title\n![There](there.png)\n\nBetween ![Gone](gone.png) them.\n<!-- a\nremark -->\nEnd.\n");
  page.close();
  QVERIFY(QImage(QSize(4, 4), QImage::Format_RGB32).save(folder.filePath("there.png")));
  const auto pages = ManualPages::read(folder.path());
  QVERIFY(pages);
  QCOMPARE(pages->all().size(), std::size_t(1));
  QCOMPARE(pages->all()[0].text, QString("# Title\n![There](there.png)\n\nBetween  them.\nEnd.\n"));
}

void ManualTest::picturesAreAsWideAsThePage() {
  QTemporaryDir folder;
  QFile page(folder.filePath("index.md"));
  QVERIFY(page.open(QIODevice::WriteOnly));
  page.write("# Title\n![Wide](wide.png)\n");
  page.close();
  QVERIFY(QImage(QSize(3000, 40), QImage::Format_RGB32).save(folder.filePath("wide.png")));
  auto pages = ManualPages::read(folder.path());
  QVERIFY(pages);
  ManualWindow manual(std::move(*pages), false, nullptr);
  QVERIFY(manual.open("index"));
  for (const int width : {1200, 800}) {
    manual.resize(width, 600);
    QTRY_VERIFY(manual.browser().document()->size().width() <= manual.browser().viewport()->width());
  }
}

void ManualTest::themeChangesThePage() {
  ManualBrowser& browser = open("rings").browser();
  const QImage dark = browser.grab().toImage();
  QVERIFY(m_window->setTheme("light"));
  QCOMPARE(browser.page(), QString("rings"));
  QTRY_VERIFY(browser.grab().toImage().pixelColor(4, 4).lightness() > 200);
  QVERIFY(dark.pixelColor(4, 4).lightness() < 60);
  QVERIFY(m_window->setTheme("dark"));
}

void ManualTest::sizeIsRemembered() {
  m_window = make(false);
  open("rings").resize(900, 640);
  m_window->manual()->close();
  m_window = make(false);
  QCOMPARE(open("rings").size(), QSize(900, 640));
  m_window->close();
}

KV_TEST(ManualTest)
#include "manual_test.moc"
