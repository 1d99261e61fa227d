// SPDX-License-Identifier: Apache-2.0
// The list of error codes matches the sources: no code without a line, no line without a use. Reads the sources.
#include <QDirIterator>
#include <set>

#include "core/api/error.h"
#include "support/runner.h"

using namespace kvlab;

namespace {

QString read(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

/// The sources of the program, by path.
std::map<QString, QString> sources() {
  std::map<QString, QString> out;
  for (const char* room : {"core", "kernels", "widgets", "app"}) {
    QDirIterator files(QString(KVLAB_TESTS_DIR "/../") + room, {"*.h", "*.cpp", "*.js"}, QDir::Files,
                       QDirIterator::Subdirectories);
    while (files.hasNext()) {
      const QString path = files.next();
      out[path] = read(path);
    }
  }
  return out;
}

/// Patterns of code that makes an error with a code, or compares an error with one.
std::vector<QRegularExpression> uses() {
  const QString code = R"re("([a-z][a-z0-9]*(?:_[a-z0-9]+)*)")re";
  std::vector<QRegularExpression> out;
  for (const QString& form :
       {R"re(\bError\s*(?:\w+\s*)?[{(]\s*)re" + code,                  // Error{"code", Error error{"code"
        R"re(\brefused\(\s*\{\s*)re" + code,                           // refused({"code"
        R"re(return \{\s*)re" + code + R"re(\s*,\s*"[^"]* [^"]*")re",  // return {"code", "what was"
        R"re(\bfail\()re" + code + R"re(,\s*"[a-z_]*",\s)re",          // the planners' fail("code", "field",
        R"re(\brefuse\()re" + code + R"re(, edit)re",                  // refuse("code", edit
        R"re(\bnotSaved\(\s*)re" + code,                               // notSaved("code", "why"
        R"re(\bcode: )re" + code,                                      // prelude.js
        R"re(error(?:\(\))?(?:\.|->)code\s*[!=]?=\s*)re" + code})      // error.code ==
    out.emplace_back(form);
  return out;
}

}  // namespace

class ErrorCodesTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void listIsInOrder() {
    const auto all = errorCodes();
    QVERIFY(all.size() > 80);
    for (std::size_t i = 0; i < all.size(); ++i) {
      QVERIFY2(i == 0 || all[i - 1].code < all[i].code, all[i].code.data());
      QVERIFY2(all[i].meaning.ends_with('.') && all[i].meaning.size() > 15, all[i].code.data());
    }
  }

  void everyUseHasALine() {
    std::set<std::string_view> known;
    for (const ErrorCode& one : errorCodes()) known.insert(one.code);
    int found = 0;
    QStringList unknown;
    for (const auto& [path, text] : sources())
      for (const QRegularExpression& use : uses())
        for (auto matches = use.globalMatch(text); matches.hasNext(); ++found) {
          const QString code = matches.next().captured(1);
          if (!known.contains(code.toStdString())) unknown << path.section('/', -2) + ": " + code;
        }
    QVERIFY2(found > 200, QByteArray::number(found));
    QVERIFY2(unknown.isEmpty(), qPrintable(unknown.join("\n")));
  }

  void everyLineHasAUse() {
    QString all;
    for (const auto& [path, text] : sources()) all += text;
    for (const ErrorCode& one : errorCodes()) {
      const QString quoted = '"' + QString::fromLatin1(one.code.data(), static_cast<qsizetype>(one.code.size())) + '"';
      QVERIFY2(all.contains(quoted), one.code.data());
    }
  }
};

KV_TEST(ErrorCodesTest)
#include "error_codes_test.moc"
