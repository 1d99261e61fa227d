// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/window_views.h"

#include <QApplication>
#include <QLayout>

#include "app/base/popup_list.h"
#include "app/commands/command_rules.h"
#include "app/plain/script_lines.h"
#include "app/window/status_strip.h"
#include "core/api/read_json.h"
#include "core/api/texts.h"

namespace kvlab {

using nlohmann::json;

static Error noView(const char* refused) {
  return {"no_view", refused, "no view has the keyboard", "click a view first"};
}

WindowViews::WindowViews(QMainWindow& window, CommandHost& host)
    : m_window(window), m_host(host), m_context(host.context()), m_docks(new DockSet(window, m_context)) {
  m_rowTools = new RowTools(m_context, *m_docks->view("strip"), *m_docks->view("map"), &window);
  window.addToolBar(Qt::LeftToolBarArea, m_rowTools);
  m_trail = new FocusTrail(m_context, this);
  connect(qApp, &QApplication::focusChanged, this, [this](QWidget*, QWidget* now) { followKeyboard(now); });
}

void WindowViews::begin() {
  arrangeViews(firstLayout());
  for (const QString& id : m_docks->ids()) m_firstOptions[id] = m_docks->view(id)->options();
}

void WindowViews::followKeyboard(const QWidget* now) {
  for (const QWidget* at = now; at; at = at->parentWidget())
    if (qobject_cast<const PopupList*>(at)) return;
  if (!now) return;
  m_keyboardView = m_docks->focused();
  emit keyboardMoved();
}

Result<InspectorView*> WindowViews::viewOf(const QString& id) const {
  if (InspectorView* view = m_docks->view(id)) return view;
  return Error("unknown_view", "there is no view " + id.toStdString(),
               "the registry does not list it" + nearestNote(id.toStdString(), viewIds()),
               "name one of: " + m_docks->ids().join(", ").toStdString(), "view", id.toStdString());
}

Result<QWidget*> WindowViews::widgetOf(const QString& id) const {
  if (id == "window") return static_cast<QWidget*>(&m_window);
  InspectorView* view = KV_TRY(viewOf(id));
  return static_cast<QWidget*>(view);
}

std::vector<std::string> WindowViews::viewIds() const {
  std::vector<std::string> ids;
  for (const QString& id : m_docks->ids()) ids.push_back(id.toStdString());
  return ids;
}

Status WindowViews::showView(const QString& id) {
  KV_TRY(viewOf(id));
  m_docks->show(id);
  return ok();
}

Result<QString> WindowViews::sayView(const char* command, const QString& id, const char* refused) {
  if (!id.isEmpty()) KV_TRY(viewOf(id));
  const QString view = id.isEmpty() ? viewWithKeyboard() : id;
  if (view.isEmpty()) return noView(refused);
  emit m_context.scripted(QString("view.command(\"%1\", {\"view\":\"%2\"})").arg(command, view));
  return view;
}

Status WindowViews::closeView(const QString& id) {
  m_docks->close(KV_TRY(sayView("close_view", id, "no view was closed")));
  return ok();
}

Status WindowViews::floatView(const QString& id) {
  m_docks->toggleFloating(KV_TRY(sayView("float_view", id, "no view was moved")));
  return ok();
}

void WindowViews::arrangeViews(const TaskLayout& layout) {
  m_rowTools->setVisible(layout.rowTools);
  m_docks->arrange(layout);
}

Status WindowViews::setFocus(const json& wanted) {
  m_context.catchUp();
  if (!m_context.snapshot())
    return Error("no_session", "the focus was not moved", "no session is open", "open one first");
  const Snapshot& newest = *m_context.history().back();
  const std::int64_t ends[] = {newest.tick.value() + 1, newest.info->cacheLayers.count(), newest.info->heads,
                               newest.length(), static_cast<std::int64_t>(newest.ledger.size())};
  const char* const fields[] = {"tick", "layer", "head", "row", "ledger"};
  for (std::size_t i = 0; i < std::size(fields); ++i) {
    if (!wanted.contains(fields[i])) continue;
    const auto value = memberOr(wanted, fields[i], std::int64_t{-1});
    if (value >= 0 && value < ends[i]) continue;
    return badArgument("the focus was not moved",
                       "there is no " + std::string(fields[i]) + " " + member(wanted, fields[i]).dump(),
                       "name one from 0 to " + std::to_string(ends[i] - 1), fields[i], member(wanted, fields[i]));
  }
  std::vector<LedgerId> selection;
  for (const json& row : member(wanted, "rows")) {
    const std::int64_t value = jsonOr(row, std::int64_t{-1});
    if (value < 0 || value >= newest.length())
      return badArgument("the focus was not moved", "`rows` names " + row.dump() + ", which is no row of the context",
                         "name rows from 0 to " + std::to_string(newest.length() - 1), "rows", row);
    selection.push_back(newest.context[at(value)]);
  }
  const auto number = [&](const char* field) { return memberOr(wanted, field, std::int32_t{-1}); };
  if (wanted.contains("tick")) m_context.showTick(Tick(memberOr(wanted, "tick", std::int64_t{0})));
  Focus focus = m_context.focus();
  if (wanted.contains("layer")) focus.layer = CacheLayer(number("layer"));
  if (wanted.contains("head")) focus.head = Head(number("head"));
  m_context.setFocus(focus);
  if (wanted.contains("row")) m_context.focusPosition(Position(number("row")));
  if (wanted.contains("ledger")) m_context.focusLedger(LedgerId(number("ledger")));
  if (wanted.contains("rows")) m_context.select(std::move(selection));
  return ok();
}

Status WindowViews::setOptions(const QString& id, const json& options) {
  m_context.catchUp();
  InspectorView* view = KV_TRY(viewOf(id));
  if (!options.is_object())
    return Error("bad_argument", "view " + id.toStdString() + " was not changed", "the options are not an object",
                 "name them, as in {quantity: \"age\"}");
  for (const auto& [name, value] : options.items()) KV_TRY(view->setOption(name, value));
  return ok();
}

Result<json> WindowViews::options(const QString& id) const {
  const InspectorView* view = KV_TRY(viewOf(id));
  return view->options();
}

Result<bool> WindowViews::readyFor(const PictureRequest& request) {
  m_context.catchUp();
  const bool sized = !request.size.isEmpty();
  if (request.what == "window") {
    if (sized && m_window.size() != request.size) KV_TRY(m_host.setSize(request.size));
    if (m_context.busy()) return false;
    QCoreApplication::sendPostedEvents(nullptr, QEvent::LayoutRequest);
    for (const QString& id : m_docks->ids())
      if (m_docks->visible(id) && !m_docks->view(id)->ready()) return false;
    return true;
  }
  InspectorView* view = KV_TRY(viewOf(request.what));
  if (sized) view->resize(request.size);
  else if (!m_docks->visible(request.what)) view->resize(960, 600);
  view->prepare();
  return view->ready() && !m_context.busy();
}

template <class Picture>
Result<Picture> WindowViews::drawn(const PictureRequest& request,
                                   const std::function<Result<Picture>(QWidget&)>& draw) {
  if (request.what == "window") {
    QCoreApplication::sendPostedEvents(nullptr, QEvent::LayoutRequest);
    return draw(m_window);
  }
  InspectorView* view = KV_TRY(viewOf(request.what));
  view->arrange(request.size.isEmpty() ? view->size() : request.size);
  Result<Picture> picture = draw(*view);
  if (view->parentWidget() && view->parentWidget()->layout()) view->parentWidget()->layout()->invalidate();
  return picture;
}

Result<QImage> WindowViews::picture(const PictureRequest& request) {
  return drawn<QImage>(request, [&](QWidget& widget) { return pixelsOf(widget, request.dpr); });
}

Result<PictureFile> WindowViews::pictureFile(const PictureRequest& request, const QString& path) {
  return drawn<PictureFile>(request, [&](QWidget& widget) { return kvlab::pictureFile(path, widget, request.dpr); });
}

Result<QString> WindowViews::dump(const QString& what) {
  if (what != "window") {
    const InspectorView* view = KV_TRY(viewOf(what));
    return view->dump();
  }
  const auto* status = static_cast<const StatusStrip*>(m_window.statusBar());
  QString out = "status: " + status->texts().join("   ") + '\n';
  for (const QString& id : m_docks->ids())
    if (m_docks->visible(id)) out += '\n' + m_docks->view(id)->dump();
  return out;
}

Status WindowViews::bringUp(const QString& id) { return id == "window" || m_docks->visible(id) ? ok() : showView(id); }

Status WindowViews::mouse(const QString& id, const MouseAct& act) {
  QWidget* widget = KV_TRY(widgetOf(id));
  if (m_person.mouse(*widget, act)) return ok();
  return badArgument(
      "nothing was clicked", "the place lies outside of " + id.toStdString(),
      "name a place inside its " + std::to_string(widget->width()) + "x" + std::to_string(widget->height()) + " pixels",
      "place", json{act.from.x(), act.from.y()});
}

Status WindowViews::keys(const QString& id, const QKeySequence& keys) {
  m_person.keys(*KV_TRY(widgetOf(id)), keys);
  return ok();
}

Status WindowViews::type(const QString& id, const QString& text) {
  m_person.type(*KV_TRY(widgetOf(id)), text);
  return ok();
}

/// The engine answers questions in their order.
void WindowViews::whenAnswered(std::function<void()> then) {
  m_context.query("answered", "table", tableArgs("state", json::object(), {"tick"}), this,
                  [then = std::move(then)](const Result<json>&) { then(); });
}

/// Text fields copy by themselves.
Status WindowViews::copySelection() {
  InspectorView* view = m_docks->view(m_docks->focused());
  if (!view) return noView("nothing was copied");
  view->copySelection();
  return ok();
}

QString WindowViews::sessionScript() const {
  const auto session = m_context.session();
  const SnapshotPtr shown = m_context.snapshot();
  if (!session || !shown) return {};
  QString out = session->script().text();
  for (const QString& id : m_docks->ids()) {
    const json options = m_docks->view(id)->options();
    if (options != m_firstOptions[id])
      out += QString("view.set(\"%1\", %2);\n").arg(id, QString::fromStdString(scriptText(options)));
  }
  const Focus& focus = m_context.focus();
  json place{{"layer", focus.layer.value()}, {"head", focus.head.value()}};
  if (!m_context.following()) place["tick"] = shown->tick.value();
  if (focus.position.value() >= 0) place["row"] = focus.position.value();
  else if (focus.ledger.value() >= 0) place["ledger"] = focus.ledger.value();
  if (!m_context.selection().empty())
    for (const Position row : m_context.chosenRows()) place["rows"].push_back(row.value());
  return out + QString("view.focus(%1);\n").arg(QString::fromStdString(scriptText(place)));
}

}  // namespace kvlab
