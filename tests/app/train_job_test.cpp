// SPDX-License-Identifier: GPL-3.0-or-later
// A training as a job: progress, the outcome and its place, failures, stopping. A shell script stands for the
// interpreter, so that no PyTorch is needed; the recording before it is real.
#include "app/engine/live_context.h"
#include "app/jobs/program_job.h"
#include "support/runner.h"

using namespace kvlab;

class TrainJobTest : public QObject {
  Q_OBJECT
 private:
  QTemporaryDir m_folder;
  std::unique_ptr<LiveContext> m_context;

  JobList& jobs() { return m_context->jobs(); }
  QString file(const QString& name, const QByteArray& text) {
    QFile out(m_folder.filePath(name));
    if (!out.open(QIODevice::WriteOnly)) return {};
    out.write(text);
    out.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    return out.fileName();
  }
  /// An interpreter that has all modules and runs `body` in place of the recipe.
  QString python(const QByteArray& body) { return file("python.sh", "#!/bin/sh\n[ \"$1\" = -c ] && exit 0\n" + body); }
  TrainingChoice choice(const QString& interpreter, bool recordOnly = false) {
    return {.what = "gates",
            .model = "demo",
            .text = m_folder.filePath("text.txt"),
            .out = m_folder.filePath("gates.safetensors"),
            .work = m_folder.filePath("work"),
            .python = interpreter,
            .recordOnly = recordOnly};
  }
  const Job& trained(const TrainingChoice& wanted, const QString& program = qEnvironmentVariable("KVLAB")) {
    const int number = beginTraining(jobs(), program, wanted);
    [&] { QTRY_VERIFY_WITH_TIMEOUT(!jobs().find(number)->runs(), 60000); }();
    return *jobs().find(number);
  }

 private Q_SLOTS:
  void init() {
    if (qEnvironmentVariableIsEmpty("KVLAB")) QSKIP("KVLAB names the program; CTest sets it");
    m_context = std::make_unique<LiveContext>();
    QByteArray text;
    for (int i = 0; i < 400; ++i) text += "anna puts the silver key in the cellar . the rain falls again .\n";
    QVERIFY(!file("text.txt", text).isEmpty());
  }
  void cleanup() { QDir(m_folder.filePath("work")).removeRecursively(); }

  void recordsAndTrains() {
    QStringList steps;
    connect(&jobs(), &JobList::progressed, &jobs(), [&](int number) {
      const Job& job = *jobs().find(number);
      steps << QString("%1 %2 %3").arg(job.done).arg(job.total).arg(job.step);
    });
    const TrainingChoice wanted =
        choice(python("echo 'epoch 1/2: loss 0.5'\nsleep 0.2\nwhile [ \"$1\" != --out ]; do shift; done\n"
                      "echo trained > \"$2\"\n"));
    const Job& job = trained(wanted);
    QCOMPARE(job.state, JobState::Done);
    QCOMPARE(job.how, "Saved in " + wanted.out);
    QCOMPARE(job.place.folder, m_folder.path());
    QCOMPARE(job.name, QString("Train gates"));
    QVERIFY2(steps.contains("1 2 epoch 1/2: loss 0.5"), qPrintable(steps.join('\n')));
    QVERIFY(!steps.filter("gates: windows").isEmpty());
    QVERIFY(QFile::exists(wanted.out));
  }

  void recordsOnly() {
    const Job& job = trained(choice("no such interpreter", true));
    QCOMPARE(job.state, JobState::Done);
    QVERIFY2(job.how.startsWith("Recorded; ") && job.how.contains("tokens in"), qPrintable(job.how));
    QVERIFY(QFile::exists(job.place.folder + "/recording.json"));
  }

  void failuresSayWhy_data() {
    QTest::addColumn<QString>("interpreter");
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("said");
    QTest::newRow("recipe") << python("echo 'loss is not finite'\nexit 3\n") << m_folder.filePath("text.txt")
                            << "exit code 3";
    QTest::newRow("text") << "" << m_folder.filePath("none.txt") << "none.txt";
    QTest::newRow("interpreter") << m_folder.filePath("no_python") << m_folder.filePath("text.txt") << "does not start";
  }
  void failuresSayWhy() {
    QFETCH(QString, interpreter);
    QFETCH(QString, text);
    QFETCH(QString, said);
    TrainingChoice wanted = choice(interpreter, interpreter.isEmpty());
    wanted.text = text;
    const Job& job = trained(wanted);
    QCOMPARE(job.state, JobState::Failed);
    QVERIFY2(job.how.contains(said) && !job.how.startsWith("kvlab:"), qPrintable(job.how));
  }

  void stopsAndGoesOn() {
    const TrainingChoice wanted = choice(python("echo 'epoch 1/9'\nexec sleep 60\n"));
    const int number = beginTraining(jobs(), qEnvironmentVariable("KVLAB"), wanted);
    QTRY_COMPARE_WITH_TIMEOUT(jobs().find(number)->done, qint64(1), 60000);
    QTRY_COMPARE_WITH_TIMEOUT(jobs().find(number)->total, qint64(9), 60000);
    QVERIFY(jobs().cancel(number));
    QTRY_VERIFY_WITH_TIMEOUT(!jobs().find(number)->runs(), 20000);
    QCOMPARE(jobs().find(number)->state, JobState::Stopped);
    QVERIFY2(jobs().find(number)->how.contains("goes on from here"), qPrintable(jobs().find(number)->how));
    const Job& again = trained(choice("", true));
    QVERIFY2(again.how.contains("of them from before") && !again.how.contains(", 0 of them"), qPrintable(again.how));
  }

  void aProgramThatIsNotThere() {
    const Job& job = trained(choice(""), m_folder.filePath("no_kvlab"));
    QCOMPARE(job.state, JobState::Failed);
    QVERIFY2(job.how.contains("does not start"), qPrintable(job.how));
  }

  void workLiesByModelKindAndText() {
    const QStringList arguments =
        trainingArguments({.what = "lens", .model = "synthetic:small", .text = "/a/My text.txt"});
    const QString work = arguments[arguments.indexOf("--work") + 1];
    QVERIFY2(work.endsWith("training/synthetic-small.lens.My text"), qPrintable(work));
    QVERIFY(arguments.contains("--resume") && !arguments.contains("--out") && !arguments.contains("--python"));
  }
};

KV_TEST(TrainJobTest)
#include "train_job_test.moc"
