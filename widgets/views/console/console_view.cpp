// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/console/console_view.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QMimeData>
#include <QScrollBar>
#include <QTextBlock>
#include <QToolButton>
#include <algorithm>

#include "widgets/base/button_use.h"
#include "widgets/base/format.h"
#include "widgets/base/panes.h"
#include "widgets/base/view_registry.h"

namespace kvlab {
namespace {
/// Names that scripts may start with.
const char* const kNames =
    "s.step( s.stepAction( s.break( s.clearBreaks( s.run( s.inject( s.apply( s.plan( s.evict( s.setBrightness( "
    "s.pin( s.rebuild( s.fault( s.undo( s.redo( s.goto( s.branches( s.fork( s.close( s.tick s.length s.text( "
    "s.tokens( s.stateHash( s.pos2ledger( s.rows( s.ledger( s.history( s.logits( s.topk( s.attention( s.row( "
    "s.invariants( s.drift( s.bytes( s.prompt( s.promptIds( s.prefill( s.endPrefill( s.tokenise( s.detokenise( "
    "s.saveCache( s.loadCache( s.saveCapture( lab.open( lab.openCapture( view.show( view.focus( view.theme( "
    "view.size( view.screenshot( view.command( view.list( expect( expectNear( expectError( log(";

constexpr int kSign = 2;  // characters

QString sign(ConsoleView::Kind kind) {
  switch (kind) {
    case ConsoleView::Kind::Entered: return QStringLiteral("› ");
    case ConsoleView::Kind::Failure: return QStringLiteral("✗ ");
    case ConsoleView::Kind::Click: return QStringLiteral("· ");
    default: return QStringLiteral("  ");
  }
}

QColor colour(ConsoleView::Kind kind, const Theme& theme) {
  switch (kind) {
    case ConsoleView::Kind::Entered: return theme.text;
    case ConsoleView::Kind::Failure: return theme.error;
    case ConsoleView::Kind::Click: return theme.faint;
    default: return theme.accent;
  }
}

/// Puts the sign of its kind before every line of the text.
QString signedText(ConsoleView::Kind kind, const QString& text) {
  QString shown = text;
  return sign(kind) + shown.replace(QLatin1Char('\n'), QStringLiteral("\n  "));
}
bool isScript(ConsoleView::Kind kind) { return kind == ConsoleView::Kind::Entered || kind == ConsoleView::Kind::Click; }

/// Copies text as a script: lines without their signs, printed output as comments. A block knows its kind.
class ConsoleOutput : public QPlainTextEdit {
 public:
  using QPlainTextEdit::QPlainTextEdit;

 protected:
  QMimeData* createMimeDataFromSelection() const override {
    QTextCursor at = textCursor();
    QStringList lines;
    for (QTextBlock block = document()->findBlock(at.selectionStart());
         block.isValid() && block.position() < at.selectionEnd(); block = block.next()) {
      const int from = std::max(at.selectionStart() - block.position(), kSign);
      const QString part = block.text().mid(from, at.selectionEnd() - block.position() - from);
      lines << (isScript(static_cast<ConsoleView::Kind>(block.userState())) ? part : "// " + part);
    }
    auto* copied = new QMimeData;
    copied->setText(lines.join('\n'));
    return copied;
  }
};
}  // namespace

ConsoleView::ConsoleView(InspectorContext& context, QWidget* parent) : InspectorView(context, parent) {
  makeStrip();
  makeBody();
  setCompletions(QString::fromLatin1(kNames).split(QLatin1Char(' ')));
  setMainControl(m_input);
  connect(&context, &InspectorContext::scripted, this, [this](const QString& line) { add(Kind::Click, line); });
  addViewAction(
      tr("Clear"), tr("Clear the console"), [this] { clear(); }, Qt::CTRL | Qt::Key_L);
  onTheme();
  refresh();
}

void ConsoleView::makeStrip() {
  m_count = stripLabel({}, 1);
  m_clicks = stripTool(tr("Show clicks"), tr("Show the script line of each click"));
  m_clicks->setCheckable(true);
  m_clicks->setChecked(true);
  m_copy = stripTool(tr("Copy"), tr("Copy all lines as a script; what was printed becomes comments"));
  m_clear = stripTool(tr("Clear"), tr("Clear the console (Ctrl+L)"));
  connect(m_clicks, &QToolButton::toggled, this, &ConsoleView::reprint);
  connect(m_copy, &QToolButton::clicked, this, [this] { QGuiApplication::clipboard()->setText(script()); });
  connect(m_clear, &QToolButton::clicked, this, &ConsoleView::clear);
}

void ConsoleView::makeBody() {
  m_output = new ConsoleOutput(this);
  m_output->setReadOnly(true);
  settleBars(m_output);
  m_output->setFrameShape(QFrame::NoFrame);
  m_output->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  m_output->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  m_output->setFont(theme()->mono);
  m_output->setMaximumBlockCount(kLimit);
  m_output->setUndoRedoEnabled(false);
  m_output->setAccessibleName(tr("Console output"));
  m_output->setToolTip(tr("Entered lines ›, errors ✗, script lines of clicks ·"));
  m_output->document()->setDocumentMargin(Theme::kMedium);
  m_input = new ScriptInput(this);
  m_prompt = new QLabel(QStringLiteral("›"), m_input);
  m_prompt->setFont(theme()->monoStrong);
  m_prompt->setGeometry(10, 7, 14, m_input->fontMetrics().lineSpacing());
  setContent(m_output);
  m_rule = new QWidget(this);
  m_rule->setFixedHeight(1);
  body()->addWidget(m_rule);
  body()->addWidget(m_input);
  connect(m_input, &ScriptInput::entered, this, &ConsoleView::enter);
}

void ConsoleView::enter(const QString& text) {
  add(Kind::Entered, text);
  ++m_running;
  refresh();
  context().evaluate(text, this, [this](const QString& printed, bool failed) {
    --m_running;
    if (failed || !printed.isEmpty()) add(failed ? Kind::Failure : Kind::Result, printed);
    refresh();
  });
}

void ConsoleView::add(Kind kind, const QString& text) {
  m_entries.push_back({kind, text});
  while (m_entries.size() > kLimit) m_entries.pop_front();
  print(m_entries.back());
  refresh();
}

void ConsoleView::print(const Entry& entry) {
  if (!isShown(entry)) return;
  QTextCharFormat format;
  format.setForeground(colour(entry.kind, *theme()));
  const bool atEnd = m_output->verticalScrollBar()->value() >= m_output->verticalScrollBar()->maximum();
  QTextCursor cursor(m_output->document());
  cursor.movePosition(QTextCursor::End);
  if (!m_output->document()->isEmpty()) cursor.insertBlock();
  cursor.insertText(signedText(entry.kind, entry.text), format);
  QTextBlock block = cursor.block();
  for (auto lines = entry.text.count(QLatin1Char('\n')); lines >= 0 && block.isValid();
       --lines, block = block.previous())
    block.setUserState(static_cast<int>(entry.kind));
  if (atEnd || entry.kind == Kind::Entered)
    m_output->verticalScrollBar()->setValue(m_output->verticalScrollBar()->maximum());
}

void ConsoleView::reprint() {
  m_output->clear();
  for (const Entry& entry : m_entries) print(entry);
}

void ConsoleView::clear() {
  m_entries.clear();
  m_output->clear();
  refresh();
}

QString ConsoleView::lines(const std::function<QString(const Entry& entry)>& said) const {
  QString text;
  for (const Entry& entry : m_entries)
    if (isShown(entry)) text += said(entry) + QLatin1Char('\n');
  return text;
}

/// As a script: printed lines become comments.
QString ConsoleView::script() const {
  return lines([](const Entry& entry) {
    if (isScript(entry.kind)) return entry.text;
    return "// " + QString(entry.text).replace(QLatin1Char('\n'), QStringLiteral("\n// "));
  });
}

void ConsoleView::refresh() {
  const bool any = !m_entries.empty();
  setEmpty(any ? QString() : tr("The script language, line by line"),
           tr("Type s.step() and press Return, or click anywhere: the line that does the same appears here."));
  m_copy->setEnabled(any);
  m_clear->setEnabled(any);
  m_count->setText(m_running ? tr("running…")
                       : any ? counted(static_cast<qint64>(m_entries.size()), tr("entry"), tr("entries"))
                             : QString());
}

void ConsoleView::onTheme() {
  if (!m_input) return;
  m_output->setFont(theme()->mono);
  m_input->setFont(theme()->mono);
  m_prompt->setFont(theme()->monoStrong);
  tint(m_prompt, theme()->accent);
  m_rule->setStyleSheet(QStringLiteral("background: %1;").arg(theme()->border.name()));
  reprint();
}

bool ConsoleView::isShown(const Entry& entry) const { return entry.kind != Kind::Click || m_clicks->isChecked(); }

QString ConsoleView::dump() const {
  return QStringLiteral("console\n") + lines([](const Entry& entry) { return signedText(entry.kind, entry.text); });
}

}  // namespace kvlab

KVLAB_DEFINE_VIEW(ConsoleView)
