// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/commands/notes_markdown.h"

#include <QUrl>

namespace kvlab {
namespace {

/// Text that means nothing to Markdown.
QString plainWords(const QString& text) {
  QString out;
  for (const QChar c : text) {
    if (QStringLiteral("\\`*_{}[]<>#|~!").contains(c)) out += '\\';
    out += c;
  }
  return out;
}

/// A fence that is longer than every run of backticks in the lines.
QString fenceFor(const QString& lines) {
  QString fence = QStringLiteral("```");
  while (lines.contains(fence)) fence += '`';
  return fence;
}

QString section(int number, const NotePage& page) {
  QString head = QStringLiteral("## %1. Tick %2").arg(number).arg(page.note.tick.value());
  if (!page.place.isEmpty()) head += ", " + plainWords(page.place);
  QString out = head + "\n\n";
  out += page.note.text.empty() ? QStringLiteral("*Bookmark*") : QString::fromStdString(page.note.text);
  out += "\n\n";
  if (!page.picture.isEmpty())
    out += QStringLiteral("![Tick %1](%2)\n\n")
               .arg(page.note.tick.value())
               .arg(QString::fromLatin1(QUrl::toPercentEncoding(page.picture)));
  else out += QStringLiteral("No picture: %1.\n\n").arg(page.missing);
  if (page.script.isEmpty())
    return out + QStringLiteral("No script leads here: the history of the session does not have this state.\n");
  const QString fence = fenceFor(page.script);
  return out + QStringLiteral("These lines lead here:\n\n%1js\n%2%1\n").arg(fence, page.script);
}

}  // namespace

QString notesMarkdown(const QString& about, const std::vector<NotePage>& pages) {
  QString out = QStringLiteral("# Notes\n%1\n").arg(plainWords(about));
  for (std::size_t i = 0; i < pages.size(); ++i) out += '\n' + section(static_cast<int>(i) + 1, pages[i]);
  return out;
}

}  // namespace kvlab
