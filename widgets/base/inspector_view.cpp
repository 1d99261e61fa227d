// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/inspector_view.h"

#include <QAbstractItemView>
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QContextMenuEvent>
#include <QEvent>
#include <QFileDialog>
#include <QGuiApplication>
#include <QLineEdit>
#include <QMenu>
#include <QPainter>
#include <QToolButton>
#include <algorithm>
#include <utility>

#include "core/api/guarded.h"
#include "core/api/read_json.h"
#include "widgets/base/button_use.h"
#include "widgets/base/elided_label.h"
#include "widgets/base/format.h"
#include "widgets/base/notices.h"
#include "widgets/base/panes.h"
#include "widgets/base/picture_file.h"
#include "widgets/base/row_actions.h"
#include "widgets/base/scale_menu.h"
#include "widgets/base/storage_groups.h"

namespace kvlab {

InspectorView::InspectorView(InspectorContext& context, QWidget* parent) : QWidget(parent), m_context(context) {
  setFocusPolicy(Qt::StrongFocus);
  connect(&m_context, &InspectorContext::sessionChanged, this, [this] { safely([this] { onSession(); }); });
  connect(&m_context, &InspectorContext::snapshotChanged, this, [this] {
    m_stale = true;
    if (inUse()) takeSnapshot();
  });
  connect(&m_context, &InspectorContext::focusChanged, this, [this] {
    if (inUse()) safely([this] { onFocus(); });
  });
  connect(&m_context, &InspectorContext::hoverChanged, this, [this] {
    if (inUse()) safely([this] { onHover(); });
  });
}

bool InspectorView::ready() const {
  return !m_stale && !m_context.arriving() &&
      std::ranges::none_of(m_waits, [](const auto& waiting) { return waiting(); });
}

bool InspectorView::hasRows() const { return shown() && shown()->length() > 0; }
bool InspectorView::newest() const { return !m_context.history().empty() && m_context.history().back() == shown(); }

void InspectorView::safely(const std::function<void()>& work) {
  const Status done = guarded("view " + objectName().toStdString() + " stopped", [&] { return work(), ok(); });
  if (!done) emit m_context.failed(done.error());
}

void InspectorView::takeSnapshot() {
  m_stale = false;
  safely([this] { onSnapshot(); });
  safely([this] { onFocus(); });
  emit readyChanged();
}

void InspectorView::prepare() {
  m_preparing = true;
  if (!isVisible() && isWindow()) {  // off screen: laid out like any window, but not visible
    setAttribute(Qt::WA_DontShowOnScreen);
    show();
  }
  if (m_stale) takeSnapshot();
}

void InspectorView::takeAgain() {
  if (inUse()) safely([this] { onSnapshot(); });
  else m_stale = true;
}

void InspectorView::setInFront(bool front) {
  if (std::exchange(m_inFront, front) == front) return;
  m_preparing = false;
  if (m_stale && inUse()) takeSnapshot();
}

void InspectorView::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  m_preparing = false;
  if (m_stale && inUse()) takeSnapshot();
}

bool InspectorView::event(QEvent* event) {
  const bool handled = QWidget::event(event);
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::StyleChange) onTheme();
  return handled;
}

void InspectorView::contextMenuEvent(QContextMenuEvent* event) {
  auto* menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  menu->addActions(viewActions());
  attend(*menu);
  if (m_rowActions) m_rowActions->attend(*menu);
  menu->popup(event->globalPos());
}

void InspectorView::arrange(QSize size) {
  if (isWindow() && size.isValid()) resize(size);
  if (layout()) layout()->activate();
  QCoreApplication::sendPostedEvents(nullptr, QEvent::LayoutRequest);
  if (size.isValid() && size != this->size()) {  // the parent's layout chose another size
    resize(size);
    if (layout()) layout()->activate();
  }
}

QImage InspectorView::picture(QSize size, qreal dpr) {
  arrange(size);
  return pixelsOf(*this, dpr);
}

QList<QAction*> InspectorView::viewActions() {
  if (!m_copyTable) {
    m_copyTable =
        addViewAction(tr("Copy table"), tr("Copy the table as tab-separated values"), [this] { copyTable(); });
    addViewAction(tr("Copy picture"), tr("Copy the view as a picture"), [this] { copyPicture(); });
    addViewAction(tr("Save picture…"), tr("Save the view as PNG, SVG or PDF"), [this] { askSavePicture(); });
  }
  m_copyTable->setVisible(!tsv().isEmpty());
  return m_actions;
}

QAction* InspectorView::addViewAction(const QString& text, const QString& tip, const std::function<void()>& does,
                                      const QKeySequence& key) {
  auto* action = new QAction(text, this);
  action->setToolTip(tip);
  action->setStatusTip(tip);
  if (!key.isEmpty()) {
    action->setShortcut(key);
    action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    addAction(action);
  }
  m_actions.append(action);
  connect(action, &QAction::triggered, this, does);
  return action;
}

void InspectorView::setObstacle(QAction* action, std::function<QString()> why) {
  m_obstacles.push_back({action, action->toolTip(), std::move(why)});
}

void InspectorView::attend(QMenu& menu) {
  menu.setToolTipsVisible(true);
  for (const Obstacle& one : m_obstacles) greyWhileOpen(menu, *one.action, one.tip, one.why());
}

void InspectorView::copyPicture() { QGuiApplication::clipboard()->setImage(picture(size(), devicePixelRatioF())); }

void InspectorView::copySelection() { tsv().isEmpty() ? copyPicture() : copyTable(); }

void InspectorView::copyTable() { QGuiApplication::clipboard()->setText(tsv()); }

void InspectorView::askSaveFile(const QString& title, const QString& name, const QString& filter,
                                std::function<void(const QString& path)> chosen) {
  auto* dialog = new QFileDialog(this, title, QString(), filter);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setAcceptMode(QFileDialog::AcceptSave);
  dialog->selectFile(name);
  dialog->setModal(false);
  connect(dialog, &QFileDialog::fileSelected, this, chosen);
  dialog->show();
}

void InspectorView::askSavePicture() {
  askSaveFile(tr("Save picture"), objectName() + ".png", tr(kPictureFilter), [this](const QString& path) {
    arrange(size());
    const Result<PictureFile> picture = pictureFile(path, *this, devicePixelRatioF());
    const Status saved = picture ? savePicture(path, *picture) : Status(picture.error());
    if (!saved) emit m_context.failed(saved.error());
  });
}

QVBoxLayout* InspectorView::body() {
  if (!m_body) m_body = tightColumn(this);
  return m_body;
}

StripLayout* InspectorView::strip() {
  if (!m_strip) {
    auto* holder = new QWidget(this);
    holder->setObjectName("controlStrip");
    holder->setAttribute(Qt::WA_StyledBackground);
    holder->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Minimum);
    m_strip = new StripLayout(Theme::kStrip, holder);
    m_strip->setContentsMargins(Theme::kMedium, 0, Theme::kMedium, 0);
    m_strip->setSpacing(Theme::kMedium);
    body()->insertWidget(0, holder);
  }
  return m_strip;
}

QLabel* InspectorView::stripLabel(const QString& text, int stretch) {
  auto* label = new ElidedLabel(text, this);
  strip()->addWidget(label, stretch);
  return label;
}

QToolButton* InspectorView::stripButton(const QString& text, const QString& name, const QString& tip,
                                        const char* command) {
  auto* button = new QToolButton(this);
  button->setText(text);
  button->setAccessibleName(name);
  button->setToolTip(tip);
  button->setFocusPolicy(Qt::TabFocus);
  if (command) setCommand(button, command);
  strip()->addWidget(button);
  return button;
}

QComboBox* InspectorView::stripChoice(const QStringList& items, const QString& name, const QString& tip) {
  auto* choice = new QComboBox(this);
  choice->addItems(items);
  choice->setAccessibleName(name);
  choice->setToolTip(tip);
  choice->setMinimumWidth(90);
  strip()->addWidget(choice);
  return choice;
}

QToolButton* InspectorView::stripTool(const QString& text, const QString& tip) {
  QToolButton* button = stripButton(text, text, tip);
  button->setAutoRaise(true);
  setOwn({button});
  return button;
}

QToolButton* InspectorView::stripMenu(const QString& text, const QString& name, const QString& tip) {
  QToolButton* button = stripButton(text, name, tip);
  button->setPopupMode(QToolButton::InstantPopup);
  button->setMenu(new QMenu(button));
  return button;
}

ScaleMenu* InspectorView::stripScale(std::function<std::string()> of, const QString& line, bool tokens) {
  QToolButton* button = stripMenu(tr("Scale"), tr("Colour scale"), tr("How values become colours: curve and range"));
  setOwn({button});
  auto* menu = new ScaleMenu(m_context, button, std::move(of), line, tokens);
  for (ViewOption& option : menu->options()) addOption(std::move(option));
  connect(menu, &ScaleMenu::chosen, this, &InspectorView::sayOption);
  return menu;
}

QCheckBox* InspectorView::stripCheck(const QString& text, const QString& name, const QString& tip) {
  auto* box = new QCheckBox(text, this);
  box->setAccessibleName(name);
  box->setToolTip(tip);
  strip()->addWidget(box);
  setOwn({box});
  return box;
}

QLineEdit* InspectorView::stripFilter(const QString& hint, const QString& name, const QString& tip, int stretch) {
  auto* line = new QLineEdit(this);
  line->setPlaceholderText(hint);
  line->setClearButtonEnabled(true);
  line->setAccessibleName(name);
  line->setToolTip(tip);
  strip()->addWidget(line, stretch);
  return line;
}

void InspectorView::stripTickLimits() {
  strip()->addWidget(new TickLimitNote(m_context, this));
  connect(&m_context, &InspectorContext::ticksLimited, this, &InspectorView::takeAgain);
}

QLabel* InspectorView::addReadout(QLabel* label) {
  label->setObjectName("readout");
  label->setIndent(0);
  label->setTextFormat(Qt::PlainText);
  label->setFont(theme()->monoSmall);
  body()->addWidget(label);
  return label;
}

QLabel* InspectorView::readoutLine() {
  auto* line = new ElidedLabel(this);
  line->setFixedHeight(26);
  line->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
  return addReadout(line);
}

QLabel* InspectorView::wrappedReadout() {
  auto* lines = new QLabel(this);
  lines->setWordWrap(true);
  lines->setMinimumHeight(26);
  lines->setContentsMargins(0, Theme::kTight, 0, Theme::kTight);
  return addReadout(lines);
}

void InspectorView::clickPosition(Position position, InspectorContext::Choice choice) {
  clickCell(m_context.focus().layer, position, choice);
}

void InspectorView::clickCell(CacheLayer layer, Position position, InspectorContext::Choice choice) {
  m_context.focusLayer(layer);
  m_context.choose(position, choice);
  saySelection();
}

void InspectorView::saySelection() {
  const Focus& focus = m_context.focus();
  QString rows;
  if (!m_context.selection().empty())
    for (Position one : m_context.chosenRows())
      rows += (rows.isEmpty() ? ", rows: [" : ", ") + QString::number(one.value());
  emit m_context.scripted(QString("view.focus({layer: %1, row: %2%3})")
                              .arg(focus.layer.value())
                              .arg(focus.position.value())
                              .arg(rows.isEmpty() ? rows : rows + "]"));
}

void InspectorView::pointAt(CacheLayer layer, Position position) {
  const SnapshotPtr now = shown();
  if (!now || position.value() < 0 || position.value() >= now->length()) return;
  if (m_context.selected(now->context[at(position.value())])) return m_context.focusLayer(layer);
  if (m_context.focus().position != position || m_context.focus().layer != layer || !m_context.selection().empty())
    clickCell(layer, position);
}

void InspectorView::addRowActions(QWidget& control, std::function<QRect(Position)> placeOf) {
  m_rowActions = new RowActions(m_context, *this, control, std::move(placeOf));
  m_actions.append(m_rowActions->actions());
}

void InspectorView::clickLedger(LedgerId ledger) { clickLedger(m_context.focus().layer, ledger); }

void InspectorView::clickLedger(CacheLayer layer, LedgerId ledger) {
  m_context.focusLayer(layer);
  m_context.focusLedger(ledger);
  emit m_context.scripted(QString("view.focus({layer: %1, ledger: %2})").arg(layer.value()).arg(ledger.value()));
}

void InspectorView::clickLayer(CacheLayer layer) {
  if (layer == m_context.focus().layer) return;
  m_context.focusLayer(layer);
  emit m_context.scripted(QString("view.focus({layer: %1})").arg(layer.value()));
}

void InspectorView::clickTick(Tick tick) {
  m_context.showTick(tick);
  emit m_context.scripted(QString("view.focus({tick: %1})").arg(tick.value()));
}

QString InspectorView::promptHow() {
  return tr(
      "The context is empty: type some text into the line above the views, or s.prompt(\"...\") into the console.");
}

void InspectorView::addOption(ViewOption option) { m_options.push_back(std::move(option)); }

void InspectorView::addOption(const std::string& name, const std::vector<std::string>& words, QComboBox* control,
                              const Changed& changed) {
  const auto get = [=] { return words[static_cast<std::size_t>(std::max(0, control->currentIndex()))]; };
  addOption({name, get, [=](const nlohmann::json& value) -> std::string {
               const auto found = std::find(words.begin(), words.end(), value);
               if (found == words.end()) return useOneOf(words);
               control->setCurrentIndex(static_cast<int>(found - words.begin()));
               changed();
               return {};
             }});
  connect(control, &QComboBox::activated, this, [this, name, changed] { changed(), sayOption(name); });
}

void InspectorView::addOption(const std::string& name, QAbstractButton* control, const Changed& changed) {
  addOption({name, [=] { return control->isChecked(); },
             [=](const nlohmann::json& value) -> std::string {
               if (!value.is_boolean()) return useOneOf({"true", "false"});
               control->setChecked(value.get<bool>());
               changed();
               return {};
             }});
  connect(control, &QAbstractButton::clicked, this, [this, name, changed] { changed(), sayOption(name); });
}

void InspectorView::addOption(const std::string& name, QLineEdit* control, const Changed& changed) {
  addOption({name, [=] { return control->text().toStdString(); },
             [=](const nlohmann::json& value) -> std::string {
               if (!value.is_string()) return "give a text";
               control->setText(QString::fromStdString(value.get<std::string>()));
               return {};
             }});
  connect(control, &QLineEdit::textChanged, this, changed);
  connect(control, &QLineEdit::editingFinished, this, [this, name, control] {
    if (control->isModified()) sayOption(name);
    control->setModified(false);
  });
}

nlohmann::json InspectorView::options() const {
  nlohmann::json all = nlohmann::json::object();
  for (const ViewOption& option : m_options) all[option.name] = option.get();
  return all;
}

Status InspectorView::setOption(const std::string& name, const nlohmann::json& value) {
  const auto found =
      std::find_if(m_options.begin(), m_options.end(), [&](const ViewOption& option) { return option.name == name; });
  std::vector<std::string> names;
  for (const ViewOption& option : m_options) names.push_back(option.name);
  const std::string remedy = found != m_options.end() ? found->set(value)
      : names.empty()                                 ? "this view has no options"
                                                      : useOneOf(names);
  if (remedy.empty()) return ok();
  return Error("bad_argument", "view " + objectName().toStdString() + " refused option `" + name + "`",
               "its value was " + value.dump(), remedy, name, value);
}

void InspectorView::sayOptions(const std::vector<std::string>& names) {
  const nlohmann::json all = options();
  QStringList said;
  for (const std::string& one : names) said << QString::fromStdString(one + ": " + member(all, one).dump());
  emit m_context.scripted(QString("view.set(\"%1\", {%2})").arg(objectName(), said.join(", ")));
}

QString InspectorView::noSessionHow() {
  return tr("Open a session: File > New Session (Ctrl+N), or drag a model folder or a capture in.");
}

void InspectorView::setContent(QWidget* content) {
  m_content = content;
  m_notice = new EmptyNotice(this);
  m_notice->hide();
  body()->addWidget(content, 1);
  body()->addWidget(m_notice, 1);
}

void InspectorView::setEmpty(const QString& title, const QString& how) {
  if (!m_content) return;
  m_notice->say(title, how);
  m_content->setHidden(!title.isEmpty());
  m_notice->setHidden(title.isEmpty());
  m_body->activate();  // the content has its size before it scrolls to the focus
  giveKeyboard();
}

void InspectorView::setMainControl(QWidget* control) {
  m_mainControl = control;
  giveKeyboard();
}

void InspectorView::setWordField(QLineEdit* field) {
  m_wordField = field;
  if (const auto* list = qobject_cast<QAbstractItemView*>(m_mainControl)) {
    connect(list->model(), &QAbstractItemModel::rowsInserted, this, &InspectorView::giveKeyboard);
    connect(list->model(), &QAbstractItemModel::rowsRemoved, this, &InspectorView::giveKeyboard);
    connect(list->model(), &QAbstractItemModel::modelReset, this, &InspectorView::giveKeyboard);
  }
  giveKeyboard();
}

/// A control that the notice hides, or a list without lines, would swallow keys.
void InspectorView::giveKeyboard() {
  const bool hidden =
      isEmpty() && m_mainControl && (m_mainControl == m_content || m_content->isAncestorOf(m_mainControl));
  const auto* list = qobject_cast<QAbstractItemView*>(m_mainControl);
  const bool nothing = hidden || (m_wordField && list && list->model() && list->model()->rowCount() == 0);
  setFocusProxy(!nothing ? m_mainControl : m_wordField && shown() ? m_wordField : nullptr);
}

bool InspectorView::isEmpty() const { return m_notice && !m_notice->isHidden(); }

QString tokenText(const SessionInfo& info, TokenId token) {
  const auto i = at(token.value());
  if (token.value() < 0 || i >= info.tokenTexts.size()) return QString("#%1").arg(token.value());
  QString text = QString::fromStdString(info.tokenTexts[i]);
  text.replace('\n', QChar(0x21B5)).replace('\t', QChar(0x2192));
  if (text.startsWith(' ') || text.endsWith(' ')) text.replace(' ', QChar(0x00B7));
  return text;
}

QString tokenText(const Snapshot& snapshot, LedgerId ledger) {
  if (!snapshot.info || !snapshot.ledger.contains(ledger)) return QStringLiteral("?");
  const LedgerRow& row = snapshot.ledger[ledger];
  const QString text = tokenText(*snapshot.info, row.token);
  if (row.kind != RowKind::Gist) return text;
  return QChar(0x25C7) + (text.startsWith(QChar(0x00B7)) ? text.mid(1) : text) + QChar(0x2026);
}

QString ghostText(const Snapshot& snapshot, const Focus& focus) {
  if (focus.position.value() >= 0 || !snapshot.ledger.contains(focus.ledger)) return {};
  const LedgerRow& row = snapshot.ledger[focus.ledger];
  if (row.state == RowState::Live) return {};
  return QStringList{InspectorView::tr("focus"), tokenText(snapshot, focus.ledger),
                     InspectorView::tr("ledger %1").arg(focus.ledger.value()),
                     InspectorView::tr("%1 in tick %2, no longer in the context")
                         .arg(wordOf(name(row.state)))
                         .arg(row.changed.value())}
      .join("   ");
}

QString noSlotText(const Snapshot& snapshot, const Focus& focus, CacheLayer layer) {
  if (focus.position.value() < 0) return ghostText(snapshot, focus);
  const bool left = leftThroughWindow(snapshot, layer, focus.ledger);
  return QStringList{
      InspectorView::tr("focus"), tokenText(snapshot, focus.ledger),
      left ? InspectorView::tr("left through the window: it has no slot") : InspectorView::tr("not resident here")}
      .join("   ");
}

QString tsvLine(const QStringList& cells) {
  QStringList clean = cells;
  for (QString& cell : clean) cell.replace('\t', ' ').replace('\n', ' ');
  return clean.join('\t') + '\n';
}

}  // namespace kvlab
