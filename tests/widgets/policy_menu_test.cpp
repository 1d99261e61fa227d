// SPDX-License-Identifier: GPL-3.0-or-later
// The menu of policies: the headings of submenus can be read in full.
#include <QLabel>
#include <QMenu>

#include "core/api/policy_spec.h"
#include "support/runner.h"
#include "widgets/base/policy_menu.h"
#include "widgets/base/theme.h"

using namespace kvlab;

class PolicyMenuTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void headersAreNotCut() {
    Theme::apply(*qApp, "dark");
    QMenu menu;
    std::string chosen;
    fillPolicyMenu(&menu, [&](const std::string& policy) { chosen = policy; });
    int seen = 0;
    for (QAction* entry : menu.actions()) {
      QMenu* own = entry->menu();
      if (!own) continue;
      own->popup({10, 10});
      const auto* header = own->findChild<QLabel*>("menuHeader");
      QVERIFY2(header && header->isVisible(), qPrintable(entry->text()));
      QVERIFY2(own->rect().contains(header->geometry()), qPrintable(header->text()));
      QVERIFY2(header->heightForWidth(header->width()) <= header->height(), qPrintable(header->text()));
      QTest::keyClick(own, Qt::Key_Down);  // the header cannot be chosen
      QTest::keyClick(own, Qt::Key_Return);
      QVERIFY2(chosen.find(":ratio=0.5") != std::string::npos, chosen.c_str());
      chosen.clear();
      ++seen;
    }
    QCOMPARE(seen, static_cast<int>(policies().size()) - 1);  // one keeps every row
  }
};

KV_TEST(PolicyMenuTest)
#include "policy_menu_test.moc"
