// SPDX-License-Identifier: Apache-2.0
// A refused call changes nothing, whatever refuses it: a person who cancels, rows that find no room, a full disk. In a
// call of several ticks the ticks before the refused one stay whole; then the same call does the remaining work.
#include <signal.h>
#include <sys/resource.h>

#include <QDir>
#include <QTemporaryDir>
#include <set>

#include "support/furnished_session.h"
#include "support/runner.h"
#include "support/session_digest.h"

using namespace kvlab;

namespace {

/// The difference that a call made to the session; empty = none, or only whole ticks.
QByteArray wrong(const Result<json>& done, const Digest& before, const SessionFixture& s,
                 const std::set<std::string>& whole) {
  const bool ticks = done && whole.contains(stateHash(*s));
  return ticks ? QByteArray() : differing(before, digestOf(*s)) + (s->stage() ? QByteArray() : s.damage());
}

bool succeeded(const Result<json>& done) {
  if (!done) return false;
  const json& last = done->is_array() && !done->empty() ? done->back() : *done;
  return !last.is_object() || last.value("ok", true);
}

}  // namespace

class RefusedCallsTest : public QObject {
  Q_OBJECT
 private:
  std::string folder() const { return m_folder.path().toStdString(); }

  void everyCall() const {
    QTest::addColumn<QByteArray>("manifest");
    QTest::addColumn<int>("call");
    const std::vector<Good> calls = goodCalls(folder());
    test::SanitizerSample sample(4);
    for (const auto& [name, manifest] : kKinds)
      for (std::size_t i = 0; i < calls.size(); ++i) {
        const std::string verb = calls[i].verb;
        const Effect effect = verbNamed(verb)->effect;
        if (effect == Effect::Reads || verb == "fault" || verb == "bug" || !sample.takes()) continue;
        QTest::addRow("%s, %s %d", name, verb.c_str(), static_cast<int>(i)) << QByteArray(manifest) << int(i);
      }
  }

  /// The states behind the ticks of a call.
  static std::set<std::string> ticksOf(const SessionFixture& s, const Good& good) {
    std::set<std::string> out{stateHash(*s)};
    s->setBetweenTicks([&] { out.insert(stateHash(*s)); });
    if (s.verb(good.verb, good.args)) out.insert(stateHash(*s));
    s->setBetweenTicks({});
    return out;
  }

  QTemporaryDir m_folder{scratchFolder()};

 private Q_SLOTS:
  void cancelled_data() { everyCall(); }
  void cancelled() {
    QFETCH(QByteArray, manifest);
    QFETCH(int, call);
    const Good good = goodCalls(folder())[static_cast<std::size_t>(call)];
    if (std::string(good.verb) == "rebuild") return;  // leaves whole layers: that is its result
    const std::set<std::string> whole = ticksOf(furnishedSession(manifest, Waiting::Nothing, folder()), good);
    const SessionFixture s = furnishedSession(manifest, Waiting::Nothing, folder());
    for (int n = 1; n < 8; ++n) {
      const Digest before = digestOf(*s);
      int asked = 0;
      s->setProgress([&](const std::string&, std::int64_t, std::int64_t) { return ++asked < n; });
      const Result<json> done = s.verb(good.verb, good.args);
      s->setProgress({});
      if (asked < n) return;
      if (succeeded(done)) return;
      const QByteArray differs = wrong(done, before, s, whole);
      QVERIFY2(differs.isEmpty(), QByteArray::number(n) + ": " + differs);
      if (done && stateHash(*s) != before.at("hash")) return;
    }
  }

  /// Sessions without room for the rows that a call adds, or computes beside the present rows.
  void withoutRoom_data() { everyCall(); }
  void withoutRoom() {
    QFETCH(QByteArray, manifest);
    QFETCH(int, call);
    const Good good = goodCalls(folder())[static_cast<std::size_t>(call)];
    for (const json& less : {json{{"capacity", 33}}, json{{"staging", 1}, {"history_bytes", 0}}}) {
      json small = json::parse(manifest.toStdString());
      if (small.contains("wlod")) return;
      small.update(less);
      const QByteArray opening = QByteArray::fromStdString(small.dump());
      const std::set<std::string> whole = ticksOf(furnishedSession(opening, Waiting::Nothing, folder()), good);
      const SessionFixture s = furnishedSession(opening, Waiting::Nothing, folder());
      const Digest before = digestOf(*s);
      const Result<json> done = s.verb(good.verb, good.args);
      if (succeeded(done)) continue;
      const QByteArray differs = wrong(done, before, s, whole);
      QVERIFY2(differs.isEmpty(), (done ? done->dump() : done.error().text()).substr(0, 300).c_str() + differs);
    }
  }

  /// Nothing of a file is written that the disk does not take whole, and the session goes on.
  void onAFullDisk_data() {
    QTest::addColumn<QString>("verb");
    QTest::addColumn<QByteArray>("args");
    for (const Good& good : goodCalls(folder()))
      if (good.args.contains("path") && good.arg("path").written)
        QTest::addRow("%s", good.verb) << QString(good.verb) << QByteArray::fromStdString(good.args.dump());
  }
  void onAFullDisk() {
    QFETCH(QString, verb);
    QFETCH(QByteArray, args);
    const SessionFixture s = furnishedSession("{}", Waiting::Nothing, folder());
    const Digest before = digestOf(*s);
    const QStringList files = QDir(m_folder.path()).entryList(QDir::Files);
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit was{};
    ::getrlimit(RLIMIT_FSIZE, &was);
    const rlimit small{100, was.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
    const Result<json> done = s.verb(verb.toStdString(), json::parse(args.toStdString()));
    ::setrlimit(RLIMIT_FSIZE, &was);
    QVERIFY(!done);
    const QByteArray differs = differing(before, digestOf(*s));
    QVERIFY2(differs.isEmpty(), differs);
    QCOMPARE(QDir(m_folder.path()).entryList(QDir::Files), files);
    QVERIFY(bool(s.verb(verb.toStdString(), json::parse(args.toStdString()))));
  }
};

KV_TEST(RefusedCallsTest)
#include "refused_calls_test.moc"
