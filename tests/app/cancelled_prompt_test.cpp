// SPDX-License-Identifier: GPL-3.0-or-later
// A long prompt over the real engine: views see it grow; cancelling keeps the finished part and says its length.
#include <set>

#include "app/engine/core_engine.h"
#include "app/engine/live_context.h"
#include "support/runner.h"

using namespace kvlab;
using nlohmann::json;

class CancelledPromptTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void keepsWhatIsDone() {
    constexpr int kTokens = 40000, kPiece = 1024;
    const EngineFactory engines = coreEngines(KVLAB_RESOURCES_DIR);
    LiveContext context;
    bool opened = false;
    context.show(std::make_shared<LiveSession>(
        engines({{"manifest", {{"model", "synthetic:tiny"}, {"backend", "cpu"}, {"capacity", kTokens + 100}}}}),
        [&](const Result<json>& reply) { opened = bool(reply); }));
    QTRY_VERIFY(opened);
    json ids = json::array();
    for (int i = 0; i < kTokens; ++i) ids.push_back(3 + i * 7 % 250);
    std::set<std::int64_t> lengths;
    connect(&context, &InspectorContext::snapshotChanged, this, [&] { lengths.insert(context.snapshot()->length()); });
    connect(&context, &InspectorContext::progressed, this, [&](const QString&, qint64 done, qint64 total) {
      if (total == kTokens && done > 2 * kPiece) context.cancel();
    });
    std::optional<Error> refused;
    bool done = false;
    context.submit("promptIds", {{"ids", ids}}, this, [&](const Result<json>& reply) {
      if (!reply) refused = reply.error();
      done = true;
    });
    QTRY_VERIFY_WITH_TIMEOUT(done, 60000);
    QVERIFY(refused && refused->code == "cancelled");
    QTRY_VERIFY(!context.busy());
    const std::int64_t kept = context.snapshot()->length();
    QVERIFY2(kept >= 2 * kPiece && kept < kTokens && kept % kPiece == 0, qPrintable(QString::number(kept)));
    QVERIFY2(refused->text().find(std::to_string(kept) + " of 40000 tokens") != std::string::npos,
             refused->text().c_str());
    QVERIFY(lengths.size() > 1);  // the views followed
    bool stepped = false;
    context.submit("step", json::object(), this, [&](const Result<json>& reply) { stepped = bool(reply); });
    QTRY_VERIFY(stepped);
    QTRY_COMPARE(context.snapshot()->length(), kept + 1);
  }
};

KV_TEST(CancelledPromptTest)
#include "cancelled_prompt_test.moc"
