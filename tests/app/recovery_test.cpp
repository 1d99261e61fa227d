// SPDX-License-Identifier: GPL-3.0-or-later
// A window that is killed at any moment comes back: the test kills itself in a second process, over the real engine.
// KVLAB_KILLS says how often.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <QFileDialog>
#include <QProcess>
#include <QPushButton>
#include <QRandomGenerator>
#include <QTemporaryDir>
#include <atomic>
#include <map>
#include <set>

#include "app/whole_window.h"
#include "support/runner.h"
#include "support/script_call.h"

using namespace kvlab;
using nlohmann::json;

namespace {

const json kManifest{{"model", "synthetic:tiny"}, {"threads", 1}, {"capacity", 4096}, {"history_bytes", 1 << 22}};

/// The progress that the killed program reported, in a file that both processes map.
struct Told {
  std::atomic<int> commands{-1};  // that are over; -1 = no session yet
  std::atomic<std::int64_t> tick{0};
};

Told* mapped(const QString& path) {
  const int file = ::open(path.toLocal8Bit().constData(), O_RDWR | O_CREAT, 0600);
  if (file < 0 || ::ftruncate(file, sizeof(Told)) != 0) qFatal("no shared file");
  void* at = ::mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  return at == MAP_FAILED ? nullptr : static_cast<Told*>(at);
}

/// The same commands in every process: short and long ones, edits, journeys, notes.
std::vector<std::pair<std::string, json>> commandsOf(unsigned seed, int count) {
  std::vector<std::pair<std::string, json>> out;
  if (count == 0) return out;
  QRandomGenerator random(seed);
  const auto ids = [&](int n) {
    json list = json::array();
    for (int i = 0; i < n; ++i) list.push_back(random.bounded(5, 200));
    return list;
  };
  out.emplace_back("promptIds", json{{"ids", ids(16)}});
  for (int i = 1; i < count; ++i) switch (random.bounded(8)) {
      case 0: out.emplace_back("promptIds", json{{"ids", ids(3)}}); break;
      case 1: out.emplace_back("run", json{{"maxTicks", 40}, {"reports", 1}}); break;
      case 2: out.emplace_back("step", json{{"n", 25}}); break;
      case 3: out.emplace_back("step", json::object()); break;
      case 4: out.emplace_back("undo", json{{"n", 2}}); break;
      case 5:
        out.emplace_back(
            "inject",
            json{{"actions", {{{"action", "replace"}, {"positions", {3}}, {"new_token_ids", ids(1)}}}}, {"now", true}});
        break;
      case 6: out.emplace_back("note", json{{"text", "note " + std::to_string(i)}}); break;
      default: out.emplace_back("break", json{{"condition", "tick == 100000"}}); break;
    }
  return out;
}

constexpr int kCommands = 120;

/// Tells of every state that the engine publishes, before anybody else hears of it.
class TellingEngine : public Engine {
 public:
  TellingEngine(std::unique_ptr<Engine> engine, Told& told) : m_engine(std::move(engine)), m_told(told) {}

  std::optional<Effect> effect(const std::string& verb, const json& args) const override {
    return m_engine->effect(verb, args);
  }
  Result<json> execute(const std::string& verb, const json& args) override {
    Result<json> out = m_engine->execute(verb, args);
    if (m_own.contains(verb)) ++m_told.commands;  // views ask, too
    return out;
  }
  Result<json> keepRecovery(const std::string& path) override {
    Result<json> out = m_engine->keepRecovery(path);
    m_told.commands = 0;
    return out;
  }
  Result<std::unique_ptr<PendingTile>> tile(const TileRequest& request) override { return m_engine->tile(request); }
  SnapshotPtr snapshot() const override { return m_engine->snapshot(); }
  Result<SnapshotPtr> snapshotAt(Tick tick) override { return m_engine->snapshotAt(tick); }
  void setPublish(std::function<void(SnapshotPtr)> publish) override {
    m_engine->setPublish([this, publish](SnapshotPtr snapshot) {
      m_told.tick = snapshot->tick.value();
      publish(snapshot);
    });
  }
  void setProgress(Progress progress) override { m_engine->setProgress(std::move(progress)); }
  void setIdle(std::function<void()> idle) override { m_engine->setIdle(std::move(idle)); }
  Result<std::unique_ptr<Engine>> fork() override { return m_engine->fork(); }

 private:
  const std::set<std::string> m_own{"promptIds", "run", "step", "undo", "inject", "note", "break"};
  std::unique_ptr<Engine> m_engine;
  Told& m_told;
};

WindowSettings keepingSettings(const QString& folder) {
  WindowSettings settings = test::wholeSettings(false);
  settings.recovery = folder;
  return settings;
}

/// The program that is killed: opens a session, changes its window, and works without end.
int work(const QString& folder, Told& told, unsigned seed, int commands) {
  WindowSettings settings = keepingSettings(folder);
  settings.engines = [make = settings.engines, &told](const json& request) -> EngineOpener {
    return [open = make(request), &told](const Progress& progress) -> Result<std::unique_ptr<Engine>> {
      return std::unique_ptr<Engine>(std::make_unique<TellingEngine>(KV_TRY(open(progress)), told));
    };
  };
  MainWindow window(std::move(settings));
  window.show();
  (void)window.views().setOptions("map", {{"quantity", "age"}});
  window.openSession({{"manifest", kManifest}, {"name", "work"}}, [&](const Result<SessionPtr>& opened) {
    if (!opened) qFatal("%s", opened.error().text().c_str());
    for (const auto& [verb, args] : commandsOf(seed, commands)) (*opened)->submit(verb, args, [](const auto&) {});
  });
  return QApplication::exec();
}

/// A state on the way of the commands.
struct Passed {
  int command;
  std::int64_t tick;
  std::string hash;
};

std::string hashOf(Engine& engine) {
  return *test::scripted([&](const auto& verb, const json& args) { return engine.execute(verb, args); }, "stateHash");
}

/// The state that the recovery file of an ended program leads to.
struct Back {
  std::string hash, error;
  json lost;
};

Back backFrom(const QString& file) {
  const std::string path = file.toStdString();
  auto engine = coreEngines(KVLAB_RESOURCES_DIR)({{"recovery", path}})({});
  if (!engine) return {{}, engine.error().text(), {}};
  const Result<json> kept = (*engine)->keepRecovery(path);
  if (!kept) return {{}, kept.error().text(), {}};
  return {hashOf(**engine), {}, kept->value("lost", json())};
}

/// All states of a run that nobody kills, in order.
std::vector<Passed> wayOf(unsigned seed, int count) {
  auto engine = coreEngines(KVLAB_RESOURCES_DIR)({{"manifest", kManifest}})({});
  std::vector<Passed> out{{0, 0, hashOf(**engine)}};
  int done = 0;
  const auto pass = [&](int command) {
    out.push_back({command, (*engine)->snapshot()->tick.value(), hashOf(**engine)});
  };
  (*engine)->setIdle([&] { pass(done); });
  for (const auto& [verb, args] : commandsOf(seed, count)) {
    (void)(*engine)->execute(verb, args);
    pass(done);
    out.back().command = ++done;
  }
  return out;
}

}  // namespace

class RecoveryTest : public QObject {
  Q_OBJECT
 private:
  std::unique_ptr<QTemporaryDir> m_home;
  std::unique_ptr<MainWindow> m_window;
  QProcess m_child;

  QString folder() const { return m_home->filePath("state/recovery"); }
  Told* m_told = nullptr;

  Told& told() const { return *m_told; }
  QStringList files() const { return QDir(folder()).entryList(QDir::Files); }
  void start(unsigned seed, int commands) {
    told().commands = -1;
    m_child.setProcessChannelMode(QProcess::ForwardedErrorChannel);
    m_child.start(QCoreApplication::applicationFilePath(),
                  {"recovery_test", "--work", folder(), m_home->filePath("told"), QString::number(seed),
                   QString::number(commands)});
    QVERIFY(m_child.waitForStarted());
    QVERIFY(QTest::qWaitFor([&] { return told().commands >= 0; }, 60000));
  }
  void kill() {
    ::kill(static_cast<pid_t>(m_child.processId()), SIGKILL);
    m_child.waitForFinished();
  }
  bool doneSome(int commands) {
    return QTest::qWaitFor([&] { return told().commands >= commands; }, 60000);
  }
  void window() {
    m_window = test::wholeWindow(keepingSettings(folder()));
    QVERIFY(test::openIn(*m_window, {{"model", "demo"}, {"threads", 1}}, "the cat sat"));
    m_window->offerLeftSession();
  }
  bool asks() { return m_window->banner().asks("restoring"); }
  void answer(const QString& words) {
    for (QPushButton* one : m_window->banner().findChildren<QPushButton*>())
      if (one->isVisible() && one->text().startsWith(words)) return QTest::mouseClick(one, Qt::LeftButton);
    QFAIL(qPrintable(words));
  }
  std::string shownHash() {
    std::string out;
    const test::ScriptCall hash = test::scriptCall("stateHash", nullptr);
    m_window->context().submit(hash.verb, hash.args, [&](const auto& r) { out = r ? hash.read(*r) : json("-"); });
    return QTest::qWaitFor([&] { return !out.empty(); }, 20000) ? out : "";
  }
  /// Waits until the session of the other program is shown.
  bool restored() {
    return QTest::qWaitFor([&] { return m_window->context().session() && m_window->context().session()->isRestored(); },
                           60000) &&
        test::settled(*m_window);
  }

 private Q_SLOTS:
  void init() {
    m_home = std::make_unique<QTemporaryDir>();
    QVERIFY(test::ownSettings(*m_home));
    m_told = mapped(m_home->filePath("told"));
  }
  void cleanup() {
    if (m_child.state() != QProcess::NotRunning) kill();
    m_window.reset();
  }

  /// Nothing behind the last finished tick is lost, and the state is the same to the bit.
  void anyMoment() {
    const int kills = std::max(3, qEnvironmentVariableIntValue("KVLAB_KILLS"));
    int lost = 0, within = 0;
    for (int i = 0; i < kills; ++i) {
      const auto seed = static_cast<unsigned>(i % 8 + 1);
      static std::map<unsigned, std::vector<Passed>> ways;
      if (!ways.contains(seed)) ways[seed] = wayOf(seed, kCommands);
      const std::vector<Passed>& way = ways[seed];
      start(seed, kCommands);
      QTest::qWait(static_cast<int>(QRandomGenerator::global()->bounded(1500)));
      kill();
      const int commands = told().commands;
      const std::int64_t tick = told().tick;
      const QStringList captures = QDir(folder()).entryList({"*.kvcap"});
      QCOMPARE(captures.size(), qsizetype(1));
      const Back back = backFrom(folder() + '/' + captures[0]);
      QVERIFY2(back.error.empty() && back.lost.is_null(), (back.error + back.lost.dump()).c_str());
      const std::string hash = back.hash;
      // The first state of the way that the killed program can have told of, and those behind it.
      std::size_t first = 0;
      while (first + 1 < way.size() && way[first].command < commands) ++first;
      for (std::size_t at = first; at < way.size() && way[at].command == commands; ++at)
        if (way[at].tick == tick) first = at;
      const auto found = std::find_if(way.begin() + static_cast<std::ptrdiff_t>(first), way.end(),
                                      [&](const Passed& one) { return one.hash == hash; });
      const auto behind = found - way.begin() - static_cast<std::ptrdiff_t>(first);
      if (found == way.end()) ++lost;
      else if (behind > 0) ++within;
      // The engine reports ticks now and then: the recovered state may be further on, in the command that ran, or at
      // its end.
      QVERIFY2(
          found != way.end() && found->command <= commands + 1,
          qPrintable(QString("kill %1: command %2, tick %3, behind %4").arg(i).arg(commands).arg(tick).arg(behind)));
      for (const QString& one : files()) QFile::remove(folder() + '/' + one);
    }
    qInfo("%d kills: %d lost a finished tick, %d came back further than was told", kills, lost, within);
    QCOMPARE(lost, 0);
  }

  /// Ticks of a session that is kept beside those of one that is not, by turns.
  void costOfKeeping() {
    std::unique_ptr<Engine> engines[2];
    for (auto& one : engines) one = coreEngines(KVLAB_RESOURCES_DIR)({{"manifest", kManifest}})({}).take();
    QDir().mkpath(folder());
    QVERIFY(engines[1]->keepRecovery((folder() + "/cost.kvcap").toStdString()));
    qint64 spent[2] = {};
    for (auto& one : engines) (void)one->execute("promptIds", {{"ids", {5, 6, 7, 8}}});
    for (int turn = 0; turn < 40; ++turn)
      for (const int which : {turn % 2, 1 - turn % 2}) {
        QElapsedTimer time;
        time.start();
        QVERIFY(engines[which]->execute("step", {{"n", 10}}));
        spent[which] += time.nsecsElapsed();
      }
    const auto microseconds = [&](int which) { return static_cast<double>(spent[which]) / 400e3; };
    qInfo("a tick: %.1f us, kept %.1f us", microseconds(0), microseconds(1));
    QVERIFY(microseconds(1) < 3 * microseconds(0) + 500);
  }

  void theWindowComesBack() {
    start(1, 12);
    QVERIFY(doneSome(12));
    QTest::qWait(1500);  // the state of the window is written soon, not at once
    kill();
    const std::string hash = wayOf(1, 12).back().hash;
    window();
    QVERIFY(asks());
    const QString text = m_window->banner().text();
    QVERIFY2(text.contains("Restore the last session?") && text.contains("work") && text.contains("token"),
             qPrintable(text));
    QVERIFY(!QApplication::activeModalWidget());
    answer("Restore");
    QVERIFY(restored());
    QCOMPARE(shownHash(), hash);
    QCOMPARE((*m_window->views().options("map"))["quantity"].get<std::string>(), std::string("age"));
    QVERIFY(!asks());
    // It goes on with its file: another kill would lose nothing of both lives.
    m_window->context().submit("step", json::object());
    QVERIFY(test::settled(*m_window));
    const QStringList captures = QDir(folder()).entryList({"*.kvcap"});
    QCOMPARE(captures.size(), qsizetype(1));
    const std::string now = shownHash();
    const Back again = backFrom(folder() + '/' + captures[0]);
    QVERIFY(again.lost.is_null());
    QCOMPARE(again.hash, now);
  }

  void laterAsksAgainAndDiscardDoesNot() {
    start(2, 6);
    QVERIFY(doneSome(6));
    kill();
    window();
    QVERIFY(asks());
    answer("Later");
    QVERIFY(!asks());
    m_window.reset();
    window();
    QVERIFY(asks());
    answer("Discard");
    QVERIFY(!asks());
    m_window.reset();
    QVERIFY2(files().isEmpty(), qPrintable(files().join(' ')));
    window();
    QVERIFY(!asks());
  }

  void nobodyIsAskedAfterAQuitInOrder() {
    window();
    QVERIFY(!asks());
    m_window->context().submit("step", json::object());
    QVERIFY(test::settled(*m_window));
    QVERIFY(!files().isEmpty());
    m_window->close();
    QVERIFY(m_window->banner().asks("losing"));
    answer("Discard and Close");
    QVERIFY(!m_window->isVisible() && files().isEmpty());
    window();
    QVERIFY(!asks());
  }

  void aSessionWithoutWorkIsNotOffered() {
    start(1, 0);
    kill();
    window();
    QVERIFY(!asks());
  }

  void aRunningWindowKeepsItsOwn() {
    start(3, kCommands);
    QVERIFY(doneSome(4));
    window();
    QVERIFY(!asks());
    kill();
    m_window->offerLeftSession();
    QVERIFY(asks());
  }

  /// The window works on, and says once in the log that it cannot keep the session.
  void aFolderThatTakesNothing() {
    int said = 0;
    m_window = test::wholeWindow(keepingSettings("/proc/none/recovery"));
    connect(&m_window->context(), &InspectorContext::logged, this,
            [&](int, const QString& line) { said += line.startsWith("io: "); });
    QVERIFY(test::openIn(*m_window, {{"model", "demo"}, {"threads", 1}}, "the cat sat"));
    m_window->offerLeftSession();
    for (int i = 0; i < 3; ++i) m_window->context().submit("step", json::object());
    QVERIFY(test::settled(*m_window) && !asks());
    QCOMPARE(said, 1);
  }

  void aFullDisk() {
    window();
    const std::string before = shownHash();
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    const rlimit small{16, limit.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
    for (int i = 0; i < 3; ++i) m_window->context().submit("step", json::object());
    const bool worked = test::settled(*m_window);
    ::setrlimit(RLIMIT_FSIZE, &limit);
    QVERIFY(worked && m_window->banner().isHidden());
    const QStringList captures = QDir(folder()).entryList({"*.kvcap"});
    const Back back = backFrom(folder() + '/' + captures[0]);
    QVERIFY(back.error.empty() && back.lost.is_null());
    QCOMPARE(back.hash, before);
  }

  void filesOfAnyContent() {
    QVERIFY(QDir().mkpath(folder()));
    const auto put = [&](const char* name, const QByteArray& bytes) {
      QFile file(folder() + '/' + name);
      QVERIFY(file.open(QIODevice::WriteOnly));
      file.write(bytes);
    };
    put("a.kvcap", "nonsense");
    put("a.json",
        R"({"worked": true, "name": 3, "length": "x", "text": [], "window": {"docks": 7, "options": {"map": 3},
                      "focus": {"row": "x"}, "prompts": {"a": 1}, "console": 3, "theme": {}}})");
    put("b.json", "[1, 2");
    put("c.kvcap", "");
    window();
    QVERIFY(asks());
    answer("Restore");
    QTRY_VERIFY_WITH_TIMEOUT(m_window->banner().text().contains("cannot read"), 20000);
    QVERIFY(test::settled(*m_window));
    m_window.reset();
    window();
    QVERIFY(asks());  // the files stay until somebody discards them
  }

  /// A command that cannot be repeated is named, and the work before it comes back.
  void aCacheFileThatHasChanged() {
    const auto engine = coreEngines(KVLAB_RESOURCES_DIR);
    auto a = engine({{"manifest", kManifest}})({});
    const std::string cache = m_home->filePath("cache").toStdString(), file = m_home->filePath("a.kvcap").toStdString();
    QVERIFY((*a)->execute("promptIds", {{"ids", {5, 6, 7}}}) && (*a)->execute("saveCache", {{"path", cache}}));
    QVERIFY((*a)->keepRecovery(file));
    const std::string before = hashOf(**a);
    QVERIFY((*a)->execute("loadCache", {{"path", cache}}) && (*a)->execute("step", json::object()));
    QVERIFY((*a)->execute("saveCache", {{"path", cache}}));
    a = Error();
    const Back back = backFrom(QString::fromStdString(file));
    QVERIFY2(back.lost.is_object(), back.error.c_str());
    QCOMPARE(back.lost["code"].get<std::string>(), std::string("file_changed"));
    QVERIFY2(back.lost["why"].get<std::string>().find("loadCache") != std::string::npos, back.lost.dump().c_str());
    QCOMPARE(back.hash, before);
    QVERIFY(QFile::exists(m_home->filePath("a-lost.kvcap")));
  }
};

/// The program that is killed has arguments of its own.
int workOrTests(int argc, char** argv) {
  if (argc < 6 || std::string_view(argv[1]) != "--work") return test::run<RecoveryTest, QApplication>(argc, argv);
  QApplication application(argc, argv);
  QTemporaryDir settings;
  if (!test::ownSettings(settings)) return 1;
  return work(argv[2], *mapped(argv[3]), QString(argv[4]).toUInt(), QString(argv[5]).toInt());
}

KV_TEST_MAIN(workOrTests)
#include "recovery_test.moc"
