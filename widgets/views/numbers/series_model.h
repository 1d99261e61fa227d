// SPDX-License-Identifier: GPL-3.0-or-later
// The list of series: a heading per panel, below it the series with a check mark and their value at the cursor; and
// the painting of its lines. GUI thread.
#pragma once
#include <set>

#include "widgets/table/column_model.h"
#include "widgets/views/numbers/tick_series.h"

namespace kvlab {

struct SeriesLine {
  QString id, title, value;  // empty id: a heading
  int pen = 0;               // index in its panel
};

class SeriesModel : public LineModel<SeriesLine> {
  Q_OBJECT
 public:
  enum Role { IdRole = Qt::UserRole + 50, HeadingRole, OnRole, PenRole };

  explicit SeriesModel(QObject* parent);
  /// Takes the series and their values at `cursor` (an index into ticks(); -1 = none).
  void show(const TickSeries& series, int cursor);
  /// Ids of the checked series in the order of the list.
  std::vector<QString> chosen() const;
  void setOn(const QString& id, bool on);

  bool setData(const QModelIndex& index, const QVariant& value, int role) override;
  Qt::ItemFlags flags(const QModelIndex& index) const override;

 signals:
  void chosenChanged();

 private:
  bool on(const SeriesLine& line) const;

  std::set<QString> m_on;
};

/// A line of the list: a panel heading, or a series with a check box, a sample of its line and its value at the cursor.
class SeriesDelegate : public DataDelegate {
  Q_OBJECT
 public:
  using DataDelegate::DataDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;

 protected:
  bool editorEvent(QEvent* event, QAbstractItemModel* model, const QStyleOptionViewItem& option,
                   const QModelIndex& index) override;
};

}  // namespace kvlab
