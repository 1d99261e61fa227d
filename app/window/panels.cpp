// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/panels.h"

#include <QHeaderView>
#include <QLabel>
#include <QTableWidget>
#include <QVBoxLayout>

#include "app/base/icons.h"

namespace kvlab {

CommandHelpPanel::CommandHelpPanel(const CommandRegistry& registry, QWidget* parent) : QDialog(parent) {
  setAttribute(Qt::WA_DeleteOnClose);
  setWindowTitle(tr("Commands and Shortcuts"));
  resize(860, 680);
  auto* table = new QTableWidget(0, 4, this);
  table->setHorizontalHeaderLabels({tr("Command"), tr("Keys"), tr("Script name"), tr("What it does")});
  table->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table->setSelectionBehavior(QAbstractItemView::SelectRows);
  table->setAlternatingRowColors(true);
  table->setShowGrid(false);
  table->verticalHeader()->hide();
  for (const Command& command : registry.all()) {
    const int row = table->rowCount();
    table->insertRow(row);
    const QStringList cells{command.title, command.keys.join(", "), command.id, command.help};
    for (int column = 0; column < cells.size(); ++column)
      table->setItem(row, column, new QTableWidgetItem(cells[column]));
  }
  table->resizeColumnsToContents();
  table->horizontalHeader()->setStretchLastSection(true);
  (new QVBoxLayout(this))->addWidget(table);
}

AboutPanel::AboutPanel(const QString& version, const QString& numerics, const QString& backends, QWidget* parent)
    : QDialog(parent) {
  setAttribute(Qt::WA_DeleteOnClose);
  setWindowTitle(tr("About kvlab"));
  auto* icon = new QLabel(this);
  icon->setPixmap(programIcon().pixmap(96, 96));
  auto* text = new QLabel(this);
  text->setWordWrap(true);
  text->setMinimumWidth(420);
  text->setTextInteractionFlags(Qt::TextSelectableByMouse);
  text->setText(tr("<h3>kvlab %1</h3><p>Inspector and experiment workbench for transformer KV caches.</p>"
                   "<p>Numerics of this session: %2<br>%3</p>"
                   "<p>The program is GPL-3.0-or-later; engine and kernels are Apache-2.0. It uses Qt, "
                   "QCustomPlot, spdlog, nlohmann/json, CLI11, Highway, xxHash, PCRE2 and SentencePiece; "
                   "fonts: Inter and JetBrains Mono (OFL).</p>")
                    .arg(version, numerics.isEmpty() ? tr("none") : numerics, backends));
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(24, 24, 24, 24);
  row->setSpacing(24);
  row->addWidget(icon, 0, Qt::AlignTop);
  row->addWidget(text);
}

}  // namespace kvlab
