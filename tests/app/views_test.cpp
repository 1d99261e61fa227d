// SPDX-License-Identifier: GPL-3.0-or-later
// The entry of each view in the list of views: its key, its place and its tab; and that the list may grow.
#include "app/commands/command_registry.h"
#include "support/runner.h"
#include "widgets/base/view_registry.h"

using namespace kvlab;

namespace {
/// Every key of these commands, by the command that has it; empty if two have one.
QHash<QString, QString> keysOf(const std::vector<Command>& commands) {
  QHash<QString, QString> keys;
  for (const Command& command : commands)
    for (const QString& key : command.keys) {
      const QString same = QKeySequence(key, QKeySequence::PortableText).toString(QKeySequence::PortableText);
      if (keys.contains(same)) return {};
      keys[same] = command.id;
    }
  return keys;
}
}  // namespace

class ViewsTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void everyKeyIsOfOneCommand() {
    const auto keys = keysOf(builtinCommands(viewNames()));
    QVERIFY(!keys.isEmpty());
    for (const ViewInfo& view : views()) {
      if (!*view.key) continue;
      QVERIFY2(!QKeySequence(view.key, QKeySequence::PortableText).isEmpty(), view.id);
      QCOMPARE(keys.value(view.key), QString("show_") + view.id);
    }
  }

  /// A key stays with its view, whatever other views come before it.
  void keysOfEarlyViewsStay() {
    QCOMPARE(QString(findView("map")->key), QString("Alt+1"));
    QCOMPARE(QString(findView("model")->key), QString("Alt+9"));
    QCOMPARE(QString(findView("lanes")->key), QString("Alt+Shift+9"));
    QCOMPARE(QString(findView("quant")->key), QString("Ctrl+Alt+2"));
    std::vector<ViewName> more = viewNames();
    more.insert(more.begin(), {"early", "Early"});
    for (const Command& command : builtinCommands(more))
      if (command.id == "show_map") QCOMPARE(command.keys, QStringList("Alt+1"));
  }

  void fortyViewsAreNoFault() {
    std::vector<ViewName> many = viewNames();
    while (many.size() < 40) many.push_back({QString("view_%1").arg(many.size()), "View"});
    const std::vector<Command> commands = builtinCommands(many);
    QVERIFY(!keysOf(commands).isEmpty());
    qsizetype shown = 0;
    for (const Command& command : commands) shown += command.id.startsWith("show_");
    QCOMPARE(shown, 40);
    QVERIFY(CommandRegistry(commands).find("show_view_39")->keys.isEmpty());
  }

  void oneTabOfEachDockIsInFront() {
    QMap<DockArea, int> all, front;
    for (const ViewInfo& view : views()) {
      ++all[view.area];
      front[view.area] += view.tab == DockTab::Front;
    }
    for (const DockArea area : all.keys())
      QCOMPARE(front[area], area == DockArea::Centre ? all[area] : 1);  // the centre has no tabs
  }
};

KV_TEST(ViewsTest)
#include "views_test.moc"
