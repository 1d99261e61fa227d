// SPDX-License-Identifier: GPL-3.0-or-later
// The main window keeps its session on the disk in case the program dies, and brings back sessions that another window
// has left.
#include <QDateTime>
#include <QLocale>
#include <algorithm>

#include "app/window/main_window.h"
#include "core/api/read_json.h"
#include "widgets/base/format.h"
#include "widgets/base/tokens.h"

namespace kvlab {

using nlohmann::json;

namespace {

constexpr int kLastTokens = 24;

QString lastText(const Snapshot& snapshot) {
  QString out;
  for (int i = std::max(0, snapshot.length() - kLastTokens); i < snapshot.length(); ++i)
    out += textAt(snapshot, Position(i));
  return out;
}

QString noted(const json& object, const char* key) {
  return QString::fromStdString(memberOr(object, key, std::string()));
}

/// "demo, tick 45, 812 tokens, yesterday 19:48: …it is in the cellar ."
QString aboutLeft(const LeftSession& left) {
  QStringList parts{
      noted(left.about, "name").isEmpty() ? QString::fromStdString(left.facts.model) : noted(left.about, "name"),
      MainWindow::tr("tick %1").arg(left.facts.tick)};
  if (const int length = memberOr(left.about, "length", -1); length >= 0)
    parts << counted(length, MainWindow::tr("token"), MainWindow::tr("tokens"));
  parts << QLocale().toString(left.when, QLocale::ShortFormat);
  const QString text = noted(left.about, "text");
  return parts.join(", ") + (text.isEmpty() ? QString() : QStringLiteral(": …") + text);
}

json lines(const QStringList& list) {
  json out = json::array();
  for (const QString& one : list) out.push_back(one.toStdString());
  return out;
}

QStringList linesOf(const json& window, const char* key) {
  QStringList out;
  for (const json& one : member(window, key)) out << QString::fromStdString(jsonOr(one, std::string()));
  return out;
}

}  // namespace

void MainWindow::keepRecovery() {
  const auto session = m_context.session();
  if (!m_recovery.on() || session == m_recovered.lock()) return;
  m_recovered = session;
  if (!session) return m_recovery.end();
  const auto say = [this](const Error& error) {  // once for a session, and in nobody's way
    emit m_context.logged(3, QString::fromStdString(error.code + ": " + error.text()));
  };
  if (m_left && session->isRestored()) {
    m_recovery.adopt(std::move(*m_left));
    m_left.reset();
  } else if (const Status begun = m_recovery.begin(); !begun) {
    return say(begun.error());
  }
  m_noted = nullptr;
  session->keepRecovery(m_recovery.capture().toStdString(), [this, say](const Result<json>& kept) {
    m_recovery.settled();
    noteRecovery();
    if (!kept) say(kept.error());
    else if (const json& lost = member(*kept, "lost"); lost.is_object()) emit m_context.failed(Error::fromJson(lost));
  });
}

json MainWindow::recoveryNote() const {
  const SnapshotPtr now = m_context.session() ? m_context.session()->snapshot() : nullptr;
  if (!now || !now->info) return nullptr;
  json options = json::object();
  for (const QString& id : docks().ids()) options[id.toStdString()] = docks().view(id)->options();
  const Focus& focus = m_context.focus();
  json place{{"layer", focus.layer.value()}, {"head", focus.head.value()}};
  if (focus.position.value() >= 0) place["row"] = focus.position.value();
  return {{"version", 1},
          {"name", m_context.session()->name().toStdString()},
          {"tick", now->tick.value()},
          {"length", now->length()},
          {"text", lastText(*now).toStdString()},
          {"worked", !m_context.session()->isKept()},
          {"window",
           {{"docks", docks().save().toBase64().toStdString()},
            {"geometry", saveGeometry().toBase64().toStdString()},
            {"options", std::move(options)},
            {"focus", std::move(place)},
            {"theme", m_settings.theme.toStdString()},
            {"prompts", lines(m_prompt->past().lines())},
            {"console", lines(docks().view("console")->property("history").toStringList())}}}};
}

/// The first work of a session is noted at once, later work soon.
void MainWindow::noteWork() {
  const bool first = !memberOr(m_noted, "worked", true) && hasWork();
  if (first) noteRecovery();
  else if (!m_noteSoon.isActive()) m_noteSoon.start();
}

void MainWindow::followWork() {
  if (!m_recovery.on()) return;
  constexpr int kSoonMs = 500, kOftenMs = 2000;
  m_noteSoon.setSingleShot(true);
  m_noteSoon.setInterval(kSoonMs);
  connect(&m_noteSoon, &QTimer::timeout, this, &MainWindow::noteRecovery);
  connect(&m_context, &InspectorContext::commandReplied, this, &MainWindow::noteWork);
  auto* often = new QTimer(this);  // changes of the window have no signal
  connect(often, &QTimer::timeout, this, &MainWindow::noteRecovery);
  often->start(kOftenMs);
}

/// Writes the changes.
void MainWindow::noteRecovery() {
  if (m_recovery.capture().isEmpty()) return;
  json note = recoveryNote();
  if (note.is_null() || note == m_noted) return;
  m_recovery.note(note);
  m_noted = std::move(note);
}

void MainWindow::offerLeftSession() {
  m_left = m_recovery.left();
  if (!m_left) return;
  m_banner->ask({kRestoring, tr("Restore the last session? The program has not ended in order."), aboutLeft(*m_left),
                 tr("Restore"), tr("Later"), [this] { restoreLeftSession(); }, tr("Discard"),
                 [this] {
                   m_banner->hide();
                   m_recovery.discard(std::move(*m_left));
                   m_left.reset();
                   offerLeftSession();
                 }});
}

/// The files stay until the session is there.
void MainWindow::restoreLeftSession() {
  m_banner->hide();
  if (!m_left) return;
  json request{{"recovery", m_recovery.captureOf(*m_left).toStdString()}};
  if (const QString name = noted(m_left->about, "name"); !name.isEmpty()) request["name"] = name.toStdString();
  const json window = member(m_left->about, "window");
  beforeOpening(tr("the last session"), [this, request, window] {
    openSession(request, [this, window](const Result<SessionPtr>& opened) {
      if (!opened && opened.error().code != "cancelled") return emit m_context.failed(opened.error());
      if (opened) restoreWindow(window);
    });
  });
}

void MainWindow::restoreWindow(const json& window) {
  if (!window.is_object()) return;
  const auto bytes = [&](const char* key) { return QByteArray::fromBase64(noted(window, key).toLatin1()); };
  restoreGeometry(bytes("geometry"));
  docks().restore(bytes("docks"));
  if (const QString theme = noted(window, "theme"); !theme.isEmpty()) (void)setTheme(theme);
  for (const QString& id : docks().ids())
    if (const json& wanted = member(member(window, "options"), id.toStdString()); wanted.is_object())
      (void)m_views->setOptions(id, wanted);
  if (const json& focus = member(window, "focus"); focus.is_object()) (void)m_views->setFocus(focus);
  m_prompt->past().setLines(linesOf(window, "prompts"));
  docks().view("console")->setProperty("history", linesOf(window, "console"));
}

}  // namespace kvlab
