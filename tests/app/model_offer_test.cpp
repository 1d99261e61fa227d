// SPDX-License-Identifier: GPL-3.0-or-later
// A model with a name in the New Session window: its description, fetching it with progress, stopping, errors. pip
// takes a package of the test's own.
#include <QComboBox>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QTemporaryDir>

#include "app/engine/live_context.h"
#include "app/forms/model_offer.h"
#include "app/forms/new_session_panel.h"
#include "app/forms/session_form.h"
#include "support/runner.h"

using namespace kvlab;

namespace {

/// A package with a "model" of 26 bytes, and a list that calls it "good"; "lost" has no package.
constexpr const char* kMakePackage = R"(
import hashlib, json, sys, zipfile
links, target = sys.argv[1:]
data = b"twenty-six bytes of model."
with zipfile.ZipFile(f"{links}/kvlab_offer-1.0-py3-none-any.whl", "w") as wheel:
    wheel.writestr("data.bin", data)
    wheel.writestr("kvlab_offer-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: kvlab-offer\nVersion: 1.0\n")
    wheel.writestr("kvlab_offer-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr("kvlab_offer-1.0.dist-info/RECORD", "")
package = {"name": "kvlab-offer", "version": "1.0", "bytes": 900, "member": "data.bin"}
entry = {"title": "Good", "licence": "MIT", "file": "model.bin", "bytes": len(data),
         "sha256": hashlib.sha256(data).hexdigest(), "packages": [package]}
json.dump({"good": entry, "lost": {**entry, "packages": [{**package, "name": "kvlab-lost"}]}}, open(target, "w"))
)";

}  // namespace

class ModelOfferTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    if (QProcess::execute("python3", {"-m", "pip", "--version"}) != 0) QSKIP("python3 has no pip");
    const QString models = m_home.filePath("kvlab/models");
    QVERIFY(QDir().mkpath(models));
    qputenv("XDG_DATA_HOME", m_home.path().toUtf8());
    qputenv("PIP_NO_INDEX", "1");
    qputenv("PIP_FIND_LINKS", m_home.path().toUtf8());
    QCOMPARE(QProcess::execute("python3", {"-c", kMakePackage, m_home.path(), models + "/models.json"}), 0);
  }

  void init() {
    m_panel.reset();
    m_context = std::make_unique<LiveContext>();
    m_panel = std::make_unique<NewSessionPanel>(NewSessionSettings{}, JobList::of(*m_context), nullptr);
    m_panel->show();
    m_offer = m_panel->findChild<ModelOffer*>();
    m_model = qobject_cast<QComboBox*>(m_panel->findChild<SessionForm*>()->control("model"));
    m_button = m_offer->findChild<QPushButton*>();
    m_label = m_offer->findChild<QLabel*>();
    QVERIFY(m_model && m_button && m_label);
  }

  void namesAreOffered() {
    QVERIFY(!m_offer->isVisible());  // the demo model has nothing to show
    for (const char* name : {"demo", "good", "smollm2-135m", "gemma3-270m"}) QVERIFY(m_model->findText(name) >= 0);
    m_model->setCurrentText("smollm2-135m");
    QVERIFY(m_offer->isVisible() && m_button->isVisible());
    QCOMPARE(m_label->text(),
             QString("SmolLM2 135M Instruct, Q4_1 · licence: Apache-2.0 · 93 MiB · not on this machine yet"));
    m_model->setCurrentText("/a/path");
    QVERIFY(!m_offer->isVisible());
  }

  void aFetchThatFailsSaysWhy() {
    m_model->setCurrentText("lost");
    m_button->click();
    QVERIFY(m_offer->findChild<QProgressBar*>()->isVisible());
    QCOMPARE(m_button->text(), QString("Stop"));
    m_model->setCurrentText("demo");  // the model that is being fetched stays in sight
    QVERIFY(m_offer->isVisible());
    QTRY_VERIFY_WITH_TIMEOUT(m_label->text().contains("pip could not load kvlab-lost==1.0"), 60000);
    QCOMPARE(m_button->text(), QString("Fetch"));
    QVERIFY(!m_offer->findChild<QProgressBar*>()->isVisible());
  }

  void aFetchCanBeStopped() {
    m_model->setCurrentText("good");
    m_button->click();
    m_button->click();
    QTRY_COMPARE_WITH_TIMEOUT(m_button->text(), QString("Fetch"), 60000);
    QVERIFY(!QFile::exists(m_home.filePath("kvlab/models/good")));
  }

  /// The end of the program stops a fetch and waits until nothing of it is left.
  void theEndStopsTheFetch() {
    m_model->setCurrentText("good");
    m_button->click();
    m_panel.reset();
    const auto left = [&] {
      return QDir(m_home.filePath("kvlab/models")).entryList(QDir::AllDirs | QDir::Hidden | QDir::NoDotAndDotDot);
    };
    QTRY_VERIFY_WITH_TIMEOUT(!left().isEmpty(), 60000);  // it has begun
    QCOMPARE(JobList::of(*m_context).running().size(), std::size_t{1});
    m_context.reset();
    QCOMPARE(left(), QStringList());
  }

  void theFetchGoesOnWithoutItsWindow() {
    m_model->setCurrentText("good");
    m_button->click();
    m_panel.reset();
    JobList& jobs = JobList::of(*m_context);
    QTRY_VERIFY_WITH_TIMEOUT(jobs.running().empty(), 60000);
    const QString file = m_home.filePath("kvlab/models/good/model.bin");
    QCOMPARE(jobs.jobs().back().how, "Saved in " + file);
    QVERIFY(QFile::remove(file));
  }

  void aFetchedModelIsThere() {
    m_model->setCurrentText("good");
    m_button->click();
    QTRY_VERIFY_WITH_TIMEOUT(m_label->text().endsWith("on this machine") && !m_button->isVisible(), 60000);
    QFile model(m_home.filePath("kvlab/models/good/model.bin"));
    QVERIFY(model.open(QIODevice::ReadOnly));
    QCOMPARE(model.readAll(), QByteArray("twenty-six bytes of model."));
  }

 private:
  QTemporaryDir m_home;
  std::unique_ptr<LiveContext> m_context;
  std::unique_ptr<NewSessionPanel> m_panel;
  ModelOffer* m_offer = nullptr;
  QComboBox* m_model = nullptr;
  QPushButton* m_button = nullptr;
  QLabel* m_label = nullptr;
};

KV_TEST(ModelOfferTest)
#include "model_offer_test.moc"
