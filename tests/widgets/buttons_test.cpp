// SPDX-License-Identifier: GPL-3.0-or-later
// Every button of every view declares the effect of its click, and has this effect: it runs one command of the
// registry, or it changes nothing but its view. Real clicks.
#include <QAbstractButton>
#include <QLineEdit>
#include <QTabBar>
#include <QToolButton>

#include "fake_context.h"
#include "golden.h"
#include "support/runner.h"
#include "widgets/base/button_use.h"
#include "widgets/base/view_registry.h"

using namespace kvlab;

namespace {
/// Without those that Qt puts into its own widgets.
QList<QAbstractButton*> buttonsOf(const QWidget& view) {
  QList<QAbstractButton*> buttons = view.findChildren<QAbstractButton*>();
  buttons.removeIf([](const QAbstractButton* button) {
    return qobject_cast<QLineEdit*>(button->parent()) || qobject_cast<QTabBar*>(button->parent()) ||
        button->inherits("QTableCornerButton");
  });
  return buttons;
}

bool opensMenu(const QAbstractButton& button) {
  const auto* tool = qobject_cast<const QToolButton*>(&button);
  return tool && tool->menu();
}
}  // namespace

class ButtonsTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() { Theme::apply(*qApp, "dark"); }

  void clicksDoWhatButtonsSay_data() {
    QTest::addColumn<QString>("id");
    for (const ViewInfo& info : views()) QTest::newRow(qPrintable(info.id)) << info.id;
  }
  void clicksDoWhatButtonsSay() {
    QFETCH(QString, id);
    fixture::Options options;
    options.wlod = id == "tree";
    FakeContext context(options);
    const std::unique_ptr<InspectorView> view(makeView(*findView(id), context, nullptr));
    view->resize(1100, 700);
    view->show();
    QVERIFY(golden::settle(*view));
    context.focusPosition(Position(44));
    QVERIFY(golden::settle(*view));
    QList<QPointer<QAbstractButton>> buttons;  // a click may take others away
    for (QAbstractButton* button : buttonsOf(*view)) buttons << button;
    for (const QPointer<QAbstractButton>& button : buttons) {
      if (!button) continue;
      const QByteArray name = (button->accessibleName() + " of " + id).toUtf8();
      const std::string command = commandOf(*button).toStdString();
      QVERIFY2(command.empty() == isOwn(*button), name);
      if (opensMenu(*button) || !button->isEnabled() || !button->isVisible()) continue;
      context.commands.clear();
      context.submitted.clear();
      const std::size_t measures =
          (id == "quant" || id == "attention") && isOwn(*button) ? 1 : 0;  // values that a view follows are asked for
      button->click();
      QCOMPARE(context.commands.size(), std::size_t{command.empty() ? 0u : 1u});
      if (!command.empty()) QCOMPARE(context.commands[0].verb, command);
      QVERIFY2(context.submitted.size() <= measures, name);
      QTest::qWait(1);
    }
  }
};

KV_TEST(ButtonsTest)
#include "buttons_test.moc"
