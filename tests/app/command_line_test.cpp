// SPDX-License-Identifier: GPL-3.0-or-later
// The command line: every option of the contract, and refusals with their exit codes.
#include "app/cli/ending.h"
#include "app/cli/lists.h"
#include "support/runner.h"

using namespace kvlab;
using nlohmann::json;

class CommandLineTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void windowIsTheDefault();
  void sessionOptionsMakeAManifest();
  void runTakesScriptOutAndArguments();
  void everySubcommandGivesJson_data();
  void everySubcommandGivesJson();
  void refusalsGiveJson();
  void endingsAreWritten();
  void refusals_data();
  void refusals();
  void manifestFiles();
  void namesWithParameters();
  void listsAreMadeFromWhatThereIs();
  void helpAndVersion();
};

void CommandLineTest::windowIsTheDefault() {
  const auto none = parseCommandLine({});
  QVERIFY(none);
  QCOMPARE(none->verb, std::string("gui"));
  QVERIFY(none->manifest.empty());
  const auto model = parseCommandLine({"--model", "demo"});
  QVERIFY(model);
  QCOMPARE(model->verb, std::string("gui"));
  QCOMPARE(model->manifest, (json{{"model", "demo"}}));
}

void CommandLineTest::sessionOptionsMakeAManifest() {
  const auto line =
      parseCommandLine({"gui", "--model", "synthetic:smollm-135m", "--backend", "cpu", "--dtype", "f32", "--layout",
                        "contiguous_splice", "--kv", "K=f16,V=bf16", "--position", "absolute", "--set",
                        "sampling.seed=7", "--set", "capacity=512", "--set", "after_edit=recompute"});
  QVERIFY2(line, line ? "" : line.error().text().c_str());
  const json expected = json::parse(R"({"model":"synthetic:smollm-135m","backend":"cpu","dtype":"f32",
    "layout":"contiguous_splice","kv":{"k":"f16","v":"bf16"},"position":"absolute",
    "sampling":{"seed":7},"capacity":512,"after_edit":"recompute"})");
  QCOMPARE(line->manifest, expected);
}

void CommandLineTest::runTakesScriptOutAndArguments() {
  const auto line = parseCommandLine({"run", "a.js", "--out", "shots", "--model", "demo", "--", "--x", "2"});
  QVERIFY2(line, line ? "" : line.error().text().c_str());
  QCOMPARE(line->verb, std::string("run"));
  QCOMPARE(line->file, std::string("a.js"));
  QCOMPARE(line->out, std::string("shots"));
  QCOMPARE(line->args, (std::vector<std::string>{"--x", "2"}));
  QCOMPARE(line->manifest, (json{{"model", "demo"}}));
}

void CommandLineTest::everySubcommandGivesJson_data() {
  QTest::addColumn<QStringList>("words");
  for (const QString line : {"run a.js",
                             "test a",
                             "bench",
                             "bench tick",
                             "sweep a.json",
                             "sweep a --cell 3:1",
                             "train gates --text a.txt",
                             "perplexity --text a.txt",
                             "clinic",
                             "clinic a",
                             "clinic --blind 3",
                             "check",
                             "check fork",
                             "compare a",
                             "compare a --ids 1,2",
                             "model get a",
                             "model list",
                             "model remove a",
                             "replay a.kvcap",
                             "info",
                             "list views"})
    QTest::newRow(qPrintable(line)) << line.split(' ');
}

void CommandLineTest::everySubcommandGivesJson() {
  QFETCH(QStringList, words);
  std::vector<std::string> given;
  for (const QString& word : words) given.push_back(word.toStdString());
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = given;
    all.insert(all.end(), more.begin(), more.end());
    const auto line = parseCommandLine(all);
    return line ? line->json.value_or("none") : line.error().text();
  };
  QCOMPARE(with({}), std::string("none"));
  QCOMPARE(with({"--json"}), std::string());
  QCOMPARE(with({"--json", "a b.json"}), std::string("a b.json"));
  QCOMPARE(with({"--json=a.json"}), std::string("a.json"));
  if (words.front() != "model") QCOMPARE(with({"--json", "--log", "info"}), std::string());
  QVERIFY(parseCommandLine({"list", "--json", "views"})->printsJson());  // the required word is no FILE
}

/// A program that asked for JSON gets the error as JSON, wherever the command line went wrong.
void CommandLineTest::refusalsGiveJson() {
  using Words = std::vector<std::string>;
  for (const auto& [words, wanted] : {std::pair<Words, std::string>{{"info", "--set", "frob=1"}, "none"},
                                      {{"info", "--json", "--set", "frob=1"}, ""},
                                      {{"info", "--set", "frob=1", "--json", "a.json"}, "a.json"},
                                      {{"list", "frobs", "--json"}, ""},
                                      {{"list", "views", "--json", "a.json", "--markdown"}, "a.json"},
                                      {{"info", "--json", "--log", "loud"}, ""},
                                      {{"frobnicate", "--json", "a.json"}, ""},
                                      {{"gui", "--json"}, ""},
                                      {{"gui", "--json=a.json"}, ""},
                                      {{"gui", "--", "--json"}, "none"}}) {
    QVERIFY(!parseCommandLine(words));
    QCOMPARE(jsonAsked(words).value_or("none"), wanted);
  }
}

void CommandLineTest::endingsAreWritten() {
  const QTemporaryDir dir;
  const std::string path = dir.filePath("a.json").toStdString();
  const auto written = [&] {
    QFile file(dir.filePath("a.json"));
    return file.open(QIODevice::ReadOnly) ? json::parse(file.readAll().toStdString(), nullptr, false) : json();
  };
  QCOMPARE(finish(json{{"figure", 1}}, path), 0);
  QCOMPARE(written(), (json{{"figure", 1}}));
  const Error error("unreadable_file", "cannot read \xff", "it is not there", "check the path", "path", "\xff");
  QCOMPARE(finish(error, path), 3);
  QCOMPARE(written()["error"]["code"], json("unreadable_file"));
  QCOMPARE(written()["error"]["value"], json("\xef\xbf\xbd"));  // bytes that are no UTF-8 do not end the program
  QCOMPARE(finish(Ending(json{{"failed", 2}}, Exit::Failed, error), path), 1);
  QCOMPARE(written()["failed"], json(2));
  QCOMPARE(written()["error"]["remedy"], json("check the path"));
  const std::string nowhere = dir.filePath("none/a.json").toStdString();
  QCOMPARE(finish(json::array(), nowhere), 3);
  QCOMPARE(finish(Error("usage", "a", "b", "c"), nowhere), 2);
  QCOMPARE(finish({}, {}), 0);
}

void CommandLineTest::refusals_data() {
  QTest::addColumn<QStringList>("arguments");
  QTest::addColumn<QString>("names");  // must appear in the message
  QTest::newRow("unknown verb") << QStringList{"frobnicate"} << "frobnicate";
  QTest::newRow("unknown option") << QStringList{"--frobnicate"} << "frobnicate";
  QTest::newRow("no script") << QStringList{"run"} << "script";
  QTest::newRow("no value") << QStringList{"--model"} << "model";
  QTest::newRow("unknown key") << QStringList{"--set", "frobnicate=1"} << "frobnicate";
  QTest::newRow("bad value") << QStringList{"--set", "capacity=-4"} << "capacity";
  QTest::newRow("no equals sign") << QStringList{"--set", "capacity"} << "capacity";
  QTest::newRow("scalar is no object") << QStringList{"--set", "capacity=1", "--set", "capacity.x=1"} << "capacity";
  QTest::newRow("kv without name") << QStringList{"--kv", "f16"} << "f16";
  QTest::newRow("bad list") << QStringList{"list", "frobs"} << "frobs";
  QTest::newRow("bad position") << QStringList{"--position", "sideways"} << "position";
  QTest::newRow("arguments for gui") << QStringList{"gui", "--", "x"} << "x";
  QTest::newRow("bad level") << QStringList{"--log", "loud"} << "loud";
  QTest::newRow("nothing to train") << QStringList{"train", "--text", "a.txt"} << "what";
  QTest::newRow("no such training") << QStringList{"train", "lenses", "--text", "a.txt"} << "lenses";
  QTest::newRow("a short window") << QStringList{"train", "gates", "--text", "a.txt", "--window", "8"} << "window";
  QTest::newRow("negative tick") << QStringList{"replay", "a.kvcap", "--to", "-3"} << "-3";
  QTest::newRow("endless tick") << QStringList{"replay", "a.kvcap", "--to", "inf"} << "inf";
  for (const QString text : {"nan", "-nan", "inf", "1e400", "-1"}) {
    const QString names = "--time-limit: " + text + " is not a number of seconds ";
    QTest::newRow(qPrintable("run for " + text)) << QStringList{"run", "a.js", "--time-limit", text} << names;
    QTest::newRow(qPrintable("tests of " + text)) << QStringList{"test", "a", "--time-limit", text} << names;
  }
  QTest::newRow("tests of no time") << QStringList{"test", "a", "--time-limit", "0"} << "above 0";
  QTest::newRow("two forms of a list") << QStringList{"list", "facts", "--json", "--markdown"} << "--markdown";
}

void CommandLineTest::refusals() {
  QFETCH(QStringList, arguments);
  QFETCH(QString, names);
  std::vector<std::string> given;
  for (const QString& a : arguments) given.push_back(a.toStdString());
  const auto line = parseCommandLine(given);
  QVERIFY(!line);
  QCOMPARE(line.error().code, std::string("usage"));
  QCOMPARE(static_cast<int>(exitFor(line.error())), 2);
  const QString text = QString::fromStdString(errorLine(line.error()));
  QVERIFY2(text.contains(names), qPrintable(text));
  QVERIFY2(!text.contains(QRegularExpression("\\d{20}")), qPrintable(text));  // bounds are readable
  QVERIFY(text.startsWith("kvlab: error: "));
  QVERIFY2(text.contains("; "), qPrintable(text));  // the error has a remedy
}

void CommandLineTest::manifestFiles() {
  QTemporaryDir dir;
  const auto write = [&](const char* name, const char* text) {
    QFile file(dir.filePath(name));
    (void)file.open(QIODevice::WriteOnly);
    file.write(text);
    return dir.filePath(name).toStdString();
  };
  const auto good =
      parseCommandLine({"--manifest", write("good.json", R"({"model":"demo","staging":8})"), "--set", "staging=16"});
  QVERIFY(good);
  QCOMPARE(good->manifest, (json{{"model", "demo"}, {"staging", 16}}));
  for (const auto& path : {write("bad.json", "[1]"), write("cut.json", "{\"model\":"),
                           write("key.json", R"({"modle":"demo"})"), dir.filePath("absent.json").toStdString()}) {
    const auto line = parseCommandLine({"--manifest", path});
    QVERIFY2(!line, path.c_str());
    QCOMPARE(static_cast<int>(exitFor(line.error())), 3);
    QVERIFY(line.error().text().find(path) != std::string::npos);
  }
}

void CommandLineTest::namesWithParameters() {
  const auto named = parseNamed("h2o:budget=64,mode=strict,x=1.5", "--policy");
  QVERIFY(named);
  QCOMPARE(*named, json::parse(R"({"name":"h2o","budget":64,"mode":"strict","x":1.5})"));
  QVERIFY(!parseNamed(":a=1", "--policy"));
  QVERIFY(!parseNamed("h2o:budget", "--policy"));
}

/// Every list has rows, and every row something in the first and the last column, as text and as Markdown.
void CommandLineTest::listsAreMadeFromWhatThereIs() {
  for (const NamedList& list : lists()) {
    const auto line = parseCommandLine({"list", list.name, "--markdown"});
    QVERIFY2(line && line->markdown && line->list == list.name, list.name.c_str());
    const json rows = list.rows();
    QVERIFY2(rows.size() > 5, list.name.c_str());
    const ListColumn& last = list.columns.back().inText ? list.columns.back() : *(list.columns.end() - 2);
    for (const json& row : rows)
      for (const ListColumn* column : {&list.columns.front(), &last})
        QVERIFY2(row.value(column->field, "") != "", (list.name + " " + row.dump()).c_str());
    const QString markdown = QString::fromStdString(markdownTable(list, rows));
    QCOMPARE(markdown.count('\n'), static_cast<qsizetype>(rows.size()) + 2);
    for (const QString& one : markdown.split('\n', Qt::SkipEmptyParts)) {
      const qsizetype bars = one.count('|') - one.count("\\|");
      QVERIFY2(bars == static_cast<qsizetype>(list.columns.size()) + 1, qPrintable(one));
    }
    QCOMPARE(QString::fromStdString(textTable(list, rows)).count('\n'), static_cast<qsizetype>(rows.size()));
  }
  QVERIFY(!listNamed("frobs") && listNamed("manifest")->rows().size() > 80);
}

void CommandLineTest::helpAndVersion() {
  const auto help = parseCommandLine({"--help"});
  QVERIFY(help);
  QCOMPARE(help->verb, std::string("help"));
  for (const char* word : {"gui", "run", "bench", "sweep", "replay", "info", "list", "--manifest", "--set"})
    QVERIFY2(help->text.find(word) != std::string::npos, word);
  const auto run = parseCommandLine({"run", "--help"});
  QVERIFY(run);
  QVERIFY(run->text.find("--time-limit") != std::string::npos);
  QCOMPARE(parseCommandLine({"--version"})->verb, std::string("version"));
}

KV_TEST(CommandLineTest)
#include "command_line_test.moc"
