// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/base/ask_path.h"

#include <QCheckBox>
#include <QDir>
#include <QFileDialog>
#include <QGridLayout>

namespace kvlab {
namespace {

void addChoice(QFileDialog* dialog, const PathQuestion& question) {
  dialog->setOption(QFileDialog::DontUseNativeDialog);  // which takes no other widgets
  auto* box = new QCheckBox(question.choice, dialog);
  box->setChecked(*question.chosen);
  QObject::connect(box, &QCheckBox::toggled, dialog, [chosen = question.chosen](bool on) { *chosen = on; });
  auto* grid = static_cast<QGridLayout*>(dialog->layout());
  grid->addWidget(box, grid->rowCount(), 0, 1, -1);
}

}  // namespace

void askForPath(QWidget* parent, const PathQuestion& question, std::function<void(QString)> answer) {
  auto* dialog = new QFileDialog(parent, question.title,
                                 question.folder.isEmpty() ? QDir::currentPath() : question.folder, question.filter);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setModal(false);
  dialog->setFileMode(question.filter.isEmpty() ? QFileDialog::Directory
                          : question.save       ? QFileDialog::AnyFile
                                                : QFileDialog::ExistingFile);
  if (question.save) dialog->setAcceptMode(QFileDialog::AcceptSave);
  if (!question.choice.isEmpty()) addChoice(dialog, question);
  if (!question.suffix.isEmpty()) dialog->setDefaultSuffix(question.suffix);
  QObject::connect(dialog, &QFileDialog::fileSelected, parent, answer);
  dialog->show();
}

}  // namespace kvlab
