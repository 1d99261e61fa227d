// SPDX-License-Identifier: GPL-3.0-or-later
// Real clicks and keys on the form over manifest keys, counted.
#pragma once
#include <QAbstractItemView>
#include <QComboBox>
#include <QScrollArea>
#include <QtTest>

#include "app/forms/session_form.h"

namespace kvlab {

class FormClicks {
 public:
  int clicks = 0;

  void click(QWidget* widget, QPoint at = {}) {
    ++clicks;
    QTest::mouseClick(widget, Qt::LeftButton, {}, at.isNull() ? widget->rect().center() : at);
    QTest::qWait(1);
  }
  /// The wheel brings a control into sight, which is no click.
  static QWidget* seen(const SessionForm& form, const char* key) {
    QWidget* control = form.control(key);
    form.findChild<QScrollArea*>()->ensureWidgetVisible(control);
    QTest::qWait(1);
    return control;
  }
  void choose(const SessionForm& form, const char* key, const QString& text) {
    auto* box = qobject_cast<QComboBox*>(seen(form, key));
    QVERIFY(box && box->isEnabled() && !box->visibleRegion().isEmpty());
    click(box, {box->width() - 6, box->height() / 2});
    QVERIFY(QTest::qWaitFor([&] { return box->view()->isVisible(); }, 2000));
    const QModelIndex line = box->model()->index(box->findText(text), 0);
    QVERIFY2(line.isValid(), qPrintable(text));
    box->view()->scrollTo(line);
    ++clicks;
    // A list takes no second click that comes too soon.
    QVERIFY(QTest::qWaitFor([&] { return taken(*box, line); }, 10000));
    QTRY_COMPARE(box->currentText(), text);
  }
  static bool taken(const QComboBox& box, const QModelIndex& line) {
    if (!box.view()->isVisible()) return true;
    QTest::qWait(QApplication::doubleClickInterval() / 2);
    QTest::mouseClick(box.view()->viewport(), Qt::LeftButton, {}, box.view()->visualRect(line).center());
    return false;
  }
  void type(const SessionForm& form, const char* key, const QString& text) {
    QWidget* line = seen(form, key);
    QVERIFY(line->isEnabled() && !line->visibleRegion().isEmpty());
    click(line);
    QVERIFY(line->hasFocus());
    QTest::keyClick(line, Qt::Key_A, Qt::ControlModifier);
    QTest::keyClicks(line, text);
  }
};

}  // namespace kvlab
