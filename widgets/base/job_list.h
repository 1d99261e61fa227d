// SPDX-License-Identifier: GPL-3.0-or-later
// The long work of the program, in one list: runs and prompts of sessions, and sweeps, downloads and scripts beside
// them. The code that works begins a job, reports progress and ends it; views of the list read it. Cancel goes to the
// job in front. A child of the context, made on first request. GUI thread.
#pragma once
#include <QDateTime>
#include <QElapsedTimer>
#include <QObject>
#include <map>
#include <vector>

#include "widgets/base/inspector_context.h"

namespace kvlab {

/// Waiting: work of the same session comes first.
enum class JobState { Waiting, Running, Done, Stopped, Failed };
/// Priority of jobs: a person who runs a script waits for it, and a sweep goes on beside a session.
enum class JobRank { Beside, Session, Script };

/// The place of a job's outcome.
struct JobPlace {
  QString view = {};                                // shows the outcome; empty = none
  nlohmann::json focus = nlohmann::json::object();  // as view.focus takes it
  quint64 session = 0;                              // `focus` is about this session of the context
  QString folder = {};                              // the files; empty = none
  bool empty() const { return view.isEmpty() && folder.isEmpty(); }
};

struct Job {
  QString name;  // "Run"
  QString on;    // its subject: a session, a file, a model
  JobRank rank = JobRank::Session;
  const void* queue = nullptr;  // jobs with the same queue run one after the other; null = its own
  bool brief = false;           // leaves the list at its end
  JobPlace place = {};
  std::function<void()> cancel = {};

  // Set by the list.
  int number = 0;
  JobState state = JobState::Running;
  qint64 done = 0, total = 0;  // total 0 = unknown
  QString step = {};           // present step, in the words of the work
  QString rate = {};           // "120/s, 5 s left"
  QString how = {};            // the way in which it ended
  QDateTime ended = {};
  bool runs() const { return state == JobState::Waiting || state == JobState::Running; }
};

/// The speed of long work and the time that it still needs, from its reports. Counts from the first report of a piece
/// of work: a report with another name, or with less done than before, begins another piece. A value.
class ProgressRate {
 public:
  /// "120/s, 1 min 5 s left"; empty in the first second, and where nothing can be said.
  QString text(const QString& what, qint64 done, qint64 total);
  /// The same `ms` milliseconds after the first report.
  static QString textAfter(qint64 ms, qint64 done, qint64 total);

 private:
  QString m_what;
  qint64 m_first = 0, m_last = -1;  // done at the first and the last report
  QElapsedTimer m_timer;
};

class JobList : public QObject {
  Q_OBJECT
 public:
  static constexpr std::size_t kEnded = 500;  // jobs kept after their end

  static JobList& of(InspectorContext& context);

  /// In the order in which they began.
  const std::vector<Job>& jobs() const { return m_jobs; }
  /// Null if there is no such job.
  const Job* find(int number) const;
  /// The job that Cancel ends: work of the session before work beside it, the job that runs before those that wait for
  /// it, else the newest. Null if none runs.
  const Job* front() const;
  std::vector<const Job*> running() const;

  /// Returns the job's number.
  int begin(Job job);
  void report(int number, const QString& step, qint64 done, qint64 total);
  /// Reports for the job of a queue that runs now.
  void report(const void* queue, const QString& step, qint64 done, qint64 total);
  /// `how`: a sentence about the work done, the file that has it, or the reason why it stopped. `at`: the clock's time
  /// unless given.
  void end(int number, JobState state, const QString& how, const QDateTime& at = {});
  /// Ends the jobs of a queue that is gone.
  void endQueue(const void* queue, const QString& how);
  /// Sets the place of the outcome, which may be known only when the outcome exists.
  void setPlace(int number, JobPlace place);
  /// Asks a running job to stop; it ends when it has. False if there is no such job.
  bool cancel(int number);

 signals:
  /// Jobs began or ended.
  void changed();
  /// The figures of a running job.
  void progressed(int number);
  void ended(const kvlab::Job& job);

 private:
  explicit JobList(InspectorContext& context) : QObject(&context), m_context(context) {}
  std::vector<Job>::iterator place(int number);
  void settle();

  InspectorContext& m_context;
  std::vector<Job> m_jobs;
  std::map<int, ProgressRate> m_rates;  // of running jobs, by their numbers
  int m_last = 0;
};

/// "running", "waiting", "done", "stopped", "failed".
QString stateName(JobState state);
/// "30 of 84", "30"; empty if nothing is known, and after the end.
QString progressText(const Job& job);

}  // namespace kvlab
