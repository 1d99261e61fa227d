// SPDX-License-Identifier: Apache-2.0
// Bad arguments for every verb of the list, made from one good call of each: wrong types, missing and
// unknown names, numbers out of any range, empty and mixed lists, in action lists field by field. Each
// is refused with its place and what to do, nothing of the session has changed, and the good call works
// afterwards. The refusals of single parsers are in their own tests.
#include "support/good_calls.h"

#include <QTemporaryDir>
#include <limits>

#include "core/api/error.h"
#include "support/runner.h"
#include "unit/model_bytes.h"

using namespace kvlab;

namespace {

const double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();

/// Values that nothing of the type of `good` may be.
std::vector<json> badValues(const json& good) {
  std::vector<json> out{json::object(), json{{"a", 1}}, json::array({json::array()}), json::array({nullptr}),
                        json::array({"x"})};
  if (!good.is_boolean()) out.push_back(true);
  if (!good.is_string()) out.insert(out.end(), {"x", "1", ""});
  if (!good.is_array()) out.push_back(json::array());
  if (!good.is_number()) return out.insert(out.end(), {0, 1, -1, 0.5, kNan}), out;
  out.insert(out.end(),
             {-1, -kFar - 1, 1e18, -1e300, 1e300, kNan, kInf, -kInf, std::numeric_limits<std::uint64_t>::max()});
  if (good.is_number_integer()) out.insert(out.end(), {0.5, 1e-300});
  return out;
}

/// The same for the elements of a list of numbers.
std::vector<json> badLists(const json& good) {
  std::vector<json> out;
  for (const json& value : badValues(good[0])) out.push_back(json::array({good[0], value}));
  return out;
}

/// Just outside the bounds of the table.
std::vector<json> outside(const ArgInfo& arg) {
  if (arg.type == ArgType::Number) return {arg.low - 0.5, arg.high * 1.5 + 1};
  if (arg.type == ArgType::Integer)
    return {static_cast<std::int64_t>(arg.low) - 1, static_cast<std::int64_t>(arg.high) + 1};
  if (arg.type == ArgType::Path) return {"", std::string("a\0b", 3)};
  if (!arg.words.empty()) return {"", "nonsense", arg.words.front() + "s", std::string("k\0", 2)};
  if (arg.least > 0) return {json::array()};
  return {};
}

/// A bad call and the name that its error has to give.
struct Bad {
  json args;
  std::string field;
};

void badField(const json& good, const std::string& field, std::vector<json>& out) {
  const auto with = [&](const json& value) {
    json changed = good;
    changed[field] = value;
    out.push_back(changed);
  };
  const json& value = good[field];
  for (const json& bad : badValues(value)) with(bad);
  with(nullptr);
  if (value.is_array()) with(json::array());
  if (value.is_array())
    for (const json& bad : badLists(value)) with(bad);
  json missing = good;
  missing.erase(field);
  out.push_back(missing);
  json misspelt = missing;
  misspelt[field + "s"] = value;
  out.push_back(misspelt);
}

/// Every list with one field of one action changed.
std::vector<json> badActionLists() {
  const json all = everyAction();
  std::vector<json> out;
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const auto& [field, value] : all[i].items()) {
      std::vector<json> bad;
      badField(all[i], field, bad);
      for (const json& action : bad) {
        json list = all;
        list[i] = action;
        out.push_back(list);
      }
    }
  for (const json& element :
       {json(nullptr), json(1), json("add"), json::array(), json::object(), json{{"action", "explode"}}})
    out.push_back(json::array({all[5], element}));
  out.push_back(json::array());
  return out;
}

/// Values of another type that the argument takes all the same: any object, any list, an empty list of ids.
bool fits(const ArgInfo& arg, const json& value) {
  if (arg.type == ArgType::Arguments || arg.type == ArgType::Object) return value.is_object();
  if (arg.type == ArgType::Verb) return value.is_string();
  return arg.type == ArgType::List && value.is_array();
}

/// All bad calls made from a good one.
std::vector<Bad> badCalls(const Good& good) {
  std::vector<Bad> out;
  for (const json& args : {json::array(), json::array({1}), json(1), json("x"), json(true)}) out.push_back({args, ""});
  for (const char* name : {"frobnicate", "", "pending", "N"}) {
    json more = good.args;
    more[name] = json::array();
    out.push_back({more, name});
  }
  const auto with = [&](const std::string& field, const json& value) {
    json changed = good.args;
    changed[field] = value;
    out.push_back({changed, field});
  };
  for (const auto& [field, value] : good.args.items()) {
    const ArgInfo& arg = good.arg(field);
    for (const json& bad : badValues(value))
      if (!fits(arg, bad)) with(field, bad);
    for (const json& bad : outside(arg)) with(field, bad);
    const bool actions = arg.type == ArgType::Actions;
    if (actions)
      for (const json& bad : badActionLists()) with(field, bad);
    else if (value.is_array() && arg.type != ArgType::List)
      for (const json& bad : badLists(value)) with(field, bad);
    if (arg.optional) continue;
    with(field, nullptr);
    out.push_back({good.args, field});
    out.back().args.erase(field);
  }
  for (const auto& [field, values] : good.extra)
    for (const json& value : values) with(field, value);
  return out;
}

QByteArray shown(const json& args) {
  return QByteArray::fromStdString(args.dump(-1, ' ', true, json::error_handler_t::replace)).left(300);
}

/// The state that a refusal must leave as it was, in words.
QByteArray digestOfAll(const Session& s, const QString& folder) {
  std::string out = stateHash(s) + " tick " + std::to_string(s.state().tick.value()) + " ledger " +
      std::to_string(s.state().ledger.size()) + " status " + std::to_string(static_cast<int>(s.health().status));
  out += " history " + std::to_string(s.timeline().size()) + " at " + std::to_string(s.timeline().currentId()) +
      " branch " + s.timeline().branch();
  out += " pending " + std::to_string(s.pending().size());
  for (const auto& condition : const_cast<Session&>(s).breakpoints().points())
    out += " break " + toJson(condition.view).dump();
  if (const NoteList notes = s.notes().views(s.timeline()))
    for (const NoteView& note : *notes) out += " note " + toJson(note).dump();
  for (const CacheLayer layer : s.store().layers())
    out += " free " + std::to_string(s.store().slots(layer).available());
  out += s.history().capture() ? " captured" : "";
  out += s.parts().faults.armed() ? " armed" : "";
  return QByteArray::fromStdString(out) + " files " + QDir(folder).entryList(QDir::Files).join(' ').toUtf8();
}

/// "" or the part that the error lacks.
QByteArray lacking(const Error& error, const std::string& verb, const Bad& bad) {
  const std::string& field = bad.field;
  const auto says = [&](const std::string& part) { return error.text().find(part) != std::string::npos; };
  const auto codes = errorCodes();
  if (std::none_of(codes.begin(), codes.end(), [&](const ErrorCode& one) { return one.code == error.code; }))
    return "no code that the list has";
  if (error.what.empty() || error.why.empty() || error.remedy.empty()) return "what, why or remedy is empty";
  const json table = bad.args.is_object() && verb == "table" ? bad.args.value("name", json()) : json();
  const bool tableSaid = table.is_string() && says(table);
  if (error.code == "bad_argument" && !says(verb) && !tableSaid) return "the verb is not named";
  if (field == "actions" && error.code != "bad_argument" && error.field != field &&
      (!error.action || !says("action " + std::to_string(*error.action))))
    return "the action is not named";
  const bool named = error.field == field || says(field) || (field == "path" && says(bad.args[field])) ||
      (field == "kvHead" && error.field == "kv_head") || (field == "of" && bad.args["of"].contains(error.field));
  if (field != "actions" && !named) return "the argument is not named";
  if (error.field.empty() && error.code == "bad_argument") return "no field";
  return {};
}

}  // namespace

class HostileInputTest : public QObject {
  Q_OBJECT
  QTemporaryDir m_folder;

  std::string folder() const { return m_folder.path().toStdString(); }

  /// Something in every part of a session: edits, a branch, pending actions, a breakpoint, a note.
  static void furnish(const SessionFixture& s) {
    s.prompt(24);
    s.must("step", {{"n", 3}});
    s.must("undo");
    s.must("step", {{"tokens", {9}}});
    s.must("inject", {{"actions", {{{"action", "delete"}, {"position", 20}}}}});
    s.must("apply");
    s.must("undo");
    s.must("break", {{"condition", "length >= 900"}});
    s.must("note", {{"text", "a note"}});
    s.must("inject", {{"actions", {{{"action", "delete"}, {"position", 1}}}}});
  }

 private Q_SLOTS:
  void everyVerbIsCovered() {
    std::map<std::string, std::vector<std::string>> covered;
    for (const Good& good : goodCalls(folder())) {
      auto& names = covered[good.verb];
      for (const auto& [field, value] : good.args.items()) names.push_back(field);
      for (const auto& [field, value] : good.extra) names.push_back(field);
    }
    for (const VerbInfo& verb : verbs()) {
      QVERIFY2(covered.contains(verb.name), verb.name.c_str());
      for (const ArgInfo& argument : verb.args) {
        const auto& names = covered[verb.name];
        QVERIFY2(std::find(names.begin(), names.end(), argument.name) != names.end(),
                 (verb.name + " " + argument.name).c_str());
      }
    }
  }

  void badArguments_data() {
    QTest::addColumn<int>("call");
    QTest::addColumn<QByteArray>("manifest");
    QTest::addColumn<bool>("empty");
    int i = 0;
    for (const Good& good : goodCalls(folder())) {
      QTest::addRow("%s %d", good.verb, i) << i << QByteArray("{}") << false;
      QTest::addRow("%s %d, in place", good.verb, i) << i << QByteArray(R"({"layout":"contiguous_splice"})") << false;
      QTest::addRow("%s %d, empty", good.verb, i) << i << QByteArray("{}") << true;
      ++i;
    }
  }
  void badArguments() {
    QFETCH(int, call);
    QFETCH(QByteArray, manifest);
    QFETCH(bool, empty);
    json changes = json::parse(manifest.toStdString());
    changes["faults"] = true;
    SessionFixture s(changes);
    if (!empty) furnish(s);
    s.must("saveCache", {{"path", folder() + "/given"}});
    s.must("saveCapture", {{"path", folder() + "/way"}});
    const Good good = goodCalls(folder())[static_cast<std::size_t>(call)];
    const QByteArray before = digestOfAll(*s.session, m_folder.path());
    QByteArray wrong;
    int tried = 0;
    for (const Bad& bad : badCalls(good)) {
      if (empty && bad.args.is_object() && bad.args.value("text", json()) == "")
        continue;  // begins a context as the model expects it to
      const Result<json> result = s.verb(good.verb, bad.args);
      ++tried;
      const QByteArray what = "\n  " + QByteArray(good.verb) + " " + shown(bad.args);
      if (result) wrong += what + " was accepted";
      else if (const QByteArray lacks = lacking(result.error(), good.verb, bad); !lacks.isEmpty() && !empty)
        wrong += what + ": " + lacks + ": " + QByteArray::fromStdString(result.error().text());
      if (const QByteArray after = digestOfAll(*s.session, m_folder.path()); after != before) {
        wrong += what + " changed " + before + "\n    to " + after;
        break;
      }
    }
    qInfo("%d bad calls", tried);
    QVERIFY2(wrong.isEmpty(), wrong);
    if (empty) return s.prompt(3);
    const Result<json> worked = s.verb(good.verb, good.args);
    const auto lacksPart = [](const Error& error) {
      return error.code == "no_gates" || error.code == "no_wlod" || error.code == "no_lanes" ||
          error.code == "no_batch" || error.code == "no_tick_open" || error.why.find("wLOD") != std::string::npos;
    };
    QVERIFY2(worked || lacksPart(worked.error()), worked ? "" : worked.error().text().c_str());
    if (std::string(good.verb) != "fault") QVERIFY2(s.damage().isEmpty(), s.damage());
  }

  /// A tick that its pending actions make impossible is refused, and they go on waiting.
  void refusedTicksKeepWhatWaits_data() {
    QTest::addColumn<QString>("verb");
    for (const char* verb : {"step", "stepAction", "apply", "run"}) QTest::newRow(verb) << verb;
  }
  void refusedTicksKeepWhatWaits() {
    QFETCH(QString, verb);
    const SessionFixture s;
    furnish(s);
    s.must("inject", {{"actions", {{{"action", "evict"}, {"layer", 0}, {"ledger", {3}}}}}});
    s.must("pin", {{"ledger", 3}});
    const QByteArray before = digestOfAll(*s.session, m_folder.path());
    const Result<json> result = s.verb(verb.toStdString());
    const std::string said = result ? result->dump() : result.error().toJson().dump();
    QVERIFY2(said.find(R"("code":"pinned")") != std::string::npos, said.c_str());
    QCOMPARE(digestOfAll(*s.session, m_folder.path()), before);
    QCOMPARE(s->snapshot()->pending.size(), 2u);
    s.must("pin", {{"ledger", 3}, {"on", false}});
    s.must(verb.toStdString());
    QVERIFY2(s.damage().isEmpty(), s.damage());
  }

  /// Files with weights that are no numbers open, because no reader can check them all; their effect is named.
  void weightsThatAreNoNumbers_data() {
    QTest::addColumn<float>("weight");
    QTest::newRow("nan") << float(kNan);
    QTest::newRow("inf") << float(kInf);
  }
  void weightsThatAreNoNumbers() {
    QFETCH(float, weight);
    const std::string from = KVLAB_TESTS_DIR "/oracle/models/llama_tied_f32/",
                      to = folder() + "/" + QTest::currentDataTag();
    QVERIFY(QDir().mkpath(QString::fromStdString(to)));
    test::writeFile(to + "/config.json", test::readAll(from + "config.json"));
    std::string file = test::readAll(from + "model.safetensors");
    std::uint64_t length = 0;
    std::memcpy(&length, file.data(), 8);
    const json embedding = json::parse(file.substr(8, length))["model.embed_tokens.weight"];
    const std::size_t row = embedding["shape"][1].get<std::size_t>() * 4;
    std::memcpy(file.data() + 8 + length + embedding["data_offsets"][0].get<std::size_t>() + 5 * row, &weight,
                4);  // row of token 5
    test::writeFile(to + "/model.safetensors", file);
    const SessionFixture s(json{{"model", to}, {"capacity", 64}});
    s.must("promptIds", {{"ids", {7, 8, 5}}});
    const QByteArray before = digestOfAll(*s.session, m_folder.path());
    const json report = s.must("step")[0];
    QCOMPARE(report["error"]["code"], json("bad_logits"));
    QCOMPARE(digestOfAll(*s.session, m_folder.path()), before);
    QVERIFY(s.damage().contains("finite_rows") && s.damage().contains("next_logits"));
    const json drift = s.must("drift");
    QVERIFY2(drift["k"][0].is_null() && drift["kl"].is_null() && drift["worst"]["index"] == 2, drift.dump().c_str());
    for (const char* form : {"native", "hf_dynamic"}) {  // a file that nothing could read again
      const Result<json> saved = s.verb("saveCache", {{"path", folder() + "/none"}, {"form", form}});
      QVERIFY2(!saved && QByteArray::fromStdString(saved.error().text()).contains("index 2"), form);
    }
    s.must("undo");
    s.must("promptIds", {{"ids", {7, 8}}});
    QVERIFY(!s.damage().contains("finite_rows"));
  }

  /// Places count in the list that was sent, whatever waits before it.
  void placesCountInTheListSent() {
    const SessionFixture s;
    furnish(s);
    const Result<json> result = s.verb("inject", {{"actions", {{{"action", "delete"}, {"position", 99}}}}});
    QCOMPARE(result.error().action.value_or(-1), 0);
    QCOMPARE(result.error().what, std::string("action 0 was refused"));
  }
};

KV_TEST(HostileInputTest)
#include "hostile_input_test.moc"
