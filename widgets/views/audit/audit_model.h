// SPDX-License-Identifier: GPL-3.0-or-later
// The audit of policies, one line per layer, in the order of a column. Owned by its view. GUI thread.
#pragma once
#include <QAbstractTableModel>
#include <QStringList>

#include "widgets/views/audit/audit_lines.h"

namespace kvlab {

class AuditModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column {
    LayerNumber,
    PolicyName,
    State,
    Requested,
    Rows,
    Bar,
    RequestedBytes,
    Bytes,
    Evicted,
    Ever,
    Fired,
    Fallback,
    kColumns
  };
  enum Role { LineRole = Qt::UserRole + 70 };  // const AuditLine*

  static constexpr QChar kUp{u'↑'}, kDown{u'↓'};  // beside the title of the column that gives the order

  using QAbstractTableModel::QAbstractTableModel;
  void show(std::vector<AuditLine> lines);
  const std::vector<AuditLine>& lines() const { return m_lines; }  // as shown
  int rowOf(Layer layer) const;                                    // -1 = none
  static QStringList names();                                      // by column, as options name them

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  void sort(int column, Qt::SortOrder order) override;

 private:
  static QStringList titles();
  QString text(const AuditLine& line, int column) const;
  QString tip(const AuditLine& line, int column) const;
  int tone(const AuditLine& line, int column) const;
  void order();

  std::vector<AuditLine> m_lines;
  int m_by = LayerNumber;
  Qt::SortOrder m_order = Qt::AscendingOrder;
};

}  // namespace kvlab

Q_DECLARE_METATYPE(const kvlab::AuditLine*)
