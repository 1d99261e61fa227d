// SPDX-License-Identifier: GPL-3.0-or-later
// A ring before, during and after a wrap, as pictures of a real session: the demo model with a ring of 24
// rows and room for 8 more, fed the tokens of its story one by one. Given tokens make the pictures the same
// whatever arithmetic computes the rows.
#include "app/engine/core_engine.h"
#include "support/runner.h"
#include "widgets/fake_context.h"
#include "widgets/golden.h"
#include "widgets/views/rings/rings_view.h"

using namespace kvlab;

class WrapPicturesTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    const nlohmann::json manifest = {{"model", "demo"},          {"backend", "cpu"}, {"layout", "ring_fused"},
                                     {"ring", {{"window", 24}}}, {"staging", 8},     {"prefill_chunk", 8}};
    auto opened = coreEngines(KVLAB_RESOURCES_DIR)({{"manifest", manifest}})({});
    QVERIFY2(opened, opened ? "" : opened.error().text().c_str());
    m_engine = std::move(*opened);
    m_engine->setPublish([](const SnapshotPtr&) {});
    const nlohmann::json ids = *run("tokenise",
                                    {{"text",
                                      "anna puts the silver key in the cellar . the wind blows all night . ben leaves "
                                      "the old map in the tower . dora waits in the garden . "
                                      "a cat sleeps all day . carl hides the gold ring in the barn . emil sits in the "
                                      "kitchen . fay thinks of the red lamp ."}});
    QVERIFY(ids.size() >= kTokens);
    QVERIFY(run("promptIds", {{"ids", std::vector<int>(ids.begin(), ids.begin() + 20)}}));
    m_history = {m_engine->snapshot()};
    for (std::size_t i = m_history.back()->context.size(); i < kTokens; ++i) {
      const auto reports = run("step", {{"n", 1}, {"tokens", {ids[i]}}});
      QVERIFY2((*reports)[0].value("ok", false), reports->dump().c_str());
      m_history.push_back(m_engine->snapshot());
    }
  }

  void picture_data() {
    QTest::addColumn<int>("rows");
    QTest::addColumn<int>("head");
    QTest::addColumn<int>("pointer");
    QTest::addColumn<int>("wraps");
    QTest::addRow("before") << 31 << 7 << 31 << 0;
    QTest::addRow("during") << 36 << 12 << 3 << 1;
    QTest::addRow("after") << 58 << 1 << 25 << 1;
  }
  void picture() {
    QFETCH(int, rows);
    FakeContext context{m_history.front()};
    for (std::size_t i = 1; i < m_history.size(); ++i) context.push(m_history[i]);
    for (const SnapshotPtr& s : m_history)
      if (s->length() == rows) context.showTick(s->tick);
    QCOMPARE(context.snapshot()->length(), rows);
    const RingState& ring = *context.snapshot()->storage[0]->ring;
    QTEST(ring.head, "head");
    QTEST(ring.pointer(), "pointer");
    QTEST(static_cast<int>(ring.wraps), "wraps");
    context.focusPosition(Position(rows - 6));
    for (const char* theme : {"dark", "light"})
      for (const int scale : {1, 2}) {
        Theme::apply(*qApp, theme);
        RingsView view(context, nullptr);
        view.setObjectName("rings");
        view.resize(560, 640);
        QVERIFY(golden::settle(view));
        QCOMPARE(view.canvas().ring()->wrong, 0);
        const QString name = QString("rings_%1_wrap_%2%3").arg(QTest::currentDataTag(), theme, scale == 2 ? "@2" : "");
        QCOMPARE(golden::compareImage(name, view.picture({560, 640}, scale)), QString());
      }
  }

 private:
  static constexpr std::size_t kTokens = 58;
  Result<nlohmann::json> run(const std::string& verb, const nlohmann::json& args) {
    return m_engine->execute(verb, args);
  }

  std::unique_ptr<Engine> m_engine;
  std::vector<SnapshotPtr> m_history;
};

KV_TEST(WrapPicturesTest)
#include "wrap_pictures_test.moc"
