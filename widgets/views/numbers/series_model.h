// SPDX-License-Identifier: GPL-3.0-or-later
// The series one can plot: a heading per panel, below it the series with a check mark and its value
// at the cursor. GUI thread.
#pragma once
#include <QAbstractTableModel>
#include <set>

#include "widgets/views/numbers/tick_series.h"

namespace kvlab {

class SeriesModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { Name, Value, kColumns };
  enum Role { IdRole = Qt::UserRole + 50, HeadingRole, OnRole, PenRole };  // PenRole: place in its panel

  explicit SeriesModel(QObject* parent);
  /// Takes the list of series and the values at `cursor` (a place in ticks(); -1 = none).
  void show(const TickSeries& series, int cursor);
  /// Ids of the checked series in the order of the list.
  std::vector<QString> chosen() const;
  bool isOn(const QString& id) const { return m_on.count(id) > 0; }
  void setOn(const QString& id, bool on);
  void setChosen(const std::set<QString>& ids);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  bool setData(const QModelIndex& index, const QVariant& value, int role) override;
  Qt::ItemFlags flags(const QModelIndex& index) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 signals:
  void chosenChanged();

 private:
  struct Line {
    QString id, title, value;  // id empty: a heading
    int pen = 0;
    bool operator==(const Line&) const = default;
  };
  static std::vector<Line> linesOf(const TickSeries& series, int cursor);
  bool on(const Line& line) const;

  std::vector<Line> m_lines;
  std::set<QString> m_on;
};

}  // namespace kvlab
