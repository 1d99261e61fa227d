// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/log/log_view.h"

#include <QComboBox>
#include <QHeaderView>
#include <QLineEdit>
#include <QScrollBar>
#include <QToolButton>
#include <algorithm>

#include "widgets/base/button_use.h"
#include "widgets/base/format.h"
#include "widgets/base/view_registry.h"

namespace kvlab {
namespace {
Tone toneOf(int level, Tone calm) {
  return level >= 4 ? Tone::Error : level == 3 ? Tone::Warning : level <= 1 ? Tone::Faint : calm;
}
}  // namespace

LogModel::LogModel(QObject* parent) : LineModel(parent) {
  const auto tone = [](Tone calm) { return [calm](const LogLine& line) { return toneOf(line.level, calm); }; };
  add("time", tr("Time"), {}, {"00:00:00.000", 1}, [](const LogLine& line) {
    return line.time.toString(QStringLiteral("HH:mm:ss.zzz"));
  }).toned(tone(Tone::Faint));
  add("level", tr("Level"), {}, {"critical", 2}, [](const LogLine& line) { return logLevelName(line.level); })
      .words()
      .toned(tone(Tone::Muted));
  add("text", tr("Message"), {}, QString(26, 'x'), [](const LogLine& line) { return line.text; })
      .toned(tone(Tone::Normal))
      .tips([](const LogLine& line) { return line.text; });
  withLines(kBadRole, [](const LogLine& line) { return line.level >= 4; });
}

QString logLevelName(int level) {
  static const QStringList kNames{QStringLiteral("trace"),   QStringLiteral("debug"), QStringLiteral("info"),
                                  QStringLiteral("warning"), QStringLiteral("error"), QStringLiteral("critical")};
  return kNames[std::clamp(level, 0, kLogLevels - 1)];
}

void LogModel::append(LogLine line) {
  if (rowCount() >= kLimit) {
    const int gone = kLimit / 10;
    beginRemoveRows({}, 0, gone - 1);
    m_lines.erase(m_lines.begin(), m_lines.begin() + gone);
    m_dropped += gone;
    endRemoveRows();
  }
  beginInsertRows({}, rowCount(), rowCount());
  m_lines.push_back(std::move(line));
  endInsertRows();
}

void LogModel::clear() {
  m_dropped = 0;
  replace({});
}

void LogFilter::setLeast(int level) {
  m_least = level;
  invalidateFilter();
}

void LogFilter::setNeedle(const QString& text) {
  m_needle = text;
  invalidateFilter();
}

bool LogFilter::filterAcceptsRow(int row, const QModelIndex&) const {
  const LogLine& line = static_cast<const LogModel*>(sourceModel())->line(row);
  return line.level >= m_least && (m_needle.isEmpty() || line.text.contains(m_needle, Qt::CaseInsensitive));
}

LogView::LogView(InspectorContext& context, QWidget* parent)
    : InspectorView(context, parent),
      m_model(new LogModel(this)),
      m_filter(new LogFilter(this)),
      m_clock([&context] { return context.now(); }) {
  m_filter->setSourceModel(m_model);
  makeStrip();
  makeTable();
  connect(&context, &InspectorContext::logged, this, &LogView::append);
  refresh();
}

void LogView::makeStrip() {
  stripLabel(tr("At least"));
  auto* levels = new QComboBox(this);
  for (int level = 0; level < kLogLevels; ++level) levels->addItem(logLevelName(level));
  levels->setCurrentIndex(2);
  m_filter->setLeast(2);
  levels->setAccessibleName(tr("Least level"));
  levels->setToolTip(tr("Show lines of this level and above"));
  strip()->addWidget(levels);
  QLineEdit* search = stripFilter(tr("Search (/)"), tr("Search the log"), tr("Show lines that contain this text"), 1);
  search->setMinimumWidth(110);
  search->setMaximumWidth(260);
  m_count = stripLabel({});
  strip()->addStretch(1);
  m_follow = stripTool(tr("Follow"), tr("Keep the newest line visible; scrolling up turns this off"));
  m_follow->setCheckable(true);
  m_follow->setChecked(true);
  m_clear = stripTool(tr("Clear"), tr("Clear the lines in this view; the log file is not changed"));
  connect(levels, &QComboBox::currentIndexChanged, this, [this](int level) { m_filter->setLeast(level), refresh(); });
  connect(search, &QLineEdit::textChanged, this, [this](const QString& text) { m_filter->setNeedle(text), refresh(); });
  addOption("search", search);
  connect(m_clear, &QToolButton::clicked, this, &LogView::clear);
  addViewAction(
      tr("Search"), tr("Go to the search field"), [search] { search->setFocus(); }, Qt::Key_Slash);
}

void LogView::makeTable() {
  m_table = new DataTable(this, m_filter, tr("Log lines"), tr("Ctrl+C copies the selected lines"));
  setContent(m_table);
  setMainControl(m_table);
  connect(m_table->verticalScrollBar(), &QScrollBar::actionTriggered, this, [this] {
    const QScrollBar& bar = *m_table->verticalScrollBar();
    m_follow->setChecked(bar.sliderPosition() >= bar.maximum());
  });
  // Lines come, or the view is resized.
  connect(m_table->verticalScrollBar(), &QScrollBar::rangeChanged, this, [this] {
    if (m_follow->isChecked()) m_table->scrollToBottom();
  });
  connect(m_follow, &QToolButton::toggled, this, [this](bool on) {
    if (on) m_table->scrollToBottom();
  });
}

void LogView::append(int level, const QString& text) {
  m_model->append({m_clock(), level, text});
  refresh();
  if (m_follow->isChecked()) m_table->scrollToBottom();
}

void LogView::clear() {
  m_model->clear();
  refresh();
}

void LogView::refresh() {
  const int all = m_model->rowCount(), seen = m_filter->rowCount();
  if (seen > 0) setEmpty({});
  else if (all > 0) setEmpty(tr("No line passes the filter"), tr("Lower the level or clear the search."));
  else
    setEmpty(tr("Nothing has been logged yet"),
             tr("Messages of the engine and the window appear here, errors with their next step."));
  QString text = seen == all ? counted(all, tr("line"), tr("lines")) : tr("%1 of %2 lines").arg(seen).arg(all);
  if (m_model->dropped()) text += tr(", %1 older ones dropped").arg(m_model->dropped());
  m_count->setText(text);
  m_clear->setEnabled(all > 0);
}

QString LogView::dump() const {
  QString text = QStringLiteral("log: %1\n").arg(m_count->text());
  for (int row = 0; row < m_filter->rowCount(); ++row) {
    const LogLine& line = m_model->line(m_filter->mapToSource(m_filter->index(row, 0)).row());
    text += QStringLiteral("%1\t%2\n").arg(logLevelName(line.level), line.text);
  }
  return text;
}

}  // namespace kvlab

KVLAB_DEFINE_VIEW(LogView)
