// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/status_strip.h"

#include <QEvent>
#include <QLabel>
#include <QLocale>
#include <QProgressBar>
#include <QToolButton>
#include <algorithm>
#include <set>

#include "app/script/script_host.h"
#include "core/api/lanes_view.h"
#include "widgets/base/alignment_lamp.h"
#include "widgets/base/elided_label.h"
#include "widgets/base/format.h"
#include "widgets/base/layer_text.h"
#include "widgets/base/storage_groups.h"
#include "widgets/base/theme.h"

namespace kvlab {

StatusStrip::StatusStrip(LiveContext& context, QString backendNote, QWidget* parent)
    : QStatusBar(parent), m_context(context), m_backendNote(std::move(backendNote)) {
  setSizeGripEnabled(false);
  setContentsMargins(Theme::kSmall, 0, Theme::kSmall, 0);
  m_state = field("state");
  m_health = button(tr("Invariants"));
  m_health->setObjectName("status_invariants");
  m_health->setAutoRaise(true);
  connect(m_health, &QToolButton::clicked, this, [this] {
    const SnapshotPtr shown = m_context.snapshot();
    const bool wrong = shown && !shown->alignment.findings.empty();
    m_context.runCommand(wrong ? "go_to_finding" : "show_invariants");
  });
  m_tick = field("tick");
  m_newest = button(tr("Newest tick"));
  m_newest->setText(tr("Newest"));
  m_newest->setToolTip(tr("Show the newest tick again (Alt+End)"));
  connect(m_newest, &QToolButton::clicked, this, [this] { m_context.runCommand("newest_tick"); });
  m_length = field("length");
  m_bytes = field("bytes");
  makeWork();
  m_numerics = field("numerics");
  m_backend = field("backend");
  for (QWidget* widget : std::initializer_list<QWidget*>{m_state, m_tick, m_health, m_length, m_bytes, m_newest})
    addWidget(widget);
  m_said = new ElidedLabel(this);
  m_said->setObjectName("status_said");
  m_said->setAccessibleName(tr("What the last command did"));
  m_said->setForegroundRole(QPalette::PlaceholderText);
  addWidget(m_said, 1);
  for (QWidget* widget : std::initializer_list<QWidget*>{m_work, m_progress, m_cancel, m_numerics, m_backend})
    addPermanentWidget(widget);
  connect(m_cancel, &QToolButton::clicked, this, &StatusStrip::cancelRequested);
  connect(&context, &InspectorContext::snapshotChanged, this, &StatusStrip::refresh);
  connect(&context, &InspectorContext::busyChanged, this, &StatusStrip::refresh);
  connect(&context.jobs(), &JobList::ended, this, &StatusStrip::say);
  connect(&context, &LiveContext::noted, this, [this](const QString& text) {
    m_last += (m_last.isEmpty() ? QString() : QStringLiteral("; ")) + text;
    showSaid();
    emit m_context.logged(2, text);
  });
  connect(&context, &InspectorContext::sessionChanged, this, [this] {
    m_last.clear();
    showSaid();
  });
  connect(&context.jobs(), &JobList::changed, this, &StatusStrip::forget);
  const auto front = [this] { m_context.whenRested("front", this, [this] { showFront(); }); };
  connect(&context.jobs(), &JobList::changed, this, front);
  connect(&context.jobs(), &JobList::progressed, this, front);
  refresh();
}

/// The job in front, and how many others there are.
void StatusStrip::makeWork() {
  m_work = button(tr("Jobs"));
  m_work->setObjectName("status_work");
  m_work->setAutoRaise(true);
  connect(m_work, &QToolButton::clicked, this, [this] { m_context.runCommand("show_jobs"); });
  m_progress = new QProgressBar(this);
  m_progress->setFixedWidth(160);
  m_progress->setTextVisible(false);
  m_progress->setAccessibleName(tr("Progress"));
  m_cancel = button(tr("Cancel"));
  m_cancel->setText(tr("Cancel"));
  m_cancel->setToolTip(tr("Stop this job at its next safe point (Esc)"));
  m_cancel->setProperty(kDuringScript, true);
}

QToolButton* StatusStrip::button(const QString& name) {
  auto* made = new QToolButton(this);
  made->setAccessibleName(name);
  made->setFocusPolicy(Qt::TabFocus);
  return made;
}

QLabel* StatusStrip::field(const QString& name) {
  auto* label = new QLabel(this);
  label->setObjectName("status_" + name);
  label->setAccessibleName(name);
  label->setContentsMargins(Theme::kSmall, 0, Theme::kMedium, 0);
  return label;
}

QStringList StatusStrip::texts() const {
  return {m_state->text(), m_tick->text(),     m_health->text(), m_length->text(),
          m_bytes->text(), m_numerics->text(), m_backend->text()};
}

/// "12 rows of 4 layers are about to leave": what policies have decided in an open tick.
QString StatusStrip::aboutToLeave(const StageView& stage) {
  qint64 rows = 0;
  std::set<std::int32_t> layers;
  for (const Action& action : stage.actions)
    if (const auto* evict = std::get_if<Evict>(&action)) {
      rows += std::ssize(evict->ledger);
      layers.insert(evict->layer.value());
    }
  if (rows == 0) return tr("no row has to leave");
  return tr("%1 of %2 about to leave")
      .arg(counted(rows, tr("row"), tr("rows")), counted(std::ssize(layers), tr("layer"), tr("layers")));
}

/// Says in words if an older tick is shown, because the next step continues from the newest tick.
void StatusStrip::refreshTick(const Snapshot& shown) {
  const auto look = Theme::current();
  const auto session = m_context.session();
  const SnapshotPtr newest = session ? session->snapshot() : nullptr;
  const bool back = newest && newest->serial > shown.serial;
  QString text = tr("tick %1").arg(grouped(shown.tick.value()));
  if (back) text += tr(" (looking back from %1)").arg(grouped(newest->tick.value()));
  if (shown.branch != "main") text += " · " + QString::fromStdString(shown.branch);
  if (shown.stage) {
    const std::string_view stage = name(shown.stage->stage);
    text += tr(" · open after %1").arg(QString::fromUtf8(stage.data(), static_cast<qsizetype>(stage.size())));
    if (shown.stage->stage == Stage::Prune) text += tr(", %1").arg(aboutToLeave(*shown.stage));
  }
  if (shown.lanes) text += tr(" · %1 lanes").arg(shown.lanes->lanes.size());
  m_tick->setText(text);
  m_newest->setVisible(back);
  m_tick->setToolTip(back ? tr("The views show an older tick; Step continues from the newest tick")
                          : tr("Ticks since the session was opened"));
  m_tick->setStyleSheet(back ? QString("color:%1").arg(look->warning.name()) : QString());
}

void StatusStrip::refreshHealth(const Snapshot& shown) {
  const auto look = Theme::current();
  const auto broken =
      std::count_if(shown.invariants.begin(), shown.invariants.end(), [](const auto& one) { return !one.ok; });
  const auto all = static_cast<qint64>(shown.invariants.size());
  const auto unknown =
      std::ranges::count_if(shown.invariants, &InvariantState::unchecked);  // full checks alone look at them
  m_health->setVisible(all > 0);
  const AlignmentLamp lamp = alignmentLamp(shown);
  const bool known = lamp.state != AlignmentLamp::State::Unchecked;
  const QString text = invariantsText(static_cast<int>(all), static_cast<int>(unknown), static_cast<int>(broken));
  m_health->setText(broken                       ? QStringLiteral("✖ ") + text
                        : known && unknown < all ? QStringLiteral("✔ ") + text
                        : known                  ? QStringLiteral("○ ") + text
                                                 : lamp.text);
  m_health->setToolTip(lamp.tip + '\n' +
                       (shown.alignment.findings.empty() ? tr("Click for the list of invariants.")
                                                         : tr("Click for the row of the next finding.")));
  m_health->setStyleSheet(QString("color:%1;border:0").arg((broken ? look->error : look->muted).name()));
}

QList<QWidget*> StatusStrip::tabStops() const {
  QList<QWidget*> stops;
  for (QToolButton* one : {m_health, m_newest, m_work, m_cancel})
    if (one->isVisible() && one->isEnabled()) stops << one;
  return stops;
}

void StatusStrip::refresh() {
  const auto look = Theme::current();
  const SnapshotPtr shown = m_context.snapshot();
  const bool broken = shown && shown->state == SessionState::Broken;
  const bool busy = m_context.busy();
  const auto say = [&](const QString& text, const QColor& colour) {
    m_state->setText(text);
    m_state->setStyleSheet(QString("color:%1").arg(colour.name()));
  };
  if (!shown) say(busy ? tr("◌ Opening…") : tr("○ No session"), look->muted);
  else if (broken) say(tr("✖ Broken: %1").arg(QString::fromStdString(shown->brokenReason)), look->error);
  else if (busy) say(tr("▶ Working"), look->accent);
  else say(tr("● Ready"), look->ok);
  showFront();
  for (QWidget* one : std::initializer_list<QWidget*>{m_tick, m_health, m_length, m_bytes, m_numerics, m_backend})
    one->setVisible(shown != nullptr);
  if (!shown || !shown->info) return m_newest->hide();
  refreshTick(*shown);
  refreshHealth(*shown);
  m_length->setText(layerRowsText(*shown));
  m_length->setToolTip(tr("Resident rows:\n%1\n%2 in the context; %3 staging slots")
                           .arg(layerRowsTip(*shown), counted(shown->length(), tr("token"), tr("tokens")))
                           .arg(shown->info->staging));
  const QString program = programMemoryText(m_context.programBytes()),
                live = tr("%1 live").arg(formatBytes(shown->bytes.live));
  m_bytes->setText(live);
  m_bytes->setToolTip(QStringList{tr("Rows: %1").arg(rowMemoryText(*shown)), program}.join('\n').trimmed());
  m_numerics->setText(QString::fromStdString(shown->info->numerics));
  m_numerics->setToolTip(
      tr("Numerics id of the arithmetic; results are bitwise equal only between sessions with the same id"));
  m_backend->setText(QString::fromStdString(shown->info->backend).toUpper());
  m_backend->setToolTip(m_backendNote);
}

/// Clears the outcome of the last command when another one begins.
void StatusStrip::forget() {
  const auto& jobs = m_context.jobs().jobs();
  const int newest = jobs.empty() ? 0 : jobs.back().number;
  if (newest <= m_newestJob) return;
  m_newestJob = newest;
  m_last.clear();
  showSaid();
}

/// The last line stays until another job begins. The log has errors of commands already.
void StatusStrip::say(const Job& ended) {
  m_last = ended.how;
  showSaid();
  if (m_last.isEmpty() || (ended.brief && ended.state == JobState::Failed)) return;
  emit m_context.logged(2, ended.brief ? m_last : tr("%1: %2").arg(ended.name, m_last));
}

void StatusStrip::showTip(const QString& tip) {
  m_tip = tip;
  showSaid();
}

void StatusStrip::showSaid() {
  m_context.whenRested("said", this, [this] { m_said->setText(m_tip.isEmpty() ? m_last : m_tip); });
}

void StatusStrip::showFront() {
  const Job* front = m_context.jobs().front();
  const bool told = front && (!front->brief || front->total > 0);
  m_cancel->setVisible(m_context.working());
  m_work->setVisible(told);
  m_progress->setVisible(told);
  if (!told) return;
  QStringList text{front->name, progressText(*front), m_context.clockFrozen() ? QString() : front->rate};
  text.removeAll(QString());
  const auto others = static_cast<qint64>(m_context.jobs().running().size()) - 1;
  m_work->setText(text.join(" · ") + (others > 0 ? tr(" and %1 more").arg(others) : QString()));
  m_work->setToolTip(tr("%1; click for the list of jobs").arg(front->step.isEmpty() ? front->on : front->step));
  m_progress->setRange(0, front->total > 0 ? 1000 : 0);
  if (front->total > 0) m_progress->setValue(static_cast<int>(1000 * front->done / front->total));
}

void StatusStrip::changeEvent(QEvent* event) {
  QStatusBar::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) refresh();
}

}  // namespace kvlab
