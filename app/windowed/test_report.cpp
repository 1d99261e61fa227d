// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/windowed/test_report.h"

#include <QDir>
#include <QFile>
#include <QRegularExpression>
#include <QUrl>
#include <QXmlStreamWriter>

namespace kvlab {

using nlohmann::json;

namespace {

/// Replaces characters that XML or a terminal cannot take by a mark.
QString printable(const QString& text) {
  QString out;
  for (const char32_t one : text.toUcs4()) {
    const bool control = one < 0x20 && one != '\n' && one != '\t';
    const bool unknown = (one >= 0x7f && one < 0xa0) || (one >= 0xd800 && one < 0xe000) || (one & 0xfffe) == 0xfffe;
    out += control || unknown ? QString(QChar::ReplacementCharacter) : QString::fromUcs4(&one, 1);
  }
  return out;
}

QString oneLine(const QString& text) { return printable(text).simplified(); }

QString figure(double seconds) { return QString::number(seconds, 'f', 3); }

/// The begin of a text that a test left; empty if it left no text.
QString textOfFile(const QString& path, qint64 most) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? printable(QString::fromUtf8(file.read(most))) : QString();
}

bool isText(const QString& file) { return !file.endsWith(".png"); }

/// The lines that differ, at most `most`, of the difference of a text.
QStringList diffLines(const TestReport& report, const TestOutcome& test, qsizetype most) {
  QStringList out;
  for (const QString& file : test.leftFiles)
    if (file.contains(".diff.") && isText(file)) out << textOfFile(report.out + '/' + file, 1 << 20).split('\n');
  while (!out.isEmpty() && out.back().isEmpty()) out.removeLast();
  if (out.size() > most) out = out.mid(0, most) << QStringLiteral("(%1 more lines)").arg(out.size() - most);
  return out;
}

void counts(QXmlStreamWriter& xml, const TestCounts& all) {
  xml.writeAttribute("tests", QString::number(all.tests));
  xml.writeAttribute("failures", QString::number(all.failures));
  xml.writeAttribute("errors", "0");
  xml.writeAttribute("skipped", "0");
  xml.writeAttribute("time", figure(all.seconds));
}

void testCase(QXmlStreamWriter& xml, const TestReport& report, const TestFile& file, const TestOutcome& test) {
  xml.writeStartElement("testcase");
  xml.writeAttribute("classname", oneLine(file.name));
  xml.writeAttribute("name", oneLine(test.name));
  xml.writeAttribute("time", figure(test.seconds));
  QStringList paths;
  for (const QString& one : test.leftFiles) paths << QDir(report.out).absoluteFilePath(one);
  if (test.failed()) {
    xml.writeStartElement("failure");
    xml.writeAttribute("type", printable(test.code));
    xml.writeAttribute("message", oneLine(test.message));
    xml.writeCharacters(printable((QStringList{test.message} + paths + diffLines(report, test, 60)).join('\n')));
    xml.writeEndElement();
  }
  QStringList said = test.log;
  for (const QString& path : paths) said << "[[ATTACHMENT|" + path + "]]";  // CI servers show these files
  if (!said.isEmpty()) xml.writeTextElement("system-out", printable(said.join('\n')));
  xml.writeEndElement();
}

QString link(const QString& file) { return QString::fromLatin1(QUrl::toPercentEncoding(file, "/")); }

QString pageOf(const TestReport& report, const TestFile& file, const TestOutcome& test) {
  QString out = "<section><h2>" + oneLine(file.name + ": " + test.name).toHtmlEscaped() + "</h2><p>" +
      printable(test.message).toHtmlEscaped() + "</p><div class=\"row\">";
  for (const QString& one : test.leftFiles) {
    if (isText(one)) continue;
    const QString name = one.section('/', -1), place = link(one);
    out += "<figure><figcaption>" + name.toHtmlEscaped() + "</figcaption><a href=\"" + place + "\"><img src=\"" +
        place + "\" alt=\"" + name.toHtmlEscaped() + "\"></a></figure>";
  }
  out += "</div>";
  const QStringList lines = diffLines(report, test, 400);
  if (!lines.isEmpty()) out += "<pre>" + lines.join('\n').toHtmlEscaped() + "</pre>";
  return out + "</section>\n";
}

json linesJson(const QStringList& lines) {
  json out = json::array();
  for (const QString& line : lines) out.push_back(line.toStdString());
  return out;
}

json testJson(const TestFile& file, const TestOutcome& test) {
  json out{{"file", file.name.toStdString()}, {"name", test.name.toStdString()}, {"ok", !test.failed()},
           {"seconds", test.seconds},         {"log", linesJson(test.log)},      {"left", linesJson(test.leftFiles)}};
  if (test.failed()) out.update({{"code", test.code.toStdString()}, {"message", test.message.toStdString()}});
  return out;
}

}  // namespace

TestCounts countsOf(const TestFile& file) {
  TestCounts out;
  for (const TestOutcome& test : file.tests) out.add({1, test.failed(), test.seconds});
  return out;
}

TestCounts countsOf(const TestReport& report) {
  TestCounts out;
  for (const TestFile& file : report.files) out.add(countsOf(file));
  return out;
}

QString testLine(const TestReport& report, const TestFile& file, const TestOutcome& test) {
  QStringList lines{QStringLiteral("%1 %2 s  %3")
                        .arg(test.failed() ? "FAILED" : "ok    ")
                        .arg(test.seconds, 7, 'f', 2)
                        .arg(oneLine(file.name + ": " + test.name))};
  if (!test.failed()) return lines.front();
  lines << printable(test.message).split('\n');
  lines << diffLines(report, test, 20);
  for (const QString& said : test.log) lines << printable(said).split('\n');
  return lines.join("\n        ");
}

QString summaryLine(const TestReport& report) {
  const TestCounts all = countsOf(report);
  return QStringLiteral("%1 test%2 of %3 file%4: %5 passed, %6 failed, in %7 s")
      .arg(all.tests)
      .arg(all.tests == 1 ? "" : "s")
      .arg(report.files.size())
      .arg(report.files.size() == 1 ? "" : "s")
      .arg(all.tests - all.failures)
      .arg(all.failures)
      .arg(all.seconds, 0, 'f', 2);
}

json toJson(const TestReport& report) {
  const TestCounts all = countsOf(report);
  json tests = json::array();
  for (const TestFile& file : report.files)
    for (const TestOutcome& test : file.tests) tests.push_back(testJson(file, test));
  return {{"out", report.out.toStdString()},
          {"passed", all.tests - all.failures},
          {"failed", all.failures},
          {"seconds", all.seconds},
          {"tests", std::move(tests)}};
}

QByteArray junit(const TestReport& report) {
  QByteArray out;
  QXmlStreamWriter xml(&out);
  xml.setAutoFormatting(true);
  xml.writeStartDocument();
  xml.writeStartElement("testsuites");
  xml.writeAttribute("name", "kvlab test");
  counts(xml, countsOf(report));
  for (const TestFile& file : report.files) {
    xml.writeStartElement("testsuite");
    xml.writeAttribute("name", oneLine(file.name));
    counts(xml, countsOf(file));
    for (const TestOutcome& test : file.tests) testCase(xml, report, file, test);
    xml.writeEndElement();
  }
  xml.writeEndDocument();
  return out;
}

QByteArray testPage(const TestReport& report) {
  QString out =
      "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>kvlab test</title><style>"
      ":root{color-scheme:light dark}body{font:15px/1.5 sans-serif;margin:2rem}"
      ".row{display:flex;gap:1rem;flex-wrap:wrap}figure{margin:0;flex:1 1 20rem}"
      "img{max-width:100%;border:1px solid gray}pre{overflow:auto;border:1px solid gray;padding:.5rem}"
      "</style></head><body><h1>kvlab test</h1><p>" +
      summaryLine(report) + "</p>\n";
  for (const TestFile& file : report.files)
    for (const TestOutcome& test : file.tests)
      if (test.failed()) out += pageOf(report, file, test);
  return (out + "</body></html>\n").toUtf8();
}

QString folderName(int number, const QString& name) {
  static const QRegularExpression kOther("[^a-z0-9]+");
  QString plain = name.toLower().replace(kOther, "-").left(60);
  while (plain.endsWith('-')) plain.chop(1);
  return QStringLiteral("%1-%2").arg(number, 2, 10, QChar('0')).arg(plain.isEmpty() ? "test" : plain);
}

}  // namespace kvlab
