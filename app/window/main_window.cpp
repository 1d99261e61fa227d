// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/main_window.h"

#include <QCloseEvent>
#include <QDir>
#include <QFileInfo>
#include <QMenuBar>
#include <QMimeData>
#include <QScreen>
#include <QSettings>
#include <QStatusTipEvent>
#include <QToolBar>
#include <QToolButton>

#include "app/base/application.h"
#include "app/base/icons.h"
#include "app/base/session_request.h"
#include "app/help/tour.h"
#include "app/window/edit_list.h"
#include "app/window/keyboard.h"
#include "app/window/paint_turns.h"
#include "core/api/read_json.h"
#include "core/foreign/foreign_cache.h"
#include "widgets/base/panes.h"
#include "widgets/base/tab_stops.h"
#include "widgets/base/theme.h"

namespace kvlab {

namespace {

constexpr int kRecent = 8;
constexpr QSize kFirstSize{1600, 1000}, kBorders{8, 40};  // size of the first window; frame that a window manager adds

}  // namespace

MainWindow::MainWindow(WindowSettings settings)
    : m_settings(std::move(settings)),
      m_commands(builtinCommands(viewNames())),
      m_tour(!m_settings.headless),
      m_recovery(m_settings.headless ? QString() : m_settings.recovery) {
  setWindowTitle("kvlab");
  setWindowIcon(programIcon());
  setAcceptDrops(true);
  resize(m_settings.headless ? kFirstSize : kFirstSize.boundedTo(screen()->availableSize() - kBorders));
  Theme::apply(*qApp, m_settings.theme);
  m_views = std::make_unique<WindowViews>(*this, *this);
  m_status = new StatusStrip(m_context, m_settings.backendNote, this);
  setStatusBar(m_status);
  buildCentre();
  buildActions();
  offerTour();
  buildToolBar();
  m_palette = new Palette(m_commands, *this, this);
  m_find = new FindBar(m_commands, *this, this);
  new FocusRing(this);
  new PaintTurns(this);
  new WindowKeys(this);
  connectContext();
  followWork();
  m_views->begin();
  if (!m_settings.headless) {
    const QSettings saved;
    restoreGeometry(saved.value("window/geometry").toByteArray());
    docks().restore(saved.value("window/docks").toByteArray());
    m_prompt->past().setLines(saved.value("window/prompts").toStringList());
    docks().view("console")->setProperty("history", saved.value("window/console").toStringList());
  }
  refreshActions();
}

MainWindow::~MainWindow() {
  m_views->disconnect(this);
  m_context.disconnect(this);
  m_context.jobs().disconnect(this);
  m_opening.clear();
  m_context.show(nullptr);
}

void MainWindow::buildCentre() {
  auto* holder = new QWidget(this);
  auto* column = tightColumn(holder);
  auto* slot = new QWidget(holder);
  column->addWidget(slot);
  m_banner = new Banner(this, slot);
  column->addWidget(docks().centre(), 1);
  setCentralWidget(holder);
  connect(m_banner, &Banner::tourEnded, this, &MainWindow::stopScript);
  connect(m_banner, &Banner::backAsked, this, [this] {
    m_tour.back();
    stopScript();
  });
  connect(&docks(), &DockSet::scripted, &m_context, &InspectorContext::scripted);
  connect(&docks(), &DockSet::menuAsked, this, &MainWindow::showViewMenu);
}

/// Makes one action per command, and menus in the order of the registry.
void MainWindow::buildActions() {
  QHash<QString, QMenu*> menus;
  for (const char* name : {"File", "Edit", "Run", "View", "Help"})
    menus[name] = menuBar()->addMenu(QString("&") + name);
  for (QMenu* menu : menus) menu->setToolTipsVisible(true);
  for (const Command& command : m_commands.all()) {
    auto* action = new QAction(command.title, this);
    QList<QKeySequence> keys;
    for (const QString& key : command.keys) keys << QKeySequence(key, QKeySequence::PortableText);
    action->setShortcuts(keys);
    action->setStatusTip(command.help);
    if (command.id == "stop") action->setProperty(kDuringScript, true);
    connect(action, &QAction::triggered, this, [this, id = command.id] { m_context.runCommand(id); });
    addAction(action);
    m_actions[command.id] = action;
    if (command.menu.isEmpty()) continue;
    QMenu*& menu = menus[command.menu];  // "View/Layout": a menu in a menu
    if (!menu) {
      menu = menus[command.menu.section('/', 0, 0)]->addMenu(command.menu.section('/', 1));
      menu->setToolTipsVisible(true);
    }
    if (command.startsGroup) menu->addSeparator();
    menu->addAction(action);
  }
  auto* recent = new QMenu(tr("Open Recent"), this);
  menus["File"]->insertMenu(m_actions["save_capture"], recent);
  connect(recent, &QMenu::aboutToShow, this, [this, recent] { refreshRecent(recent); });
}

void MainWindow::offerTour() {
  if (m_settings.headless || !TourOffer::wanted()) return;
  auto* offer = new TourOffer(m_tour.left() > 0, menuBar());
  menuBar()->setCornerWidget(offer);
  connect(offer, &TourOffer::taken, this, [this] { m_context.runCommand(m_tour.left() ? "resume_tour" : "tour"); });
}

/// Opens the menu of a view after a right click on its title or tab.
void MainWindow::showViewMenu(const QString& id, const QPoint& at) {
  auto* menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  for (const char* name : {"close_view", "float_view", "reset_layout"}) {
    const Command& command = *m_commands.find(name);
    const nlohmann::json args =
        command.args.empty() ? nlohmann::json::object() : nlohmann::json{{"view", id.toStdString()}};
    menu->addAction(command.title, this, [this, name, args] { m_context.runCommand(name, args); });
  }
  menu->popup(at);
}

void MainWindow::buildToolBar() {
  auto* bar = addToolBar(tr("Commands"));
  bar->setObjectName("toolbar");
  bar->setMovable(false);
  bar->setIconSize({16, 16});
  QString menu;
  for (const Command& command : m_commands.all()) {
    if (command.icon.isEmpty() || command.menu == "View") continue;
    if (!menu.isEmpty() && menu != command.menu) bar->addSeparator();
    menu = command.menu;
    bar->addAction(m_actions[command.id]);
    auto* button = bar->widgetForAction(m_actions[command.id]);
    button->setAccessibleName(command.title);
    if (command.id == "stop") button->setProperty(kDuringScript, true);
  }
  bar->addSeparator();
  m_prompt = new PromptLine(bar);
  m_actions["chat_mode"]->setCheckable(true);
  bar->addAction(m_actions["chat_mode"]);
  bar->widgetForAction(m_actions["chat_mode"])->setAccessibleName(tr("Chat Mode"));
  chatMode(m_chat);
  bar->addWidget(m_prompt);
  bar->addSeparator();
  bar->addAction(m_actions["theme"]);
  bar->addAction(m_actions["screenshot"]);
  connect(m_prompt, &QLineEdit::returnPressed, this, &MainWindow::sendPrompt);
  refreshIcons();
}

void MainWindow::connectContext() {
  if (auto* guard = qobject_cast<GuardedApplication*>(qApp))
    connect(guard, &GuardedApplication::caught, &m_context, &InspectorContext::failed);
  m_context.setObstacles([this](const QString& id) {
    const Command* command = m_commands.find(id);
    return command ? obstacle(*command, *this, false) : QString();
  });
  m_context.setCommandRunner([this](const QString& id, const nlohmann::json& args) { return runCommand(id, args); });
  m_context.setEvaluator(
      [this](const QString& line, LiveContext::Evaluated reply) { evaluate(line, std::move(reply)); });
  connect(&m_context, &InspectorContext::snapshotChanged, this, &MainWindow::refreshActions);
  connect(&m_context, &InspectorContext::busyChanged, this, &MainWindow::refreshActions);
  connect(&m_views->trail(), &FocusTrail::changed, this, &MainWindow::refreshActions);
  connect(&m_context, &InspectorContext::ticksLimited, this, &MainWindow::refreshActions);
  connect(m_views.get(), &WindowViews::keyboardMoved, this, [this] {
    for (const char* id : {"copy", "close_view", "float_view"}) refreshAction(*m_commands.find(id));
  });
  connect(&m_context, &InspectorContext::focusChanged, this, [this] {
    for (const char* id : {"why", "row_rebuild"}) refreshAction(*m_commands.find(id));
  });
  connect(&m_context.jobs(), &JobList::changed, this,
          [this] { m_context.whenRested("actions", this, [this] { refreshActions(); }); });
  connect(&m_context.jobs(), &JobList::changed, this, [this] {
    if (m_context.jobs().running().empty()) m_banner->endQuestion(kClosing);
  });
  connect(&m_context, &InspectorContext::failed, this, [this](const Error& error) {
    m_banner->showError(error);
    emit m_context.logged(4, QString::fromStdString(error.text()));
  });
  connect(&m_context, &InspectorContext::sessionChanged, m_banner, &Banner::endError);
  connect(&m_context, &InspectorContext::sessionChanged, this, [this] {
    for (const QString& question : {kOpening, kLosing}) m_banner->endQuestion(question);
    keepRecovery();
  });
  connect(&m_context, &InspectorContext::commandReplied, this, [this](const CommandReply& command) {
    if (!refusalOf(command.reply)) m_banner->endError();
  });
  connect(m_status, &StatusStrip::cancelRequested, this, [this] { m_context.runCommand("stop"); });
}

QString MainWindow::tipOf(const Command& command) const {
  const QString hint = command.keys.isEmpty() ? QString() : " (" + command.keys.first() + ")";
  const QString why = obstacle(command, *this), off = why.isEmpty() ? QString() : "\n" + tr("Off: %1").arg(why);
  return QString(m_actions[command.id]->text()).replace("&&", "&") + hint + "\n" + command.help + off;
}

void MainWindow::refreshAction(const Command& command) {
  QAction* action = m_actions[command.id];
  const QString why = obstacle(command, *this);
  action->setEnabled(why.isEmpty());
  action->setToolTip(tipOf(command));
  action->setStatusTip(why.isEmpty() ? command.help : tr("Off: %1").arg(why));
}

void MainWindow::refreshActions() {
  for (const Command& command : m_commands.all()) refreshAction(command);
  nameUndo();
  const SnapshotPtr shown = m_context.snapshot();
  m_prompt->setEnabled(shown != nullptr);
  const QString name = m_context.session() ? m_context.session()->name() : QString();
  const QString model = shown && shown->info ? QString::fromStdString(shown->info->model) : QString();
  QStringList title{name, model, QStringLiteral("kvlab")};
  title.removeAll(QString());
  setWindowTitle(title.join(" — "));
}

void MainWindow::nameUndo() {
  if (m_context.busy() || !m_context.session()) return;
  m_context.query("edits.next", "table", tableArgs("edits", {{"most", 1}}), this,
                  [this](const Result<nlohmann::json>& next) {
                    if (!next) return;
                    for (const char* id : {"undo", "redo"}) {
                      const Command& command = *m_commands.find(id);
                      const QString what = editTitles(*next, id).value(0);
                      const QString title = what.isEmpty() ? command.title : command.title + " " + what;
                      m_actions[id]->setText(QString(title).replace("&", "&&"));
                      m_actions[id]->setToolTip(tipOf(command));
                    }
                  });
}

void MainWindow::refreshIcons() {
  const auto look = Theme::current();
  for (const Command& command : m_commands.all())
    if (!command.icon.isEmpty()) m_actions[command.id]->setIcon(themedIcon(command.icon, look->text, look->faint));
  m_views->refreshIcons();
}

void MainWindow::refreshRecent(QMenu* menu) {
  menu->clear();
  menu->setToolTipsVisible(true);
  const QStringList recent = QSettings().value("recent").toStringList();
  for (const QString& text : recent) {
    const auto request = nlohmann::json::parse(text.toStdString(), nullptr, false);
    if (!request.is_object()) continue;
    QAction* action = menu->addAction(sessionName(request), this, [this, request] {
      if (request.contains("capture"))
        return m_context.runCommand("open_capture", {{"path", member(request, "capture")}});
      if (request.contains("sweep")) return m_context.runCommand("open_sweep_cell", request);
      beforeOpening(sessionName(request), [this, request] { m_context.runCommand("new_session", request); });
    });
    action->setToolTip(text);
  }
  if (menu->isEmpty()) menu->addAction(tr("Nothing opened yet"))->setEnabled(false);
}

void MainWindow::remember(const nlohmann::json& request) {
  if (m_settings.headless) return;
  QSettings settings;
  QStringList recent = settings.value("recent").toStringList();
  const QString text = QString::fromStdString(request.dump());
  recent.removeAll(text);
  recent.prepend(text);
  settings.setValue("recent", QStringList(recent.mid(0, kRecent)));
}

bool MainWindow::focusNextPrevChild(bool next) {
  QList<QWidget*> stops;
  if (m_prompt->isEnabled()) stops << m_prompt;
  stops << tabStops(*m_banner) << docks().tabStops() << m_status->tabStops();
  return moveAlong(stops, next);
}

/// A tip of a menu or tool button has its place in the status bar: Qt's own would cover the bar.
bool MainWindow::event(QEvent* event) {
  if (event->type() != QEvent::StatusTip) return QMainWindow::event(event);
  m_status->showTip(static_cast<QStatusTipEvent*>(event)->tip());
  return true;
}

void MainWindow::closeEvent(QCloseEvent* event) {
  if (!mayClose()) return event->ignore();
  stopScript();
  if (m_manual) m_manual->close();
  if (!m_settings.headless) {
    QSettings saved;
    saved.setValue("window/geometry", saveGeometry());
    saved.setValue("window/docks", docks().save());
    saved.setValue("window/theme", m_settings.theme);
    saved.setValue("window/prompts", m_prompt->past().lines());
    saved.setValue("window/console", docks().view("console")->property("history"));
  }
  m_recovery.end();
  event->accept();
}

/// The command that dropping this file runs; empty = none.
static QString commandFor(const QString& path) {
  const QFileInfo file(path);
  if (file.isDir() && (QFileInfo::exists(path + "/config.json") || !QDir(path, "*.gguf", {}, QDir::Files).isEmpty()))
    return "open_model";
  if (path.endsWith(".gguf")) return "open_model_file";
  if (path.endsWith(".kvcap")) return "open_capture";
  if (path.endsWith(".safetensors")) return "load_cache";
  if (path.endsWith(".json")) return "open_manifest";
  if (path.endsWith(".js")) return "run_script";
  return isForeignCache(path.toStdString()) ? "load_cache" : "";
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  const auto urls = event->mimeData()->urls();
  if (urls.size() == 1 && !commandFor(urls.first().toLocalFile()).isEmpty()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  const QString path = event->mimeData()->urls().value(0).toLocalFile();
  if (const QString id = commandFor(path); !id.isEmpty()) m_context.runCommand(id, {{"path", path.toStdString()}});
}

}  // namespace kvlab
