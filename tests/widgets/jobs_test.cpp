// SPDX-License-Identifier: GPL-3.0-or-later
// The list of jobs and its view: order, the job in front, progress, and the requests of clicks and keys.
#include <QAbstractItemModelTester>
#include <QToolButton>

#include "open_view.h"
#include "support/runner.h"
#include "widgets/views/jobs/jobs_view.h"

using namespace kvlab;

class JobsViewTest : public QObject {
  Q_OBJECT
 private:
  static QString cell(JobsView& view, int row, const char* column) {
    return view.table().model()->index(row, view.table().columnOf(column)).data().toString();
  }
  static QPoint at(JobsView& view, int row) {
    return view.table().visualRect(view.table().model()->index(row, 1)).center();
  }

 private Q_SLOTS:
  void initTestCase() { Theme::apply(*qApp, "dark"); }

  void whatRunsInTheSessionIsInFront() {
    FakeContext context{FakeContext::Nothing{}};
    JobList& jobs = JobList::of(context);
    QVERIFY(!jobs.front());
    int queue = 0, asked = 0;
    const int first = jobs.begin({.name = "Run", .on = "demo", .queue = &queue, .cancel = [&] { asked = 1; }});
    const int second = jobs.begin({.name = "Prompt", .on = "demo", .queue = &queue, .cancel = [&] { asked = 2; }});
    const int beside =
        jobs.begin({.name = "Sweep", .on = "demo", .rank = JobRank::Beside, .cancel = [&] { asked = 3; }});
    QCOMPARE(jobs.front()->number, first);
    QCOMPARE(jobs.find(second)->state, JobState::Waiting);
    jobs.end(first, JobState::Done, "ran");
    QCOMPARE(jobs.find(second)->state, JobState::Running);
    QCOMPARE(jobs.front()->number, second);
    jobs.endQueue(&queue, "closed");
    QCOMPARE(jobs.find(second)->state, JobState::Stopped);
    QCOMPARE(jobs.front()->number, beside);
    const int script = jobs.begin({.name = "Script", .on = "demo", .rank = JobRank::Script, .brief = true});
    jobs.begin({.name = "Run", .on = "demo"});
    QCOMPARE(jobs.front()->number, script);
    QVERIFY(jobs.cancel(beside) && asked == 3);
    QVERIFY(!jobs.cancel(first) && !jobs.cancel(99));
    jobs.end(script, JobState::Done, {});
    QVERIFY2(!jobs.find(script), "a brief job stays");
  }

  void oldEndsLeave() {
    FakeContext context{FakeContext::Nothing{}};
    JobList& jobs = JobList::of(context);
    const int lasting = jobs.begin({.name = "Sweep", .on = "demo", .rank = JobRank::Beside});
    for (std::size_t i = 0; i < JobList::kEnded + 20; ++i)
      jobs.end(jobs.begin({.name = "Run", .on = "demo"}), JobState::Done, "ran");
    QCOMPARE(jobs.jobs().size(), JobList::kEnded + 1);
    QVERIFY(jobs.find(lasting));
  }

  void model() {
    FakeContext context;
    JobsModel model([] { return true; }, nullptr);
    QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
    model.show(JobList::of(context).jobs());
    Job job = model.lines().front();
    job.done = 5;
    model.update(job);
    QCOMPARE(model.lines().front().done, 5);
    model.show({});
  }

  void runningJobsStandFirst() {
    FakeContext context;
    const auto view = open<JobsView>(context);
    QCOMPARE(cell(*view, 0, "state"), QString("○ waiting"));
    QCOMPARE(cell(*view, 2, "job"), QString("Sweep smartkv"));
    QCOMPARE(cell(*view, 3, "job"), QString("Fetch Model"));
    QCOMPARE(cell(*view, 8, "job"), QString("Open Session"));
    const int sweep = JobList::of(context).jobs()[6].number;
    JobList::of(context).report(sweep, "cells", 200, 381);
    QCOMPARE(cell(*view, 2, "progress"), QString("200 of 381"));
    JobList::of(context).end(sweep, JobState::Done, "381 cells");
    QCOMPARE(cell(*view, 2, "how"), QString("381 cells"));
    QVERIFY(view->tsv().contains("381 cells"));
  }

  void cancelsByButtonAndKey() {
    FakeContext context;
    const auto view = open<JobsView>(context);
    const int sweep = JobList::of(context).jobs()[6].number;
    auto* button = named<QToolButton>(*view, "Cancel Sweep smartkv");
    QVERIFY(button);
    QTest::mouseClick(button, Qt::LeftButton);
    QCOMPARE(context.commands.size(), std::size_t{1});
    QCOMPARE(context.commands[0].verb, std::string("cancel_job"));
    QCOMPARE(context.commands[0].args, (nlohmann::json{{"job", sweep}}));
    QTest::mouseClick(view->table().viewport(), Qt::LeftButton, {}, at(*view, 2));
    QTest::keyClick(&view->table(), Qt::Key_Delete);
    QCOMPARE(context.commands.size(), std::size_t{2});
    QCOMPARE(context.commands[1].args, (nlohmann::json{{"job", sweep}}));
    QTest::mouseClick(view->table().viewport(), Qt::LeftButton, {}, at(*view, 5));
    QTest::keyClick(&view->table(), Qt::Key_Delete);
    QCOMPARE(context.commands.size(), std::size_t{2});  // this one has ended
  }

  void goesToTheOutcome() {
    FakeContext context;
    const auto view = open<JobsView>(context);
    const int run = JobList::of(context).jobs()[3].number;
    QTest::mouseClick(view->table().viewport(), Qt::LeftButton, {}, at(*view, 5));
    QTest::keyClick(&view->table(), Qt::Key_Return);
    QCOMPARE(context.commands.size(), std::size_t{1});
    QCOMPARE(context.commands[0].verb, std::string("go_to_job"));
    QCOMPARE(context.commands[0].args, (nlohmann::json{{"job", run}}));
    QTest::mouseDClick(view->table().viewport(), Qt::LeftButton, {}, at(*view, 5));
    QCOMPARE(context.commands.size(), std::size_t{2});
    QTest::mouseClick(view->table().viewport(), Qt::LeftButton, {}, at(*view, 1));
    QTest::keyClick(&view->table(), Qt::Key_Return);
    QCOMPARE(context.commands.size(), std::size_t{2});  // still at work
  }
};

KV_TEST(JobsViewTest)
#include "jobs_test.moc"
