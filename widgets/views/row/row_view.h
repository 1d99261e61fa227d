// SPDX-License-Identifier: GPL-3.0-or-later
// Row: K and V of the focused row in the focused layer, by KV head, as strips and as numbers; the storage of the row;
// differences from a rebuild or from the tick before; attention that the row received and gave. GUI thread.
#pragma once
#include "widgets/base/engine_ask.h"
#include "widgets/base/inspector_view.h"
#include "widgets/table/column_model.h"
#include "widgets/table/data_table.h"
#include "widgets/views/row/row_canvas.h"

namespace kvlab {

struct RowNumber {
  int dimension = 0;
  float k = 0, v = 0;
  std::optional<float> otherK = {}, otherV = {};
};

/// The numbers of one KV head of a row: a line per dimension. GUI thread.
class RowNumbers : public LineModel<RowNumber> {
  Q_OBJECT
 public:
  explicit RowNumbers(QObject* parent);
  /// Null shows nothing.
  void show(const RowPicturePtr& picture, int head);
};

class RowView : public InspectorView {
  Q_OBJECT
 public:
  RowView(InspectorContext& context, QWidget* parent);
  QString dump() const override;
  QString tsv() const override;
  RowCanvas& canvas() { return *m_canvas; }

 protected:
  void onSession() override;
  void onSnapshot() override;
  void onTheme() override { showState(); }
  void onFocus() override;

 private:
  /// The row that a reply is about; a reply about another place is out of date.
  struct Place {
    LedgerId id{-1};
    CacheLayer layer;
    std::uint64_t serial = 0;
    int index = -1;  // in the layer's map, -1 = not resident
    bool operator==(const Place&) const = default;
  };
  void makeStrip();
  void makeBody();
  Place find() const;
  /// The snapshot that is queried: the newest one, which may be a frame ahead of the shown one, or an older one.
  SnapshotPtr askedSnapshot() const;
  nlohmann::json rowArgs() const;
  void ask(bool anew);
  void take(const Result<nlohmann::json>& reply);
  void compareWithRebuild();
  void measureAttention();
  void askAttention(int query, std::function<void(const nlohmann::json&)> then);
  void showState();
  void chooseHead(int head);
  int group() const;
  QString factText() const;
  QString stateText() const;
  QString emptyTitle() const;
  QString emptyHow() const;

  QComboBox* m_compare = nullptr;
  QCheckBox* m_rotated = nullptr;
  QToolButton *m_rebuild = nullptr, *m_measure = nullptr;
  QLabel *m_title = nullptr, *m_state = nullptr, *m_found = nullptr, *m_facts = nullptr, *m_attention = nullptr;
  ScaleMenu* m_scale = nullptr;
  RowCanvas* m_canvas = nullptr;
  RowNumbers* m_model;
  DataTable* m_table = nullptr;
  Place m_place;
  nlohmann::json m_stored;  // the row's entry in the reply to `rows`
  QString m_in, m_out;      // attention received from the newest query, and given by the row's own
  std::optional<Error> m_refused;
  bool m_compared = false;  // a rebuild has answered since the row was asked for; a late reply to that has less
  EngineAsk m_ask, m_run;
};

}  // namespace kvlab
