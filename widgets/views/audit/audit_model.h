// SPDX-License-Identifier: GPL-3.0-or-later
// The audit of policies, one line per layer. Owned by its view. GUI thread.
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

}  // namespace kvlab

Q_DECLARE_METATYPE(const kvlab::AuditLine*)
