// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/notes/notes_view.h"

#include <algorithm>

#include "core/api/read_json.h"
#include "widgets/base/button_use.h"
#include "widgets/base/format.h"
#include "widgets/base/note_place.h"
#include "widgets/base/tokens.h"
#include "widgets/base/view_registry.h"
#include "widgets/base/word_edit.h"

namespace kvlab {
namespace {
/// The beginning of a text that would leave no room for the table.
QString beginning(const QString& text) {
  constexpr qsizetype kLines = 6, kMost = 800;
  const QString lines = text.section('\n', 0, kLines - 1).left(kMost);
  return lines.size() < text.size() ? lines + QStringLiteral("…") : lines;
}
}  // namespace

NotesView::NotesView(InspectorContext& context, QWidget* parent)
    : InspectorView(context, parent), m_model(new NotesModel(this)) {
  makeStrip();
  makeTable();
  m_readout = wrappedReadout();
  for (QAction* one : {addViewAction(
                           tr("Go There"), tr("Bring the session to the state of the note, on whichever branch"),
                           [this] { goToCurrent(); }, Qt::Key_Return),
                       addViewAction(
                           tr("Edit Text…"), tr("Change the text of the note"), [this] { editCurrent(); }, Qt::Key_F2),
                       addViewAction(
                           tr("Remove"), tr("Remove the selected notes"), [this] { removeChosen(); }, Qt::Key_Delete)})
    setObstacle(one, [this] { return current() ? QString() : tr("no note is chosen"); });
  connect(&context, &InspectorContext::noteAsked, this, &NotesView::begin);
  sayState();
}

QToolButton* NotesView::command(const QString& text, const char* id, const QString& tip) {
  QToolButton* button = stripButton(text, QString(text).remove("…"), tip, id);
  button->setAutoRaise(true);
  return button;
}

void NotesView::makeStrip() {
  m_bookmark = command(tr("Bookmark"), "bookmark",
                       tr("Bookmark the shown tick with the focused row, or take the bookmark away (Ctrl+M)"));
  m_note = command(tr("Note…"), "note", tr("Write a note about the shown tick and the focused row (Ctrl+Shift+M)"));
  m_goThere = command(tr("Go There"), "note_go", tr("Bring the session to the state of the note (Return)"));
  m_removeIt = command(tr("Remove"), "note_remove", tr("Remove the selected notes (Del)"));
  m_count = stripLabel({}, 1);
  m_export = command(tr("Export…"), "notes_export",
                     tr("Write all notes as Markdown, with pictures and the script lines that lead to them"));
  for (QToolButton* button : {m_bookmark, m_note, m_export})
    connect(button, &QToolButton::clicked, this,
            [this, button] { context().runCommand(commandOf(*button), nlohmann::json::object()); });
  connect(m_goThere, &QToolButton::clicked, this, &NotesView::goToCurrent);
  connect(m_removeIt, &QToolButton::clicked, this, &NotesView::removeChosen);
}

void NotesView::makeTable() {
  m_table = new DataTable(this, m_model, tr("Notes"),
                          tr("A click shows the place of a note, Return brings the session there, F2 or a double click "
                             "changes the text, Del removes"));
  m_table->stretch({"text"});
  setContent(m_table);
  setMainControl(m_table);
  connect(m_table, &DataTable::chosen, this, &NotesView::showPlace);
  connect(m_table, &QAbstractItemView::doubleClicked, this, &NotesView::editCurrent);
  connect(m_table->selectionModel(), &QItemSelectionModel::selectionChanged, this, &NotesView::sayState);
}

void NotesView::onSnapshot() {
  const NoteView* chosen = current();
  const int id = chosen ? chosen->id : 0;
  m_model->show(context());
  if (const int row = m_model->rowOf(id); row >= 0) m_table->showRow(row);
  if (!shown()) setEmpty(tr("What you write about ticks and rows"), noSessionHow());
  else
    setEmpty(m_model->rowCount() ? QString() : tr("No notes yet"),
             tr("Ctrl+M bookmarks the shown tick with the focused row. Ctrl+Shift+M, or Note… in the menu of a row, "
                "writes a note. Captures keep both."));
  sayState();
}

const NoteView* NotesView::current() const {
  const QModelIndexList rows = m_table->selectionModel()->selectedRows();
  const QModelIndex at = m_table->currentIndex();
  if (rows.isEmpty() || !at.isValid()) return nullptr;
  return &m_model->at(at).note;
}

/// The focus moves; the session stays where it is.
void NotesView::showPlace(const QModelIndex& index) {
  const NoteView note = m_model->at(index).note;  // showing it renews the lines
  if (canShow(context(), note)) showNote(context(), note);
  sayState();
}

void NotesView::goToCurrent() {
  if (const NoteView* note = current()) context().runCommand("note_go", {{"id", note->id}});
}

void NotesView::editCurrent() {
  const NoteView* note = current();
  if (!note) return;
  const QModelIndex cell = m_model->index(m_model->rowOf(note->id), m_table->columnOf("text"));
  const QRect inTable = m_table->visualRect(cell);
  const QRect place(m_table->viewport()->mapTo(this, inTable.topLeft()), inTable.size());
  const QString before = QString::fromStdString(note->text);
  WordEdit::open(*this, place, before, tr("Note about tick %1").arg(note->tick.value()),
                 [this, id = note->id, before](const QString& text) {
                   if (text != before) context().runCommand("note_change", {{"id", id}, {"text", text.toStdString()}});
                 })
      ->keepText();
}

void NotesView::removeChosen() {
  std::vector<int> ids;
  for (const QModelIndex& row : m_table->selectionModel()->selectedRows()) ids.push_back(m_model->at(row).note.id);
  for (const int id : ids) context().runCommand("note_remove", {{"id", id}});
}

/// The line stands at once, so that no word is lost, and the note is written when its text is there.
void NotesView::begin(const nlohmann::json& place) {
  const QRect middle(rect().center(), QSize());
  WordEdit::open(*this, middle, {}, tr("Note about tick %1").arg(memberOr(place, "tick", std::int64_t{0})),
                 [this, args = place](const QString& text) mutable {
                   args["text"] = text.toStdString();
                   context().runCommand("note", args);
                 })
      ->keepText();
}

void NotesView::sayState() {
  const NoteView* note = current();
  const bool chosen = note != nullptr, any = m_model->rowCount() > 0;
  m_count->setText(any ? counted(m_model->rowCount(), tr("note"), tr("notes")) : QString());
  m_bookmark->setEnabled(shown() != nullptr);
  m_note->setEnabled(shown() != nullptr);
  m_export->setEnabled(any);
  for (QToolButton* button : {m_goThere, m_removeIt}) button->setEnabled(chosen);
  if (!m_readout) return;
  m_readout->setVisible(any);
  if (!chosen) return m_readout->setText(tr("Choose a note to see its text and its place."));
  const NoteLine& line = m_model->at(m_table->currentIndex());
  QStringList parts{tr("tick %1").arg(note->tick.value())};
  if (!line.place.isEmpty()) parts << line.place;
  if (!line.apart.isEmpty()) parts << line.apart;
  const QString where = parts.join(QStringLiteral(" · "));
  const QString how = note->entry < 0 ? tr("The history of this session does not have the state.")
      : canShow(context(), *note)     ? QString()
                                      : tr("Return brings the session there; what it leaves stays in the history.");
  QStringList lines{how.isEmpty() ? where : QStringLiteral("%1. %2").arg(where, how)};
  if (!line.text.isEmpty()) lines << beginning(line.text);
  m_readout->setText(lines.join('\n'));
}

QString NotesView::dump() const { return QStringLiteral("notes: %1\n").arg(m_model->rowCount()) + tsv(); }

QString NotesView::tsv() const { return m_model->rowCount() ? m_table->tsv() : QString(); }

NotesModel::NotesModel(QObject* parent) : LineModel(parent) {
  addNumber("tick", tr("Tick"), tr("the tick that the note is about"), {"100000", 0}, [](const NoteLine& line) {
    return QString::number(line.note.tick.value());
  }).toned([](const NoteLine& line) {
    return line.shown ? Tone::Accent : line.note.here ? Tone::Normal : Tone::Muted;
  });
  add("place", tr("Place"), tr("layer of the model, KV head and row that the note is about"),
      {"layer 12 · row 1234 “silver”", 2}, [](const NoteLine& line) { return line.place; })
      .words()
      .in(Tone::Muted);
  add("text", tr("Note"), tr("what the note says; F2 or a double click changes it"), {QString(16, 'x'), 0},
      [](const NoteLine& line) { return line.text.isEmpty() ? tr("bookmark") : visibleText(line.text.trimmed()); })
      .words()
      .toned([](const NoteLine& line) { return line.text.isEmpty() ? Tone::Faint : Tone::Normal; })
      .tips([](const NoteLine& line) { return line.text; });
  add("apart", tr("Branch"), tr("where the state is, if it does not lie before the present one"),
      {"not in this history", 1}, [](const NoteLine& line) { return line.apart; })
      .words()
      .toned([](const NoteLine& line) { return line.note.entry < 0 ? Tone::Warning : Tone::Muted; });
}

void NotesModel::show(const InspectorContext& context) {
  std::vector<NoteLine> lines;
  for (const NoteView& note : notesOf(context)) {
    const Snapshot& newest = *context.history().back();
    const QString text = QString::fromStdString(note.text), place = placeText(newest, note);
    const bool shown = note.here && context.snapshot()->tick == note.tick;
    lines.push_back({note, text, place, apartText(newest, note), shown});
  }
  const auto sameNote = [](const NoteLine& a, const NoteLine& b) { return a.note.id == b.note.id; };
  const bool same = std::ranges::equal(lines, m_lines, sameNote);
  replace(std::move(lines), same);
}

int NotesModel::rowOf(int id) const {
  return find([&](const NoteLine& line) { return line.note.id == id; });
}

}  // namespace kvlab

KVLAB_DEFINE_VIEW(NotesView)
