// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/ask_path.h"

#include <QDir>
#include <QFileDialog>

namespace kvlab {

void askForPath(QWidget* parent, const PathQuestion& question, std::function<void(QString)> answer) {
  auto* dialog = new QFileDialog(parent, question.title,
                                 question.folder.isEmpty() ? QDir::currentPath() : question.folder, question.filter);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setModal(false);
  dialog->setFileMode(question.filter.isEmpty() ? QFileDialog::Directory
                          : question.save       ? QFileDialog::AnyFile
                                                : QFileDialog::ExistingFile);
  if (question.save) dialog->setAcceptMode(QFileDialog::AcceptSave);
  if (!question.suffix.isEmpty()) dialog->setDefaultSuffix(question.suffix);
  QObject::connect(dialog, &QFileDialog::fileSelected, parent, answer);
  dialog->show();
}

}  // namespace kvlab
