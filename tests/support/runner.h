// SPDX-License-Identifier: Apache-2.0
// One program runs all test classes of a folder. KV_TEST(Class), the last line of NAME_test.cpp before its .moc, gives
// the class the file's name; `unit_tests NAME_test [Qt Test's arguments]` runs it.
#pragma once
#include <QtTest>
#ifdef QT_WIDGETS_LIB
#include <QApplication>
#endif

namespace kvlab::test {

/// Built with a sanitizer, whose times, address space and heap say nothing of the program's.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// A sanitizer takes many times as long and looks at code, not at values: it sees every n-th of many cases.
class SanitizerSample {
 public:
  explicit SanitizerSample(int every) : m_every(every) {}
  bool takes() { return !kSanitized || m_at++ % m_every == 0; }

 private:
  int m_every, m_at = 0;
};

#ifdef QT_WIDGETS_LIB
using TestApplication = QApplication;
#else
using TestApplication = QCoreApplication;
#endif

using Main = int (*)(int argc, char** argv);

/// Adds a program to the folder's.
struct Registered {
  Registered(const char* file, Main main);
};

template <class Test, class Application>
int run(int argc, char** argv) {
  Application application(argc, argv);
  Application::setAttribute(Qt::AA_Use96Dpi, true);
  Test test;
  return QTest::qExec(&test, argc, argv);
}

}  // namespace kvlab::test

// Several files are compiled as one: the counter gives each its own name.
#define KV_TEST_REGISTER(number, function) static const kvlab::test::Registered kRegistered##number{__FILE__, function};
#define KV_TEST_EXPAND(number, function) KV_TEST_REGISTER(number, function)
#define KV_TEST_MAIN(function) KV_TEST_EXPAND(__COUNTER__, function)
#define KV_TEST_UNDER(Application, Class) KV_TEST_MAIN((kvlab::test::run<Class, Application>))
#define KV_TEST(Class) KV_TEST_UNDER(kvlab::test::TestApplication, Class)
