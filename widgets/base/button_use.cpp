// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/button_use.h"

#include <QPushButton>

namespace kvlab {
namespace {
constexpr const char* kCommand = "command";
constexpr const char* kOwn = "own";
}  // namespace

void setCommand(QAbstractButton* button, const char* id) { button->setProperty(kCommand, QLatin1String(id)); }

void runsCommand(QAbstractButton* button, InspectorContext& context, const char* id) {
  setCommand(button, id);
  QObject::connect(button, &QAbstractButton::clicked, &context,
                   [&context, id] { context.runCommand(QLatin1String(id), nlohmann::json::object()); });
}

void setOwn(std::initializer_list<QAbstractButton*> buttons) {
  for (QAbstractButton* button : buttons) button->setProperty(kOwn, true);
}

QPushButton* pushButton(const QString& text, const QString& tip, QWidget* parent) {
  auto* made = new QPushButton(text, parent);
  made->setToolTip(tip);
  made->setAccessibleName(QString(text).remove(QLatin1Char('&')));
  made->setAutoDefault(false);
  return made;
}

QString commandOf(const QAbstractButton& button) { return button.property(kCommand).toString(); }
bool isOwn(const QAbstractButton& button) { return button.property(kOwn).toBool(); }

}  // namespace kvlab
