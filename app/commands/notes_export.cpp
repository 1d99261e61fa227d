// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/commands/notes_export.h"

#include <QDir>
#include <QElapsedTimer>
#include <QEventLoop>
#include <QFileInfo>
#include <QTimer>
#include <QUrl>
#include <algorithm>
#include <deque>

#include "app/base/outcome.h"
#include "app/script/input_gate.h"
#include "core/api/part_file.h"
#include "widgets/base/note_place.h"
#include "widgets/base/save_file.h"

namespace kvlab {
namespace {

using Json = nlohmann::json;

Status notWritten(const QString& path, const Status& failed) {
  if (failed) return failed;
  return Error("io", "the notes were not written", failed.error().why, "choose a folder that can be written to", {},
               "path", path.toStdString());
}

/// The content of the page about one note.
struct NotePage {
  NoteView note;
  QString place;    // in words; empty = the whole tick
  QString picture;  // name of a file beside the page; empty = none
  QString missing;  // the reason why there is no picture
  QString script;   // lines that lead to its state; empty = none do
};

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

/// Notes as a Markdown page. `about`: one line on the session.
QString notesMarkdown(const QString& about, const std::vector<NotePage>& pages) {
  QString out = QStringLiteral("# Notes\n%1\n").arg(plainWords(about));
  for (std::size_t i = 0; i < pages.size(); ++i) out += '\n' + section(static_cast<int>(i) + 1, pages[i]);
  return out;
}

class NotesExport {
 public:
  NotesExport(CommandHost& host, const QString& path, const QString& what)
      : m_host(host),
        m_target(path),
        m_what(what),
        m_session(host.context().session()),
        m_newest(m_session->snapshot()) {}
  Result<Json> run();

 private:
  Result<Json> pagesAndFiles();
  Status add(const NoteView& note);
  Result<bool> show(const NoteView& note, QString& missing);
  Result<bool> showInFork(const NoteView& note, QString& missing);
  Status takePicture(NotePage& page);
  Status publish(const QString& page);
  Status wait(const std::function<Result<bool>()>& done);
  template <class T>
  Result<T> answered(const std::function<void(std::function<void(const Result<T>&)>)>& ask);
  QString scriptOf(const NoteView& note) const;
  QString about() const;

  LiveContext& context() { return m_host.context(); }
  const LiveContext& context() const { return m_host.context(); }

  CommandHost& m_host;
  const QFileInfo m_target;
  const QString m_what;
  const LiveContext::LiveSessionPtr m_session;
  const SnapshotPtr m_newest;
  SessionPtr m_fork;  // null until a state has to be reached
  std::vector<NotePage> m_pages;
  std::deque<PartFile> m_pictures;  // until all are there
  QStringList m_added;              // paths of pictures that are in their place, where no file was before
  int m_job = 0;
  bool m_cancelled = false;
};

/// Waits while the window paints.
Status NotesExport::wait(const std::function<Result<bool>()>& done) {
  constexpr qint64 kLimitMs = 60'000;
  const InputGate gate;
  QEventLoop loop;
  QTimer pulse;  // done() may become true without an event
  pulse.start(15);
  QElapsedTimer waited;
  waited.start();
  while (!m_cancelled) {
    if (KV_TRY(done())) return ok();
    if (waited.elapsed() > kLimitMs)
      return Error("not_ready", "the notes were not written", "the window did not show a note within 60 s",
                   "look at the log for its error");
    loop.processEvents(QEventLoop::AllEvents | QEventLoop::WaitForMoreEvents);
  }
  return Error("cancelled", "the notes were not written", "somebody asked for it", "export them again");
}

/// The reply to a request, which may come after the export has ended.
template <class T>
Result<T> NotesExport::answered(const std::function<void(std::function<void(const Result<T>&)>)>& ask) {
  const auto reply = std::make_shared<std::optional<Result<T>>>();
  ask([reply](const Result<T>& r) { reply->emplace(r); });
  KV_TRY(wait([reply]() -> Result<bool> { return reply->has_value(); }));
  return **reply;
}

/// The session stays where it is, so its pending actions stay.
Result<bool> NotesExport::showInFork(const NoteView& note, QString& missing) {
  if (!m_fork) {
    m_fork = KV_TRY(answered<SessionPtr>([this](auto reply) { m_session->fork(reply); }));
    m_host.showSession(m_fork);
  }
  const Result<Json> there = answered<Json>([&](auto reply) { m_fork->submit("gotoNote", {{"id", note.id}}, reply); });
  if (!there && there.error().code == "cancelled") return there.error();
  context().catchUp();
  if (!there) missing = QString::fromStdString(there.error().why);
  return bool(there);
}

/// True where the window shows the state now; else `missing` says why it does not.
Result<bool> NotesExport::show(const NoteView& note, QString& missing) {
  if (!note.here) missing = QStringLiteral("the state is %1").arg(apartText(*m_newest, note));
  if (!note.here) return false;
  if ((m_fork || !canShow(context(), note)) && !KV_TRY(showInFork(note, missing))) return false;
  context().showTick(note.tick);
  focusNote(context(), note);
  return true;
}

Status NotesExport::takePicture(NotePage& page) {
  const PictureRequest request{m_what};
  KV_TRY(wait([&] { return m_host.views().readyFor(request); }));
  page.picture = QStringLiteral("%1-%2.png").arg(m_target.completeBaseName()).arg(m_pages.size() + 1);
  const QString path = m_target.absoluteDir().filePath(page.picture);
  const QByteArray bytes = KV_TRY(m_host.views().pictureFile(request, path)).bytes;
  PartFile& file = m_pictures.emplace_back(path.toStdString());
  file.append(bytes.data(), static_cast<std::size_t>(bytes.size()));
  return file.finish() ? ok() : notWritten(path, file.publish());
}

QString NotesExport::scriptOf(const NoteView& note) const {
  const QString lines = m_session->script().textTo(note.id);
  const bool written = m_session->script().wrote(note.id);
  if (note.entry < 0 && !written) return {};
  const QString place = focusLine(*m_newest, note);
  return lines + QStringLiteral("s.gotoNote(%1);\n").arg(note.id) + (place.isEmpty() ? QString() : place + ";\n");
}

Status NotesExport::add(const NoteView& note) {
  NotePage page{note, placeText(*m_newest, note), {}, {}, scriptOf(note)};
  if (KV_TRY(show(note, page.missing))) KV_TRY(takePicture(page));
  m_pages.push_back(std::move(page));
  return ok();
}

QString NotesExport::about() const {
  const QString name = m_session->name(), model = QString::fromStdString(m_newest->info->model);
  return name.isEmpty() || name == model ? QStringLiteral("A session of %1.").arg(model)
                                         : QStringLiteral("%1, a session of %2.").arg(name, model);
}

/// Brings the files to their places, the page last.
Status NotesExport::publish(const QString& page) {
  for (PartFile& picture : m_pictures) {
    const QString path = QString::fromStdString(picture.path());
    const bool added = !QFileInfo::exists(path);
    KV_TRY(notWritten(path, picture.publish()));
    if (added) m_added << path;
  }
  return saveFile(m_target.absoluteFilePath(), page.toUtf8(), "the page of notes");
}

Result<Json> NotesExport::pagesAndFiles() {
  KV_TRY(m_host.views().readyFor({m_what}));
  const std::vector<NoteView> notes = notesOf(context());
  for (const NoteView& note : notes) {
    context().jobs().report(m_job, QStringLiteral("notes"), std::ssize(m_pages), std::ssize(notes));
    KV_TRY(add(note));
  }
  KV_TRY(publish(notesMarkdown(about(), m_pages)));
  return Json{{"path", m_target.filePath().toStdString()}, {"notes", m_pages.size()}, {"pictures", m_pictures.size()}};
}

Result<Json> NotesExport::run() {
  const Focus focus = context().focus();
  const std::vector<LedgerId> selection = context().selection();
  const Tick shown = context().following() ? m_newest->tick : context().snapshot()->tick;
  m_job = context().jobs().begin({.name = QStringLiteral("Export Notes"),
                                  .on = m_target.filePath(),
                                  .rank = JobRank::Script,
                                  .place = {.folder = m_target.absolutePath()},
                                  .cancel = [this] { m_cancelled = true; }});
  Result<Json> out = pagesAndFiles();
  if (!out)
    for (const QString& file : m_added) QFile::remove(file);
  if (m_fork) m_host.showSession(m_session);
  context().catchUp();
  context().showTick(shown);
  context().setFocus(focus);
  context().select(selection);
  const JobOutcome how = out ? JobOutcome{JobState::Done, "Saved " + m_target.filePath()} : endOf(out.error());
  context().jobs().end(m_job, how.state, how.how);
  return out;
}

}  // namespace

Result<Json> exportNotes(CommandHost& host, const QString& path, const QString& what) {
  return NotesExport(host, path, what).run();
}

}  // namespace kvlab
