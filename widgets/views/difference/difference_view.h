// SPDX-License-Identifier: GPL-3.0-or-later
// Difference: how the shown state differs from another one, by layers and by the rows of the focused layer. The other
// state is the one before the last edit, another tick, another branch, a lane or a file. With the cache of another
// program it also shows what explains its rows. Compared anew when the shown state changes and the engine rests. GUI
// thread.
#pragma once
#include "widgets/base/engine_ask.h"
#include "widgets/base/inspector_view.h"
#include "widgets/table/sorted_table.h"
#include "widgets/views/difference/difference_models.h"

namespace kvlab {

class DifferenceView : public InspectorView {
  Q_OBJECT
 public:
  /// The other side of the comparison with the shown state, in the order of the choice.
  enum class With { Edit, AnotherTick, AnotherBranch, AnotherLane, File };

  DifferenceView(InspectorContext& context, QWidget* parent);
  QString dump() const override;
  QString tsv() const override;
  DataTable& causes() { return *m_causesTable; }
  DataTable& layers() { return *m_layersTable; }
  DataTable& rows() { return *m_rowsTable; }

 protected:
  void onSession() override;
  void onSnapshot() override { compare(); }
  void onFocus() override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  struct Question {
    std::string verb;
    nlohmann::json args;
    bool operator==(const Question&) const = default;
  };

  void makeStrip();
  void makeBody();
  With with() const;
  /// The option: a word, and behind it the text of the line.
  QString withText() const;
  std::string setWith(const nlohmann::json& value);
  void chooseOther();
  /// Error: the text that the line beside the choice should have.
  Result<Question> question() const;
  Result<Question> otherState() const;
  void compare();
  void take(const Result<nlohmann::json>& reply);
  void refuse(const Error& error);
  void showFound();
  void showRows();
  /// Marks the rows that a line of the explanation is about, in all views; -1 = none any more.
  void pick(int line);
  void checkPick();
  void drawPick();
  QString pickedText() const;
  QString summary() const;
  CacheLayer layer() const;

  QComboBox* m_with = nullptr;
  QLineEdit* m_place = nullptr;
  QToolButton* m_colour = nullptr;
  QLabel* m_state = nullptr;
  DifferenceCauses* m_causes;
  DifferentLayers* m_layers;
  DifferentRows* m_rows;
  DataTable *m_causesTable = nullptr, *m_layersTable = nullptr;
  SortedTable* m_rowsTable = nullptr;
  int m_picked = -1;                   // line of the explanation whose rows are marked
  std::vector<LedgerId> m_pickedRows;  // the selection that belongs to it
  LedgerId m_pickedRow{-1};            // the focus that belongs to it
  std::optional<DifferenceFound> m_found;
  SnapshotPtr m_of;  // the compared state
  std::optional<Question> m_asked;
  std::pair<std::uint32_t, int> m_askedOf;  // leaps and entry of the shown state
  EngineAsk m_ask;
};

}  // namespace kvlab
