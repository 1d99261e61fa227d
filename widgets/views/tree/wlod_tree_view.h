// SPDX-License-Identifier: GPL-3.0-or-later
// Tree: the wLOD tree over the time line, the working context, the rows that the last edit invalidated, and the
// decisions of the focus allocator; with commands to expand, collapse and refocus. GUI thread.
#pragma once
#include "widgets/base/engine_ask.h"
#include "widgets/base/inspector_view.h"
#include "widgets/canvas/tile_cache.h"
#include "widgets/views/tree/wlod_canvas.h"
#include "widgets/views/tree/wlod_fact_list.h"
#include "widgets/views/tree/wlod_rounds.h"

class QTabBar;
class QStackedWidget;

namespace kvlab {

class WlodTreeView : public InspectorView {
  Q_OBJECT
 public:
  WlodTreeView(InspectorContext& context, QWidget* parent);
  QString dump() const override;
  QString tsv() const override;
  WlodCanvas& canvas() { return *m_canvas; }
  WlodRounds& rounds() { return *m_rounds; }

 protected:
  void onSnapshot() override;
  void onFocus() override;
  void onHover() override { sayReadout(); }
  void onTheme() override;

 private:
  void makeStrip();
  void makeBody();
  void makeActions();
  void makeOptions();
  QWidget* makePanel(QWidget* parent);
  void showColour();
  void takeValues();
  void pick(TreeNode node);
  void ask(const TreeEdit& edit);
  void refocus();
  void send(const char* command, const nlohmann::json& args);
  void say(const QString& text);
  void sayReadout();
  std::optional<TreeNode> focusedNode() const;
  QString whyNotNow() const;
  void buttons();
  /// The visible range as an option value.
  nlohmann::json window() const;
  std::string setRound(const nlohmann::json& value);
  std::string setWindow(const nlohmann::json& value);
  std::string setNode(const nlohmann::json& value);

  std::shared_ptr<const WlodTree> m_tree;
  WlodCanvas* m_canvas = nullptr;
  WlodFactList* m_facts = nullptr;
  WlodRounds* m_rounds = nullptr;
  QTabBar* m_tabs = nullptr;
  QStackedWidget* m_pages = nullptr;
  QComboBox* m_colour = nullptr;
  QLabel *m_state = nullptr, *m_message = nullptr, *m_readout = nullptr;
  QToolButton *m_expand = nullptr, *m_collapse = nullptr, *m_refocus = nullptr, *m_begin = nullptr, *m_room = nullptr;
  QAction *m_expandAction = nullptr, *m_collapseAction = nullptr, *m_refocusAction = nullptr;
  Focus m_followed;           // focus from which the selected node was taken
  Tick m_saidIn;              // tick of the shown refusal
  nlohmann::json m_roomless;  // arguments of the expansion that found no room
  EngineAsk m_edit;
  TileCache m_tiles;
};

}  // namespace kvlab
