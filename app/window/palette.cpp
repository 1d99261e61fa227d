// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/palette.h"

namespace kvlab {

Palette::Palette(const CommandRegistry& registry, CommandHost& host, QWidget* parent)
    : PopupList(tr("Type a command"), tr("Command"), tr("Commands"), parent), m_registry(registry), m_host(host) {}

void Palette::fill(const QString& text) {
  for (const Command* command : m_registry.matching(text))
    addEntry({command->title, command->help, command->keys.value(0), obstacle(*command, m_host), command->id});
}

QStringList Palette::shownIds() const {
  QStringList ids;
  for (int row = 0; row < list().count(); ++row) ids << dataOf(row).toString();
  return ids;
}

void Palette::take(const QVariant& id) { m_host.context().runCommand(id.toString(), nlohmann::json::object()); }

}  // namespace kvlab
