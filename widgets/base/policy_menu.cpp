// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/policy_menu.h"

#include <QCoreApplication>
#include <QLabel>
#include <QMenu>
#include <QWidgetAction>

#include "core/api/policy_spec.h"
#include "widgets/base/format.h"
#include "widgets/base/theme.h"

namespace kvlab {
namespace {
constexpr int kHeader = 260;  // pixels
constexpr const char* kRatios[] = {"0.5", "0.25", "0.1"};

QString tr(const char* text) { return QCoreApplication::translate("kvlab::PolicyMenu", text); }

void add(QMenu* menu, const QString& title, const QString& tip, const std::string& policy,
         const std::function<void(const std::string&)>& chosen) {
  QAction* action = menu->addAction(title);
  action->setToolTip(tip);
  QObject::connect(action, &QAction::triggered, menu, [chosen, policy] { chosen(policy); });
}
/// A menu cuts its section titles to the width of its entries; these break into lines.
void addHeader(QMenu* menu, const QString& text) {
  auto* label = new QLabel(text, menu);
  label->setObjectName(QStringLiteral("menuHeader"));
  label->setWordWrap(true);
  label->setFont(Theme::current()->small);
  label->setForegroundRole(QPalette::PlaceholderText);
  label->setContentsMargins(Theme::kLarge, Theme::kSmall, Theme::kLarge, Theme::kSmall);
  label->setFixedSize(kHeader, label->heightForWidth(kHeader));
  auto* action = new QWidgetAction(menu);
  action->setDefaultWidget(label);
  action->setEnabled(false);
  menu->addAction(action);
}
}  // namespace

void fillPolicyMenu(QMenu* menu, const std::function<void(const std::string& policy)>& chosen) {
  menu->setToolTipsVisible(true);
  for (const PolicyName& policy : policies()) {
    const std::string name(policy.name);
    if (name == "full") {
      add(menu, wordOf(policy.name), wordOf(policy.help), name, chosen);
      menu->addSeparator();
      continue;
    }
    QMenu* own = menu->addMenu(wordOf(policy.name));
    own->menuAction()->setToolTip(wordOf(policy.help));
    own->setToolTipsVisible(true);
    addHeader(own, wordOf(policy.help));
    for (const char* ratio : kRatios)
      add(own, tr("keep %1 % of the prompt").arg(QString::number(100 * QString::fromLatin1(ratio).toDouble())),
          wordOf(policy.help), name + ":ratio=" + ratio, chosen);
    for (const PolicyPreset& preset : policyPresets())
      if (preset.policy == policy.name)
        add(own, tr("preset %1").arg(wordOf(preset.name)),
            wordOf(preset.keys) + (preset.source.empty() ? QString() : QStringLiteral("\n") + wordOf(preset.source)),
            name + ":preset=" + std::string(preset.name), chosen);
  }
}

}  // namespace kvlab
