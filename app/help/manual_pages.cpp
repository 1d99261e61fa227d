// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/help/manual_pages.h"

#include <QFile>
#include <QFileInfo>
#include <QRegularExpression>
#include <algorithm>

#include "core/api/texts.h"

namespace kvlab {

namespace {

QString readText(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

/// Removes parts that the window cannot show: comments and missing pictures.
QString shownText(const QString& folder, QString text) {
  static const QRegularExpression comment("<!--.*?-->\n?", QRegularExpression::DotMatchesEverythingOption);
  static const QRegularExpression picture(R"(!\[[^\]]*\]\(([^)]*)\)\n?)");
  text.remove(comment);
  for (qsizetype at = 0;;) {
    const QRegularExpressionMatch found = picture.match(text, at);
    if (!found.hasMatch()) return text;
    const bool exists = QFileInfo::exists(folder + '/' + found.captured(1));
    at = exists ? found.capturedEnd() : found.capturedStart();
    if (!exists) text.remove(found.capturedStart(), found.capturedLength());
  }
}

QString titleOf(const QString& text, const QString& otherwise) {
  const QString first = text.section('\n', 0, 0);
  return first.startsWith("# ") ? first.mid(2).trimmed() : otherwise;
}

/// The words of a line, without Markdown signs and addresses of links.
QString plainLine(QString line) {
  static const QRegularExpression link(R"(!?\[([^\]]*)\]\([^)]*\))");
  static const QRegularExpression signs(R"(^[#\s|>-]+|[`*|]+|\s+$)");
  return line.replace(link, "\\1").remove(signs).simplified();
}

QString plainText(const QString& text) {
  QStringList lines = text.split('\n');
  for (QString& line : lines) line = plainLine(line);
  return lines.join('\n');
}

QString firstLine(const QString& plain, const QString& words) {
  for (const QString& line : plain.split('\n'))
    if (line.contains(words, Qt::CaseInsensitive)) return line;
  return {};
}

}  // namespace

QString headingAnchor(const QString& heading) {
  static const QRegularExpression others("[^\\w -]");
  return QString(heading.toLower()).remove(others).replace(' ', '-');
}

void ManualPages::add(const QString& id, const QString& group) {
  const QString text = shownText(m_folder, readText(m_folder + '/' + id + ".md"));
  if (!text.isEmpty() && !find(id)) m_pages.push_back({id, titleOf(text, id), group, text, plainText(text)});
}

Result<ManualPages> ManualPages::read(const QString& folder) {
  ManualPages pages;
  pages.m_folder = folder;
  pages.add("index", {});
  if (pages.m_pages.empty())
    return Error("no_resources", "the manual was not opened", "there is no " + folder.toStdString() + "/index.md",
                 "set KVLAB_RESOURCES to the folder of the program's files");
  static const QRegularExpression link(R"(^- \[[^\]]*\]\(([\w-]+)\.md\))");
  QString group;
  for (const QString& line : QString(pages.m_pages[0].text).split('\n')) {
    if (line.startsWith("## ")) group = line.mid(3).trimmed();
    if (const auto found = link.match(line); found.hasMatch()) pages.add(found.captured(1), group);
  }
  return pages;
}

const ManualPage* ManualPages::find(const QString& id) const {
  const auto found = std::find_if(m_pages.begin(), m_pages.end(), [&](const auto& page) { return page.id == id; });
  return found == m_pages.end() ? nullptr : &*found;
}

Result<QString> ManualPages::resolve(const QString& name) const {
  QString id = name.section('#', 0, 0);
  if (id.endsWith(".md")) id.chop(3);
  if (find(id)) return id;
  std::vector<std::string> names;
  for (const ManualPage& page : m_pages) names.push_back(page.id.toStdString());
  return Error("unknown_page", "the manual has no page " + name.toStdString(),
               "index.md does not link it" + nearestNote(id.toStdString(), names),
               "name a page of the list in Help > Manual", "page", name.toStdString());
}

std::vector<ManualHit> ManualPages::search(const QString& words) const {
  std::vector<ManualHit> titles, texts;
  for (std::size_t i = 0; i < m_pages.size(); ++i) {
    const auto count = static_cast<int>(m_pages[i].plain.count(words, Qt::CaseInsensitive));
    const bool inTitle = m_pages[i].title.contains(words, Qt::CaseInsensitive);
    if (inTitle || count > 0) (inTitle ? titles : texts).push_back({i, count, firstLine(m_pages[i].plain, words)});
  }
  titles.insert(titles.end(), texts.begin(), texts.end());
  return titles;
}

}  // namespace kvlab
