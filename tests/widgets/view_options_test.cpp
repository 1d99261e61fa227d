// SPDX-License-Identifier: GPL-3.0-or-later
// The options of all views: each can be set to its present value, refuses other values and names the allowed ones, and
// becomes a script line when its control is used.
#include <QComboBox>
#include <QSignalSpy>

#include "fake_context.h"
#include "golden.h"
#include "support/runner.h"
#include "widgets/base/view_registry.h"

using namespace kvlab;

class ViewOptionsTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void everyOptionTakesWhatItIs_data() { everyView(); }
  void everyOptionTakesWhatItIs() {
    QFETCH(QString, id);
    FakeContext context(optionsFor(id));
    const auto view = make(id, context);
    const nlohmann::json before = view->options();
    for (const auto& [name, value] : before.items()) {
      const Status set = view->setOption(name, value);
      QVERIFY2(set, set ? "" : set.error().text().c_str());
    }
    QCOMPARE(view->options(), before);
  }

  void everyOptionSaysWhatItTakes_data() { everyView(); }
  void everyOptionSaysWhatItTakes() {
    QFETCH(QString, id);
    FakeContext context(optionsFor(id));
    const auto view = make(id, context);
    const nlohmann::json before = view->options();
    for (const auto& [name, value] : before.items()) {
      const Status refused = view->setOption(name, nlohmann::json{{"nobody", "takes this"}});
      QVERIFY2(!refused, name.c_str());
      QCOMPARE(refused.error().code, std::string("bad_argument"));
      QCOMPARE(refused.error().field, name);
      QVERIFY(!refused.error().remedy.empty());
    }
    QCOMPARE(view->options(), before);
    const Status unknown = view->setOption("nonsense", 1);
    QVERIFY(!unknown);
    for (const auto& [name, value] : before.items())
      QVERIFY2(unknown.error().remedy.find(name) != std::string::npos, unknown.error().remedy.c_str());
  }

  /// Choices by hand are script lines that choose the same.
  void choicesAreSaid_data() { everyView(); }
  void choicesAreSaid() {
    QFETCH(QString, id);
    FakeContext context(optionsFor(id));
    const auto view = make(id, context);
    for (QComboBox* choice : view->findChildren<QComboBox*>()) {
      const nlohmann::json before = view->options();
      if (choice->count() < 2 || !choice->isVisibleTo(view.get()) || before.empty()) continue;
      QSignalSpy said(&context, &InspectorContext::scripted);
      const int other = choice->currentIndex() == 0 ? 1 : 0;
      choice->setCurrentIndex(other);
      emit choice->activated(other);
      if (view->options() == before) continue;  // a field of a form
      QCOMPARE(said.count(), 1);
      QVERIFY(said[0][0].toString().startsWith("view.set(\"" + id));
    }
  }

 private:
  static void everyView() {
    QTest::addColumn<QString>("id");
    for (const ViewInfo& info : views()) QTest::addRow("%s", info.id) << info.id;
  }
  static fixture::Options optionsFor(const QString& id) {
    fixture::Options options;
    options.policies = id == "audit" || id == "smartkv";
    options.lanes = id == "lanes";
    options.wlod = id == "tree";
    options.quant = id == "quant";
    return options;
  }
  static std::unique_ptr<InspectorView> make(const QString& id, FakeContext& context) {
    context.measured = true;
    std::unique_ptr<InspectorView> view(makeView(*findView(id), context, nullptr));
    view->resize(1180, 420);
    golden::settle(*view);
    return view;
  }
};

KV_TEST(ViewOptionsTest)
#include "view_options_test.moc"
