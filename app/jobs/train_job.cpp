// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/train_job.h"

#include <QDir>
#include <QFileInfo>
#include <QStandardPaths>

#include "app/jobs/program_job.h"

namespace kvlab {

namespace {

QString workOf(const TrainingChoice& choice) {
  if (!choice.work.isEmpty()) return choice.work;
  const QString model = QFileInfo(QDir::cleanPath(choice.model)).fileName().replace(':', '-');
  return QDir(QStandardPaths::writableLocation(QStandardPaths::GenericDataLocation))
      .filePath(
          QStringLiteral("kvlab/training/%1.%2.%3").arg(model, choice.what, QFileInfo(choice.text).completeBaseName()));
}

class Training : public ProgramJob {
 public:
  Training(JobList& jobs, const TrainingChoice& choice)
      : ProgramJob(jobs,
                   {.name = JobList::tr("Train %1").arg(choice.what),
                    .on = choice.model,
                    .prefix = QStringLiteral("kvlab: train "),
                    .stopped = JobList::tr("Stopped by hand; the same training goes on from here")}),
        m_choice(choice) {}

 protected:
  /// The last line of the program names the file that it wrote, or the folder of the recordings.
  End endOf(int exitCode, const QString& last) override {
    if (exitCode != 0) return {JobState::Failed, last};
    jobs().setPlace(number(), {.folder = m_choice.recordOnly ? workOf(m_choice) : QFileInfo(last).absolutePath()});
    return {JobState::Done,
            m_choice.recordOnly ? JobList::tr("Recorded; %1").arg(last) : JobList::tr("Saved in %1").arg(last)};
  }

 private:
  TrainingChoice m_choice;
};

}  // namespace

QStringList trainingArguments(const TrainingChoice& choice) {
  QStringList out{"train",     choice.what, "--model",      choice.model, "--text",
                  choice.text, "--work",    workOf(choice), "--resume"};
  if (!choice.out.isEmpty()) out << "--out" << choice.out;
  if (!choice.python.isEmpty()) out << "--python" << choice.python;
  if (choice.recordOnly) out << "--record-only";
  return out;
}

int beginTraining(JobList& jobs, const QString& program, const TrainingChoice& choice) {
  return (new Training(jobs, choice))->start(program, trainingArguments(choice));
}

}  // namespace kvlab
