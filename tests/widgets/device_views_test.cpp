// SPDX-License-Identifier: GPL-3.0-or-later
// Views of a session that a device computes: the device and its figures, and the checks that look at less there.
#include <QLabel>

#include "open_view.h"
#include "support/runner.h"
#include "widgets/base/theme.h"
#include "widgets/table/data_table.h"
#include "widgets/views/invariants/invariants_view.h"
#include "widgets/views/model/model_view.h"

using namespace kvlab;
using nlohmann::json;

class DeviceViewsTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() { Theme::apply(*qApp, "dark"); }

  /// A session on a device shows the device as it is when the view asks; one on the host asks for nothing.
  void theDeviceIsShown() {
    FakeContext onHost;
    const auto plain = open<ModelView>(onHost);
    QVERIFY(!plain->dump().contains("Device"));
    for (const FakeContext::Call& call : onHost.queried) QVERIFY(call.verb != "bytes");
    auto snapshot = std::make_shared<Snapshot>(*onHost.snapshot());
    auto info = std::make_shared<SessionInfo>(*snapshot->info);
    info->backend = "cuda:1";
    snapshot->info = info;
    FakeContext context(snapshot);
    context.answers["bytes"] = [](const json&) {
      return Result<json>(json{{"captures", 2},
                               {"replays", 50},
                               {"waits", 1},
                               {"downloads", 60},
                               {"bytesDown", 3 << 20},
                               {"bytesUp", 5 << 20},
                               {"device",
                                {{"id", "cuda:1"},
                                 {"name", "a card"},
                                 {"used", std::int64_t{3} << 30},
                                 {"free", std::int64_t{9} << 30},
                                 {"bytesPerSecond", 1e12}}}});
    };
    const auto view = open<ModelView>(context);
    QTRY_VERIFY(view->ready());
    for (const char* line : {"Arithmetic: cuda:1 · ", "Device: a card\n", "taken on the device with history\n",
                             "Device memory: 3.00 GiB used by all programs, 9.00 GiB free\n",
                             "Recorded passes: 2 recordings, 50 replays, 1 wait of the host\n",
                             "Copies: 60 downloads with 3.00 MiB to the host, 5.00 MiB to the device\n",
                             "Bandwidth: peak 1000.0 GB/s; Record Ops"})
      QVERIFY2(view->dump().contains(line), qPrintable(view->dump()));
    auto next = std::make_shared<Snapshot>(*snapshot);
    ++next->serial;
    TickReport report;
    report.events = {{"compute_rows", 2, {}, 0, 900, 7000, ""},
                     {"linear", 3, {}, 0, 10, 2'000'000, ""},
                     {"attention", 4, {}, 10, 10, 500'000, ""}};
    next->report = std::make_shared<const TickReport>(report);
    context.push(next);
    QTRY_VERIFY(view->ready());
    QVERIFY2(view->dump().contains("125.0 GB/s (12.5 %) in the ops of the tick, peak 1000.0 GB/s"),
             qPrintable(view->dump()));
    context.answers["bytes"] = [](const json&) { return Result<json>(json{{"device", 7}}); };
    next = std::make_shared<Snapshot>(*next);
    ++next->serial;
    context.push(next);
    QTRY_VERIFY(view->ready());
    QVERIFY(!view->dump().contains("Device"));
  }

  /// A check that looks at less on a device says so where its lamp is.
  void leftOutOnADevice() {
    const auto detailOn = [](const char* backend, const char* invariant) {
      auto snapshot = std::make_shared<Snapshot>(*FakeContext().snapshot());
      auto info = std::make_shared<SessionInfo>(*snapshot->info);
      info->backend = backend;
      snapshot->info = info;
      snapshot->invariants = {{.id = invariant, .title = "What holds"}};
      FakeContext context(snapshot);
      const auto view = open<InvariantsView>(context);
      view->findChild<DataTable*>()->setCurrentIndex(view->findChild<DataTable*>()->model()->index(0, 0));
      for (const QLabel* label : view->findChildren<QLabel*>())
        if (label->accessibleName() == "Detail") return label->text();
      return QString();
    };
    QVERIFY2(detailOn("cuda:0", "exact_rows").contains("On a device the newest row"),
             qPrintable(detailOn("cuda:0", "exact_rows")));
    QVERIFY(!detailOn("cpu", "exact_rows").contains("On a device"));
    QVERIFY(!detailOn("cpu", "exact_rows").isEmpty());
    QVERIFY(!detailOn("cuda:0", "visible_rows").contains("On a device"));
  }
};

KV_TEST(DeviceViewsTest)
#include "device_views_test.moc"
