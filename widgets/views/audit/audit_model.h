// SPDX-License-Identifier: GPL-3.0-or-later
// The audit of policies, one line per layer, and the painting of its cells. Owned by its view. GUI thread.
#pragma once
#include "widgets/table/column_model.h"
#include "widgets/views/audit/audit_lines.h"

namespace kvlab {

class AuditModel : public LineModel<AuditLine> {
  Q_OBJECT
 public:
  enum Role { LineRole = Qt::UserRole + 70 };  // const AuditLine*

  explicit AuditModel(QObject* parent);
  void show(std::vector<AuditLine> lines);
  int rowOf(CacheLayer layer) const;  // -1 = none
};

/// Paints the state of an audit line as a lamp with words, and its rows as a bar over the length of the context: a
/// frame for the requested rows, a fill for the resident rows, red and hatched beyond the frame.
class AuditDelegate : public DataDelegate {
  Q_OBJECT
 public:
  enum Column { State, Share };
  AuditDelegate(Column paints, QObject* parent) : DataDelegate(parent), m_paints(paints) {}
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;

 private:
  Column m_paints;
};

}  // namespace kvlab

Q_DECLARE_METATYPE(const kvlab::AuditLine*)
