// SPDX-License-Identifier: GPL-3.0-or-later
// The pictures of the manual are those that resources/manual/pictures.js makes now, and every picture that a page
// names is one of them. Times and memory of the machine stand in some pictures, so a share of the pixels may differ.
// KV_UPDATE_GOLDEN=1 writes the pictures anew instead: look at them before committing. KVLAB names the program.
#include "support/runner.h"
#include "widgets/golden.h"

using namespace kvlab;

namespace {

const QString kManual = QStringLiteral(KVLAB_RESOURCES_DIR "/manual/");
const QString kPictures = kManual + "pictures/";

QStringList pictures(const QString& folder) { return QDir(folder).entryList({"*.png"}, QDir::Files, QDir::Name); }

/// Names of the pictures that a page shows, without their folder; tests/scripts/clinic_page.sh makes those of cases.
QStringList named(const QString& path) {
  static const QRegularExpression picture(R"(!\[[^\]]*\]\([^)]*pictures/([^)]+)\))");
  QFile page(path);
  QStringList found;
  if (!page.open(QIODevice::ReadOnly)) return found;
  const QString text = QString::fromUtf8(page.readAll());
  for (auto at = picture.globalMatch(text); at.hasNext();) found << at.next().captured(1);
  found.erase(
      std::remove_if(found.begin(), found.end(), [](const QString& name) { return name.startsWith("clinic/"); }),
      found.end());
  return found;
}

/// The share of pixels that may differ: much where times are drawn, little where times or bytes of the process are
/// written (a digit more moves the rest of its line). Jobs tells the time of day in every line.
double allowed(const QString& name) {
  static const QHash<QString, double> shares{
      {"window.png", 0.06},    {"view-events.png", 0.08}, {"view-numbers.png", 0.15},  {"view-log.png", 0.06},
      {"view-tree.png", 0.01}, {"view-audit.png", 0.01},  {"view-storage.png", 0.015}, {"view-jobs.png", 0.02}};
  return shares.value(name, 0.005);
}

}  // namespace

class ManualPicturesTest : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir m_made;

 private Q_SLOTS:
  void initTestCase() {
    if (qEnvironmentVariableIsEmpty("KVLAB")) QSKIP("KVLAB names the program; CTest sets it");
    QProcess program;
    program.start(qEnvironmentVariable("KVLAB"), {"run", kManual + "pictures.js", "--out", m_made.path()});
    QVERIFY(program.waitForFinished(550000));
    QVERIFY2(program.exitStatus() == QProcess::NormalExit && program.exitCode() == 0, program.readAllStandardError());
    if (!golden::updating()) return;
    for (const QString& name : pictures(kPictures)) QVERIFY(QFile::remove(kPictures + name));
    for (const QString& name : pictures(m_made.path()))
      QVERIFY(QImage(m_made.filePath(name)).save(kPictures + name, "PNG", 0));
  }

  void everyNamedPictureIsMade() {
    QStringList shown = named(KVLAB_RESOURCES_DIR "/../README.md");
    for (const QString& page : QDir(kManual).entryList({"*.md"})) shown << named(kManual + page);
    const QStringList made = pictures(m_made.path());
    QVERIFY(shown.size() > 20);
    for (const QString& name : shown) QVERIFY2(made.contains(name), qPrintable("pictures.js does not make " + name));
    for (const QString& name : made) QVERIFY2(shown.contains(name), qPrintable("no page shows " + name));
  }

  void picturesAreCurrent() {
    QStringList stale;
    QCOMPARE(pictures(kPictures), pictures(m_made.path()));
    for (const QString& name : pictures(kPictures)) {
      const QImage now(m_made.filePath(name)), before(kPictures + name);
      QVERIFY2(now.size() == before.size(), qPrintable(name + " has another size"));
      qint64 wrong = 0;
      const QImage diff = difference(now, before, 48, &wrong);
      const double share = static_cast<double>(wrong) / (now.width() * now.height());
      if (share <= allowed(name)) continue;
      diff.save(golden::failuresFolder() + "/manual-" + name);
      stale << QString("%1 (%2 % of its pixels differ)").arg(name).arg(100 * share, 0, 'f', 1);
    }
    QVERIFY2(stale.isEmpty(),
             qPrintable("not current: " + stale.join(", ") +
                        "; run this test with KV_UPDATE_GOLDEN=1, "
                        "look at the pictures and commit them"));
  }

  void picturesAreSmall() {
    qint64 bytes = 0;
    for (const QFileInfo& one : QDir(kPictures).entryInfoList({"*.png"})) bytes += one.size();
    QVERIFY2(bytes > 0 && bytes < 4000000, qPrintable(QString::number(bytes)));
  }
};

KV_TEST(ManualPicturesTest)
#include "manual_pictures_test.moc"
