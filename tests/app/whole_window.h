// SPDX-License-Identifier: GPL-3.0-or-later
// The whole window as tests open it, over the real engine unless a test has another. GUI thread.
#pragma once
#include <QSettings>
#include <QtTest>

#include "app/engine/core_engine.h"
#include "app/window/main_window.h"

namespace kvlab::test {

/// Settings of the test's own, so that those of the person who runs the test stay as they are; false if the folder
/// cannot be used.
inline bool ownSettings(const QTemporaryDir& folder) {
  QSettings::setDefaultFormat(QSettings::IniFormat);
  QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, folder.path());
  QCoreApplication::setOrganizationName("kvlab-test");
  QCoreApplication::setApplicationName("kvlab-test");
  return folder.isValid();
}

/// A headless window asks nobody.
inline WindowSettings wholeSettings(bool headless = true) {
  WindowSettings settings;
  settings.engines = coreEngines(KVLAB_RESOURCES_DIR);
  settings.schema = coreSchema();
  settings.headless = headless;
  return settings;
}

/// A window that is shown and has the keyboard.
inline std::unique_ptr<MainWindow> wholeWindow(const WindowSettings& settings = wholeSettings()) {
  auto window = std::make_unique<MainWindow>(settings);
  window->show();
  window->activateWindow();
  if (!QTest::qWaitForWindowActive(window.get())) qFatal("the window did not get the keyboard");
  return window;
}

/// Waits for the end of all commands of a session.
inline bool settled(MainWindow& window) {
  return QTest::qWaitFor([&] { return !window.context().busy() && window.context().snapshot(); }, 20000);
}

/// Opens a session and waits until the session has read the text that it begins with.
inline bool openIn(MainWindow& window, const nlohmann::json& manifest, const std::string& text = {}) {
  nlohmann::json request{{"manifest", manifest}};
  if (!text.empty()) request["start"] = {{"text", text}};
  bool opened = false;
  window.openSession(request, [&](const Result<SessionPtr>& r) { opened = bool(r); });
  const auto read = [&] { return text.empty() || window.context().history().back()->length() > 0; };
  return QTest::qWaitFor([&] { return opened; }, 20000) && settled(window) && QTest::qWaitFor(read, 20000);
}

}  // namespace kvlab::test
