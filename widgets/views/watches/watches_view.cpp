// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/watches/watches_view.h"

#include <QLineEdit>
#include <QToolButton>

#include "widgets/base/expression_edit.h"
#include "widgets/base/view_registry.h"

namespace kvlab {

WatchesView::WatchesView(InspectorContext& context, QWidget* parent)
    : InspectorView(context, parent), m_model(new WatchModel(this)) {
  m_edit =
      stripFilter(tr("Watch…, e.g. rows(layer==3)"), tr("Expression to watch"),
                  tr("An expression: kl, rows(layer==3), brightness(ledger==12), exactness(ledger==12); Return adds "
                     "it. The manual's page Expressions lists what can be asked"),
                  1);
  new ExpressionEdit(context, *m_edit);
  m_add = stripButton(tr("Add"), tr("Add watch"), tr("Watch this expression (Return)"), "watch_add");
  m_remove = stripButton(tr("Remove"), tr("Remove watch"), tr("Remove the selected watch (Del)"), "watch_remove");
  connect(m_edit, &QLineEdit::returnPressed, this, &WatchesView::addTyped);
  connect(m_edit, &QLineEdit::textChanged, this, &WatchesView::buttons);
  connect(m_add, &QToolButton::clicked, this, &WatchesView::addTyped);
  connect(m_remove, &QToolButton::clicked, this, &WatchesView::removeSelected);
  m_table = new DataTable(this, m_model, tr("Watches"),
                          tr("Expressions and their values; Del removes the selected one, the menu has more"));
  m_table->stretch({"expression", "course"});
  m_table->setItemDelegateForColumn(m_table->columnOf("course"), new CourseDelegate(m_table));
  connect(m_table->selectionModel(), &QItemSelectionModel::selectionChanged, this, &WatchesView::buttons);
  setContent(m_table);
  setMainControl(m_table);
  setWordField(m_edit);
  QAction* remove = addViewAction(
      tr("Remove"), tr("Remove the selected watch"), [this] { removeSelected(); }, QKeySequence::Delete);
  QAction* stops =
      addViewAction(tr("Break when it changes"), tr("Stop a run when the selected watch has another value"),
                    [this] { breakOnChange(); });
  for (QAction* one : {remove, stops})
    setObstacle(one, [this] { return selected() ? QString() : tr("no watch is chosen"); });
  buttons();
}

const WatchView* WatchesView::selected() const {
  const int row = m_table->selectionModel()->hasSelection() ? m_table->currentIndex().row() : -1;
  return row < 0 || row >= m_model->rowCount() ? nullptr : &m_model->lines()[at(row)].now;
}

void WatchesView::buttons() {
  m_add->setEnabled(shown() && !m_edit->text().trimmed().isEmpty());
  m_remove->setEnabled(selected() != nullptr);
}

/// The line is emptied when the engine has taken the expression; a refused one stays, to be corrected.
void WatchesView::addTyped() {
  const QString text = m_edit->text().trimmed();
  if (text.isEmpty()) return;
  context().runCommand(QStringLiteral("watch_add"), {{"expression", text.toStdString()}}, this,
                       [this, text](const Result<nlohmann::json>& reply) {
                         if (!reply) emit context().failed(reply.error());
                         else if (m_edit->text().trimmed() == text) m_edit->clear();
                       });
}

void WatchesView::removeSelected() {
  if (const WatchView* one = selected()) context().runCommand(QStringLiteral("watch_remove"), {{"id", one->id}});
}

void WatchesView::breakOnChange() {
  if (const WatchView* one = selected())
    context().runCommand(QStringLiteral("break_add"), {{"condition", "changed(" + one->expression + ")"}});
}

void WatchesView::onSnapshot() {
  m_model->show(context().history(), shown());
  buttons();
  const bool none = m_model->rowCount() == 0;
  setEmpty(none ? tr("Values of expressions, tick by tick") : QString(),
           shown() ? tr("Type an expression above, such as kl or rows(layer==3), and press Return.") : noSessionHow());
}

QString WatchesView::dump() const {
  if (isEmpty()) return QStringLiteral("watches: none\n");
  QString out = QStringLiteral("watches:\n");
  for (const WatchLine& line : m_model->lines())
    out += QStringLiteral("%1\t%2\t%3\n")
               .arg(QString::fromStdString(line.now.expression), watchText(line.now.value), line.shown);
  return out;
}

}  // namespace kvlab

KVLAB_DEFINE_VIEW(WatchesView)
