// SPDX-License-Identifier: GPL-3.0-or-later
// The storage view with real clicks and keys: bytes by kind, holes of pages, slots that history holds,
// pools larger than their picture, and the commands behind its menus.
#include <QCheckBox>
#include <QMenu>
#include <QSignalSpy>
#include <QToolButton>

#include "fake_context.h"
#include "golden.h"
#include "support/runner.h"
#include "widgets/views/storage/storage_view.h"

using namespace kvlab;

namespace {
QCheckBox* boxNamed(QWidget& view, const QString& name) {
  for (auto* box : view.findChildren<QCheckBox*>())
    if (box->accessibleName() == name) return box;
  return nullptr;
}
}  // namespace

class StorageTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() { Theme::apply(*qApp, "dark"); }

  void bytesAddUp() {
    FakeContext context({.mixed = true});
    for (const StorageGroup& group : storageGroups(*context.snapshot())) {
      const ByteKinds kinds = bytesOf(group);
      const StorageView& s = *group.storage;
      QCOMPARE(kinds.sum(), static_cast<std::int64_t>(group.layers.size()) * s.poolSlots * s.stride);
      StorageView large = s;  // with addresses for older states, which are no bytes
      large.poolSlots += 1000;
      StorageGroup reserved = group;
      reserved.storage = std::make_shared<StorageView>(large);
      QCOMPARE(bytesOf(reserved).sum(), kinds.sum());
      QCOMPARE(kinds.of(ByteKind::Scales) > 0, group.storage->v == "int8");
    }
  }

  void holesAndHistoryAreTold() {
    FakeContext context({.mixed = true});
    const auto groups = storageGroups(*context.snapshot());
    QCOMPARE(groups.size(), std::size_t{3});
    const StorageGroup& paged = groups[0];
    QCOMPARE(paged.name(), QString("layers 0, 1"));
    const SlotCells unknown = slotCells(*context.snapshot(), paged, {});
    QCOMPARE(unknown.countOf(CellUse::Row), paged.storage->rows);
    QCOMPARE(unknown.countOf(CellUse::NoRow),
             paged.storage->poolSlots - paged.storage->rows);  // an older tick: no more is known
    SlotRuns free;
    for (int slot = 0; slot < paged.storage->poolSlots; ++slot)
      if (unknown.rowAt[static_cast<std::size_t>(slot)] < 0 && slot < 150) free.emplace_back(slot, 1);
    const SlotCells known = slotCells(*context.snapshot(), paged, free);
    const PageState& pages = *paged.storage->pages;
    QCOMPARE(known.countOf(CellUse::Hole) + known.countOf(CellUse::Row) + 0, pages.used * pages.block);
    QVERIFY(known.countOf(CellUse::Held) > 0);
  }

  void lineAndSlotFocus() {
    FakeContext context({.mixed = true});
    StorageTableView view(context, nullptr);
    context.setFocus(Focus{context.snapshot()->tick, CacheLayer(0), Head(0), Position(-1), LedgerId(-1)});
    show(view);
    QSignalSpy said(&context, &InspectorContext::scripted);
    const SlotCells& cells = view.slotMap().cells();
    const int slot = cells.slotOf[20];
    QTest::mouseClick(&view.slotMap(), Qt::LeftButton, {}, view.slotMap().middleOf(slot).toPoint());
    QCOMPARE(context.focus().position.value(), cells.positionOf[20]);
    QTest::keyClick(&view.slotMap(), Qt::Key_Right);
    QCOMPARE(context.focus().position.value(),
             cells.positionOf[static_cast<std::size_t>(cells.rowAt[static_cast<std::size_t>(slot + 1)])]);
    QTest::keyClick(&view.slotMap(), Qt::Key_Home);
    QVERIFY(view.slotMap().readout().contains("slot 0 "));
    QTest::keyClick(&view.slotMap(), Qt::Key_End);
    QTest::keyClick(&view.slotMap(), Qt::Key_Right);
    QTest::keyClick(&view.table(), Qt::Key_Down);
    QCOMPARE(context.focus().layer, CacheLayer(2));
    QCOMPARE(said.last().at(0).toString(), QString("view.focus({layer: 2})"));
    QVERIFY(view.slotMap().cells().pointer >= 0);
  }

  /// Verbs are told the layer of the model and its head.
  void freeSlotsAreAskedForByHead() {
    auto byHead = std::make_shared<Snapshot>(*FakeContext({.mixed = true}).snapshot());
    auto info = std::make_shared<SessionInfo>(*byHead->info);
    info->cacheLayers = {2, 2};
    byHead->info = std::move(info);
    FakeContext context{SnapshotPtr(std::move(byHead))};
    StorageTableView view(context, nullptr);
    context.setFocus(Focus{context.snapshot()->tick, CacheLayer(3), Head(0), Position(-1), LedgerId(-1)});
    show(view);
    QCOMPARE(context.queried.back().verb, std::string("storage"));
    QCOMPARE(context.queried.back().args, nlohmann::json({{"layer", 1}, {"kvHead", 1}, {"free", true}}));
  }

  /// Beside the memory, unless the clock stands still: measured times decide about it.
  void adviceIsTold() {
    const QString advice = "your commits cost 4.0 ms; `indirection` would cost 0.02";
    for (const bool frozen : {false, true}) {
      FakeContext context({.mixed = true});
      context.answers["storage"] = [&](const nlohmann::json&) -> Result<nlohmann::json> {
        return nlohmann::json{{"free", nlohmann::json::array()}, {"advice", {{"text", advice.toStdString()}}}};
      };
      if (frozen) context.freezeClock();
      StorageTableView view(context, nullptr);
      context.setFocus(Focus{context.snapshot()->tick, CacheLayer(0), Head(0), Position(-1), LedgerId(-1)});
      show(view);
      QCOMPARE(view.dump().contains(advice), !frozen);
    }
  }

  /// Menus run commands of the registry: for all layers, or for the focused one.
  void menusRunCommands() {
    FakeContext context({.mixed = true});
    StorageTableView view(context, nullptr);
    view.setObjectName("storage");
    context.setFocus(Focus{context.snapshot()->tick, CacheLayer(3), Head(0), Position(-1), LedgerId(-1)});
    show(view);
    choose(view, "Set layout", "ring_lut");
    choose(view, "Set K format", "int8");
    QVERIFY(static_cast<bool>(view.setOption("change", "layer")));
    choose(view, "Set layout", "paged:block=16");
    QVERIFY(!view.setOption("change", "some"));
    QTest::mouseClick(button(view, "Compact pages"), Qt::LeftButton);
    QCOMPARE(context.commands.size(), std::size_t{4});
    QCOMPARE(context.commands[0].verb, std::string("storage_layout"));
    QCOMPARE(context.commands[0].args, nlohmann::json({{"layout", "ring_lut"}}));
    QCOMPARE(context.commands[1].verb, std::string("storage_format"));
    QCOMPARE(context.commands[1].args, nlohmann::json({{"k", "int8"}, {"v", ""}}));
    QCOMPARE(context.commands[2].args, nlohmann::json({{"layout", "paged:block=16"}, {"layer", 3}}));
    QCOMPARE(context.commands[3].verb, std::string("storage_compact"));
  }

  /// Layers 0 and 1 are paged with V in f16, layers 2 and 3 rings, the last with V in int8.
  void menusMarkWhatLayersHave() {
    FakeContext context({.mixed = true});
    StorageTableView view(context, nullptr);
    context.setFocus(Focus{context.snapshot()->tick, CacheLayer(0), Head(0), Position(-1), LedgerId(-1)});
    show(view);
    const auto marked = [&](const QString& name) {
      QStringList out;
      auto* menu = qobject_cast<QToolButton*>(button(view, name))->menu();
      emit menu->aboutToShow();
      for (const QAction* action : menu->actions())
        if (action->isChecked()) out << action->text();
      return out;
    };
    QCOMPARE(marked("Set layout"), QStringList());
    QCOMPARE(marked("Set K format"), QStringList{"f16"});
    QCOMPARE(marked("Set V format"), QStringList());
    QVERIFY(static_cast<bool>(view.setOption("change", "layer")));
    QCOMPARE(marked("Set layout"), QStringList{"paged:block=16"});
    QCOMPARE(marked("Set V format"), QStringList{"f16"});
    context.focusLayer(CacheLayer(3));
    QCOMPARE(marked("Set layout"), QStringList{"ring_fused"});
    QCOMPARE(marked("Set V format"), QStringList{"int8"});
  }

  void nothingToCompactIsSaid() {
    FakeContext context;
    StorageTableView view(context, nullptr);
    show(view);
    QVERIFY(!button(view, "Compact pages")->isEnabled());
    QCOMPARE(button(view, "Compact pages")->toolTip(), QString("No layer has pages with holes"));
    QCOMPARE(view.tsv().count('\n'), 4);
    QVERIFY(view.slotMap().cells().countOf(CellUse::Free) > 0);
  }

  /// The default pool is much larger than a short text needs: the cells are those of the slots in use.
  void slotsInUseFillThePicture() {
    FakeContext context;
    auto wide = std::make_shared<Snapshot>(*context.snapshot());
    StorageView storage = *wide->storage[0];
    storage.poolSlots = 840840;
    wide->storage.assign(wide->storage.size(), std::make_shared<StorageView>(storage));
    FakeContext large{SnapshotPtr(std::move(wide))};
    StorageTableView view(large, nullptr);
    show(view);
    const SlotMap& map = view.slotMap();
    const auto wideCell = [&] { return map.middleOf(1).x() - map.middleOf(0).x() >= 3; };
    QVERIFY(map.cells().countOf(CellUse::Row) > 64);
    QCOMPARE(map.cells().extent(), 128);
    QCOMPARE(map.drawn(), 128);
    QVERIFY(wideCell());
    QTest::mouseClick(boxNamed(view, "Show the whole pool"), Qt::LeftButton);
    QCOMPARE(map.drawn(), 840840);
    QVERIFY(!wideCell());
    QCOMPARE(view.options()["pool"], true);
  }

  void extentKeepsWholePagesAndThePool() {
    SlotCells cells;
    QCOMPARE(cells.extent(), 0);
    cells.use.assign(256, CellUse::Free);
    QCOMPARE(cells.extent(), 256);
    cells.use.assign(1000, CellUse::Free);
    QCOMPARE(cells.extent(), 64);
    cells.use[64] = CellUse::Held;
    QCOMPARE(cells.extent(), 128);
    cells.block = 24;
    QCOMPARE(cells.extent(), 144);
    cells.use[999] = CellUse::Row;
    QCOMPARE(cells.extent(), 1000);
  }

  /// More slots than cells: each slot is found again, and a cell shows a row if it has one.
  void poolsLargerThanThePicture() {
    FakeContext context(fixture::hugeSnapshot(2, 131072));
    StorageTableView view(context, nullptr);
    show(view);
    QCOMPARE(view.slotMap().cells().countOf(CellUse::Row), 131072);
    for (const int slot : {0, 70000, 131071})
      QVERIFY(std::abs(view.slotMap().slotAt(view.slotMap().middleOf(slot)) - slot) < 200);
    QVERIFY(!view.picture({1180, 300}, 1).isNull());
  }

 private:
  static void show(StorageTableView& view) {
    view.resize(1180, 300);
    view.show();
    QVERIFY(QTest::qWaitForWindowExposed(&view));
    QVERIFY(golden::settle(view));
  }
  static QToolButton* button(StorageTableView& view, const QString& name) {
    for (QToolButton* one : view.findChildren<QToolButton*>())
      if (one->accessibleName() == name) return one;
    return nullptr;
  }
  static void choose(StorageTableView& view, const QString& menu, const QString& entry) {
    for (QAction* action : button(view, menu)->menu()->actions())
      if (action->text() == entry) return action->trigger();
    QFAIL(qPrintable(entry + " is not in the menu"));
  }
};

KV_TEST(StorageTest)
#include "storage_test.moc"
