// SPDX-License-Identifier: Apache-2.0
// The request for a sweep: a specification, a file, or the name of one of the resources.
#include <QTemporaryDir>

#include "core/experiment/sweep_runner.h"
#include "support/runner.h"

using namespace kvlab;
using nlohmann::json;

class SweepRequestTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void sweepsHaveNames() {
    const QTemporaryDir folder;
    SweepOptions options;
    options.out = folder.filePath("o").toStdString();
    options.resources = KVLAB_RESOURCES_DIR;
    options.stopped = [] { return true; };
    QCOMPARE(runSweep(json("windows"), options).error().code, std::string("cancelled"));
    QCOMPARE(options.folder, std::string(KVLAB_RESOURCES_DIR) + "/sweeps");
    options.out.clear();
    QCOMPARE(runSweep(json("nothing"), options).error().code, std::string("bad_sweep"));
    QCOMPARE(runSweep(json{{"axis", 1}}, options).error().code, std::string("bad_sweep"));
    QVERIFY(options.out.empty());  // nothing was begun
  }

  void optionsChangeTheBase() {
    SweepOptions options;
    options.resources = KVLAB_RESOURCES_DIR;
    options.base = {{"model", "synthetic:tiny"}, {"kv", {{"v", "int8"}}}};
    const Result<SweepSpec> named = namedSweep("tasks", options);
    QVERIFY(named);
    QCOMPARE(named->base, (json{{"model", "synthetic:tiny"}, {"capacity", 5120}, {"kv", {{"v", "int8"}}}}));
    QCOMPARE(named->given["base"], named->base);
    json given = named->given;
    given.erase("base");
    QCOMPARE(namedSweep(given, options)->base, options.base);
    options.base = {{"frob", 1}};
    const Result<SweepSpec> other = namedSweep("tasks", options);
    QVERIFY(other && !sweepCells(*other));
  }

  /// Columns have the names and the cells of the CSV file; a cell is null where the file has an empty field.
  void columnsAreThoseOfTheFile() {
    SweepRow row;
    row.id = "a", row.prompts = "say \"x\", y", row.ask = "after", row.seed = 3;
    row.axes = {{"policy", "h2o"}};
    row.budget = SweepBudget{true, 0.25};
    row.setMeasure("recall", 0.5);
    row.setMeasure("stories", 4);
    row.expressions = {{"length", std::nullopt}};
    SweepRow failed{1, "b", "p", "after", 3, {{"rows", "int8"}}};
    failed.error = Error("full", "what", "why", "remedy");
    const std::vector<SweepRow> rows{row, failed};
    json lists;
    for (const TableColumn& one : sweepColumns(rows)) lists[one.name] = {one.at(0), one.at(1)};
    QCOMPARE(lists["axis.policy"], (json{"h2o", nullptr}));
    QCOMPARE(lists["budget_ratio"], (json{0.25, nullptr}));
    QCOMPARE(lists["stories"], (json{4.0, nullptr}));
    QCOMPARE(lists["expression.length"], (json{nullptr, nullptr}));
    QVERIFY(lists["error"][0].is_null() && lists["error"][1].get<std::string>().starts_with("full: "));
    const std::string csv = sweepCsv(rows);
    QVERIFY(csv.find("0,a,\"say \"\"x\"\", y\",after,3,h2o,,0.25,,4,") != std::string::npos);
    QVERIFY(csv.find("1,b,p,after,3,,int8,,,") != std::string::npos);
  }
};

KV_TEST(SweepRequestTest)
#include "sweep_request_test.moc"
