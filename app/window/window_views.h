// SPDX-License-Identifier: GPL-3.0-or-later
// The views of a window, as commands and scripts have them: their places, the one with the keyboard, their options,
// pictures and texts, and mouse and keys for them. Owned by the main window. GUI thread.
#pragma once
#include "app/commands/command_host.h"
#include "app/window/dock_set.h"
#include "app/window/person_input.h"
#include "app/window/row_tools.h"

namespace kvlab {

class WindowViews : public QObject, public ViewDesk {
  Q_OBJECT
 public:
  /// The host is the same window.
  WindowViews(QMainWindow& window, CommandHost& host);
  /// Gives every view its first place; a new window shows the options that the views have now.
  void begin();
  DockSet& docks() const { return *m_docks; }
  void refreshIcons() { m_rowTools->refreshIcons(); }

  // ViewPort
  std::vector<std::string> viewIds() const override;
  Status showView(const QString& id) override;
  Status setFocus(const nlohmann::json& focus) override;
  Status setOptions(const QString& id, const nlohmann::json& options) override;
  Result<bool> readyFor(const PictureRequest& request) override;
  Result<QImage> picture(const PictureRequest& request) override;
  Result<PictureFile> pictureFile(const PictureRequest& request, const QString& path) override;
  Result<QString> dump(const QString& what) override;
  Status bringUp(const QString& id) override;
  Status mouse(const QString& id, const MouseAct& act) override;
  Status keys(const QString& id, const QKeySequence& keys) override;
  Status type(const QString& id, const QString& text) override;
  void whenAnswered(std::function<void()> then) override;

  // ViewDesk
  QString viewWithKeyboard() const override { return m_docks->visible(m_keyboardView) ? m_keyboardView : QString(); }
  Status closeView(const QString& id) override;
  Status floatView(const QString& id) override;
  void showNeighbour(bool forward) override { m_docks->showNeighbour(forward); }
  void arrangeViews(const TaskLayout& layout) override;
  void showRowTools(std::optional<bool> on) override { m_rowTools->setVisible(on.value_or(!m_rowTools->isVisible())); }
  Status copySelection() override;
  Result<nlohmann::json> options(const QString& id) const override;
  FocusTrail& trail() const override { return *m_trail; }
  QString sessionScript() const override;

 signals:
  /// Another view has the keyboard, or none.
  void keyboardMoved();

 private:
  /// Lays the window out, or gives a view its size, and draws it.
  template <class Picture>
  Result<Picture> drawn(const PictureRequest& request, const std::function<Result<Picture>(QWidget&)>& draw);
  void followKeyboard(const QWidget* now);
  Result<InspectorView*> viewOf(const QString& id) const;
  /// A view, or "window": the window.
  Result<QWidget*> widgetOf(const QString& id) const;
  /// The view that is named, else the one with the keyboard; the line of the command with this view is said.
  Result<QString> sayView(const char* command, const QString& id, const char* refused);

  QMainWindow& m_window;
  CommandHost& m_host;
  LiveContext& m_context;
  DockSet* m_docks;
  RowTools* m_rowTools;
  FocusTrail* m_trail;
  PersonInput m_person;
  QString m_keyboardView;                         // has the keyboard, or gets it back when palette or Find close
  QHash<QString, nlohmann::json> m_firstOptions;  // [view id] options of a new window
};

}  // namespace kvlab
