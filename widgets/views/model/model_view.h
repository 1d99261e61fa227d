// SPDX-License-Identifier: GPL-3.0-or-later
// Model: the most likely next tokens compared with the previous tick, or with what they would be without some rows, and
// the facts of the model. GUI thread.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>

#include "core/api/knock_out.h"
#include "core/api/snapshot.h"
#include "widgets/base/engine_ask.h"
#include "widgets/base/inspector_view.h"
#include "widgets/table/column_model.h"
#include "widgets/table/sorted_table.h"

class QFormLayout;
class QScrollArea;
class QSpinBox;
class QSplitter;

namespace kvlab {

struct ChanceLine {
  TokenChance chance;
  int rank = 1;
  std::optional<float> other = {};  // of an earlier tick, or without the rows that were knocked out
  bool compared = false;            // one of these was compared
  bool without = false;             // with the latter: the change is that of hiding the rows
};

/// The most likely next tokens, best first, with the change since an earlier tick, or by hiding rows.
class ChanceModel : public LineModel<ChanceLine> {
  Q_OBJECT
 public:
  enum Role { ShareRole = Qt::UserRole + 50, OtherRole };  // 0..1; OtherRole invalid if unknown

  explicit ChanceModel(QObject* parent = nullptr);
  void show(const std::vector<TokenChance>& now, const std::vector<TokenChance>& before);
  void showWithout(const Snapshot& snapshot, const KnockOut& found);
  /// Sum of the probabilities of the shown tokens.
  double covered() const;
};

struct KnockedRow {
  KnockOut::Row row;
  QString position, text, likeliest;
};

/// The rows that were hidden one by one, with what the next token owes to each.
class KnockedRows : public LineModel<KnockedRow> {
  Q_OBJECT
 public:
  explicit KnockedRows(QObject* parent = nullptr);
  void show(const Snapshot& snapshot, const KnockOut& found);
};

/// The probability column of the next tokens: a bar of the probability, its number, and a mark at the probability that
/// it is compared with.
class ChanceDelegate : public DataDelegate {
  Q_OBJECT
 public:
  using DataDelegate::DataDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

class ModelView : public InspectorView {
  Q_OBJECT
 public:
  ModelView(InspectorContext& context, QWidget* parent);
  QString dump() const override;
  QString tsv() const override;

 protected:
  void onSnapshot() override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void makeStrip();
  void makeRows();
  void makeFacts();
  void askMore();
  /// Asks for the present figures of the device that computes, if it is none of the host.
  void askDevice();
  /// Appends the token of a line to the context.
  void take(const QModelIndex& line);
  void fillFacts();
  void showFacts();
  void makeFactRows();
  void layOut();
  void showChances(std::vector<TokenChance> now);
  /// The answer about rows that were knocked out in the shown state; null = none.
  const KnockOut* knockOut() const { return shown() ? shown()->knockOut.get() : nullptr; }
  void showKnockOut();
  /// Probabilities of the tick before the shown one.
  std::vector<TokenChance> before() const;
  QList<std::pair<QString, QString>> facts() const;

  ChanceModel* m_model;
  DataTable* m_table = nullptr;
  KnockedRows* m_rows;
  SortedTable* m_rowsTable = nullptr;  // hidden unless several rows were knocked out one by one
  QLabel *m_stale = nullptr, *m_without = nullptr, *m_summary = nullptr;
  QSpinBox* m_count = nullptr;
  QWidget* m_facts = nullptr;
  QScrollArea* m_factsArea = nullptr;
  QSplitter* m_split = nullptr;
  QFormLayout* m_form = nullptr;
  QList<std::pair<QString, QString>> m_shownFacts;
  nlohmann::json m_bytes;  // reply to `bytes`, of the shown session; null on the host
  EngineAsk m_ask;         // queries more tokens than the snapshot has
};

}  // namespace kvlab
