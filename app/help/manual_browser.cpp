// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/help/manual_browser.h"

#include <QDesktopServices>
#include <QFileInfo>
#include <QScrollBar>
#include <QTextBlock>
#include <QTextTable>

#include "widgets/base/theme.h"

namespace kvlab {

namespace {

constexpr int kMargin = 24;

void dressTable(QTextTable& table, const Theme& look) {
  QTextTableFormat format = table.format();
  format.setBorderCollapse(true);
  format.setBorder(1);
  format.setBorderStyle(QTextFrameFormat::BorderStyle_Solid);
  format.setBorderBrush(look.border);
  format.setCellPadding(Theme::kSmall);
  format.setTopMargin(Theme::kMedium);
  format.setBottomMargin(Theme::kMedium);
  table.setFormat(format);
}

}  // namespace

ManualBrowser::ManualBrowser(const ManualPages& pages, QWidget* parent) : QTextBrowser(parent), m_pages(pages) {
  setObjectName("manual_page");
  setAccessibleName(tr("Page"));
  setOpenLinks(false);
  setFrameShape(QFrame::NoFrame);
  document()->setDocumentMargin(kMargin);
  connect(this, &QTextBrowser::anchorClicked, this, &ManualBrowser::follow);
  connect(this, &QTextBrowser::sourceChanged, this, [this](const QUrl& url) {
    m_page = QFileInfo(url.path()).completeBaseName();  // source() is still the previous page
    document()->setLayoutEnabled(true);
    dress();
    goTo(url.fragment());
    emit pageShown(m_page);
  });
}

void ManualBrowser::open(const QString& name) {
  const auto id = m_pages.resolve(name);
  if (!id) return;
  QUrl url = address(*id);
  url.setFragment(name.section('#', 1));
  setSource(url, QTextDocument::MarkdownResource);
}

QUrl ManualBrowser::address(const QString& id) const {
  return QUrl::fromLocalFile(m_pages.folder() + '/' + id + ".md");
}

QVariant ManualBrowser::loadResource(int type, const QUrl& name) {
  if (type == QTextDocument::ImageResource) return picture(address(m_page).resolved(name));
  const ManualPage* page = m_pages.find(QFileInfo(name.path()).completeBaseName());
  document()->setLayoutEnabled(false);  // otherwise a table is laid out again for each of its rows
  return page ? page->text : QString();
}

/// Opens pages of the manual here, and other links on the desktop.
void ManualBrowser::follow(const QUrl& link) {
  const QUrl url = address(m_page).resolved(link);
  const QString name = QFileInfo(url.path()).fileName();
  if (!url.isLocalFile() || !name.endsWith(".md") || !m_pages.resolve(name)) QDesktopServices::openUrl(url);
  else open(url.hasFragment() ? name + '#' + url.fragment() : name);
}

/// The picture, at most as wide as the page.
QImage ManualBrowser::picture(const QUrl& name) const {
  const QImage image(name.toLocalFile());
  const int room = viewport()->width() - 2 * kMargin;
  if (image.width() <= room || room <= 0) return image;
  return image.scaledToWidth(static_cast<int>(room * devicePixelRatioF()), Qt::SmoothTransformation);
}

void ManualBrowser::fitPictures() {
  const QSignalBlocker quiet(document());
  QTextCursor cursor(document());
  for (QTextBlock block = document()->begin(); block.isValid(); block = block.next())
    for (auto at = block.begin(); !at.atEnd(); ++at) {
      if (!at.fragment().charFormat().isImageFormat()) continue;
      QTextImageFormat format = at.fragment().charFormat().toImageFormat();
      const QUrl name = address(m_page).resolved(QUrl(format.name()));
      const QImage fitted = picture(name);
      document()->addResource(QTextDocument::ImageResource, name, fitted);
      document()->addResource(QTextDocument::ImageResource, QUrl(format.name()), fitted);
      const int room = std::max(1, viewport()->width() - 2 * kMargin);
      format.setWidth(std::min(room, QImage(name.toLocalFile()).width()));
      cursor.setPosition(at.fragment().position());
      cursor.setPosition(at.fragment().position() + at.fragment().length(), QTextCursor::KeepAnchor);
      cursor.setCharFormat(format);
      break;  // the change has replaced the block's fragments
    }
}

/// Sets fonts and backgrounds of code, lines of tables and space between paragraphs.
void ManualBrowser::dress() {
  m_dressing = true;
  const auto look = Theme::current();
  QTextCursor cursor(document());
  cursor.beginEditBlock();
  for (QTextFrame* frame : document()->rootFrame()->childFrames())
    if (auto* table = qobject_cast<QTextTable*>(frame)) dressTable(*table, *look);
  for (QTextBlock block = document()->begin(); block.isValid(); block = block.next()) {
    cursor.setPosition(block.position());
    QTextBlockFormat format = block.blockFormat();
    const bool code = format.hasProperty(QTextFormat::BlockCodeFence) || format.nonBreakableLines();
    if (code) format.setBackground(look->sunken);
    format.setLineHeight(code ? 110 : 125, QTextBlockFormat::ProportionalHeight);
    cursor.setBlockFormat(format);
  }
  dressCode(cursor);
  cursor.endEditBlock();
  fitPictures();
  m_dressing = false;
}

void ManualBrowser::dressCode(QTextCursor& cursor) {
  const auto look = Theme::current();
  struct Part {
    int from, length;
  };
  std::vector<Part> parts;
  for (QTextBlock block = document()->begin(); block.isValid(); block = block.next())
    for (auto at = block.begin(); !at.atEnd(); ++at)
      if (at.fragment().charFormat().fontFixedPitch() && !at.fragment().charFormat().isAnchor())
        parts.push_back({at.fragment().position(), at.fragment().length()});
  QTextCharFormat mono;
  mono.setFontFamilies(look->mono.families());
  mono.setProperty(QTextFormat::FontPixelSize, look->mono.pixelSize());
  mono.setBackground(look->sunken);
  for (const Part& part : parts) {
    cursor.setPosition(part.from);
    cursor.setPosition(part.from + part.length, QTextCursor::KeepAnchor);
    cursor.mergeCharFormat(mono);
  }
}

void ManualBrowser::goTo(const QString& anchor) {
  if (anchor.isEmpty()) return;
  for (QTextBlock block = document()->begin(); block.isValid(); block = block.next()) {
    if (block.blockFormat().headingLevel() == 0 || headingAnchor(block.text()) != anchor) continue;
    setTextCursor(QTextCursor(block));
    verticalScrollBar()->setValue(cursorRect().top() + verticalScrollBar()->value());
    return;
  }
}

void ManualBrowser::mark(const QString& words) {
  QList<ExtraSelection> found;
  const auto look = Theme::current();
  QTextCharFormat format;
  format.setBackground(Theme::mix(look->surface, look->accent, 0.4));
  for (QTextCursor at(document()); !words.isEmpty();) {
    at = document()->find(words, at);
    if (at.isNull()) break;
    found.append({at, format});
  }
  setExtraSelections(found);
  if (found.isEmpty()) return;
  QTextCursor first = found.first().cursor;
  first.setPosition(first.selectionStart());
  setTextCursor(first);
}

void ManualBrowser::resizeEvent(QResizeEvent* event) {
  QTextBrowser::resizeEvent(event);
  if (!m_dressing) fitPictures();
}

void ManualBrowser::changeEvent(QEvent* event) {
  QTextBrowser::changeEvent(event);
  if (event->type() != QEvent::PaletteChange || m_page.isEmpty()) return;
  const int place = verticalScrollBar()->value();
  reload();
  verticalScrollBar()->setValue(place);
}

}  // namespace kvlab
