// SPDX-License-Identifier: GPL-3.0-or-later
// Untrusted files, through the program: checkpoints, tokenizers, manifests, captures, caches and
// scripts that are missing, cut, of another kind, or made to harm. From outside: the exit code, one line
// of error that names the file and what to do. From inside, beside a live session: the same error, and the session is
// as it was. The details that each parser refuses are in its own test.
#include <sys/stat.h>

#include <QDir>
#include <QProcess>
#include <QTemporaryDir>
#include <filesystem>
#include <functional>

#include "app/base/logging.h"
#include "app/engine/core_engine.h"
#include "core/files/capture.h"
#include "support/runner.h"
#include "support/script_call.h"
#include "unit/model_bytes.h"

using namespace kvlab;
using nlohmann::json;
using test::readAll, test::safetensorsFile, test::writeFile;

namespace {

const std::string kOracle = KVLAB_TESTS_DIR "/oracle/";
constexpr const char* kModel = "llama_tied_f32";
// Endless files must not fill the memory; a sanitizer reserves more than any limit.
const QString kLimits = test::kSanitized ? "" : "ulimit -v 4000000; ";

struct Hostile {
  std::string name;
  std::string kind;        // model, manifest, capture, cache, script
  std::string path;        // path that the program is given
  std::string names = {};  // further text that the error has to name
  int exit = 3;
};

std::string repeated(const std::string& part, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += part;
  return out;
}

/// Makes the files, one folder or file per case.
class Maker {
 public:
  explicit Maker(const QTemporaryDir& folder) : m_folder(folder.path().toStdString()) {
    models();
    weights();
    tokenizers();
    manifests();
    captures();
    caches();
    scripts();
  }
  std::vector<Hostile> all;

 private:
  std::string fresh(const std::string& suffix = "") { return m_folder + "/" + std::to_string(m_next++) + suffix; }

  /// A good checkpoint with one of its files replaced; an empty `text` with `remove` takes it away.
  std::string model(const std::string& file, const std::function<void(const std::string&)>& damage) {
    const std::string folder = fresh();
    std::filesystem::create_directory(folder);
    for (const char* part : {"config.json", "model.safetensors"})
      std::filesystem::copy_file(kOracle + "models/" + kModel + "/" + part, folder + "/" + part);
    std::filesystem::remove(folder + "/" + file);
    damage(folder + "/" + file);
    return folder;
  }
  void replaced(const std::string& name, const std::string& file, const std::string& text) {
    all.push_back({name, "model", model(file, [&](const std::string& path) { writeFile(path, text); })});
  }

  void models() {
    const auto nothing = [](const std::string&) {};
    const auto folder = [](const std::string& path) { std::filesystem::create_directory(path); };
    const auto pipe = [](const std::string& path) { ::mkfifo(path.c_str(), 0600); };
    const auto endless = [](const std::string& path) { std::filesystem::create_symlink("/dev/zero", path); };
    const auto loop = [](const std::string& path) { std::filesystem::create_symlink(path, path); };
    all.push_back({"no folder", "model", fresh()});
    all.push_back({"model is a file", "model", kOracle + "models/" + kModel + "/config.json"});
    for (const char* file : {"config.json", "model.safetensors"}) {
      const std::string in = std::string(" ") + file;
      all.push_back({"missing" + in, "model", model(file, nothing)});
      all.push_back({"folder as" + in, "model", model(file, folder)});
      all.push_back({"pipe as" + in, "model", model(file, pipe)});
      all.push_back({"endless" + in, "model", model(file, endless)});
      all.push_back({"link to itself as" + in, "model", model(file, loop)});
      replaced("empty" + in, file, "");
      replaced("noise as" + in, file, repeated("\xff\x00\x7f{", 64));
    }
    const std::string good = readAll(kOracle + "models/" + kModel + "/config.json");
    replaced("cut config", "config.json", good.substr(0, good.size() / 2));
    replaced("list as config", "config.json", "[]");
    replaced("deep config", "config.json", repeated("{\"a\":", 100000));
    const json config = json::parse(good);
    for (const char* key :
         {"vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
          "intermediate_size", "max_position_embeddings", "rms_norm_eps", "model_type"})
      for (const json& value : {json(-1), json(0), json(1e18), json(std::uint64_t{1} << 63), json("x"), json::array(),
                                json(0.5), json(true), json(2147483647)}) {
        if (key == std::string("rms_norm_eps") && (value == 0.5 || value == 0)) continue;
        if (key == std::string("max_position_embeddings") && value == 2147483647)
          continue;  // memory is asked for later
        json changed = config;
        changed[key] = value;
        all.push_back({std::string(key) + " " + value.dump(), "model",
                       model("config.json", [&](const std::string& path) { writeFile(path, changed.dump()); })});
      }
  }

  void weights() {
    const std::string file = readAll(kOracle + "models/" + kModel + "/model.safetensors");
    std::uint64_t length = 0;
    std::memcpy(&length, file.data(), 8);
    const json header = json::parse(file.substr(8, length));
    const std::string data = file.substr(8 + length);
    const auto changed = [&](const std::string& name, const std::function<void(json&)>& change) {
      json other = header;
      change(other);
      replaced(name, "model.safetensors", safetensorsFile(other.dump(), data));
    };
    for (const std::size_t size :
         {std::size_t{7}, std::size_t{8}, std::size_t(length), std::size_t(length) + 8, file.size() - 1})
      replaced("weights cut at " + std::to_string(size), "model.safetensors", file.substr(0, size));
    replaced("more data than tensors", "model.safetensors", file + "x");
    for (const std::uint64_t claim :
         {std::uint64_t{0}, std::uint64_t{1} << 40, ~std::uint64_t{0}, length + data.size() + 1})
      replaced("header of " + std::to_string(claim), "model.safetensors", safetensorsFile(header.dump(), data, claim));
    const std::string tensor = "model.embed_tokens.weight";
    changed("tensor missing", [&](json& h) { h["other"] = h[tensor], h.erase(tensor); });
    for (const json& shape : {json::array({-4, 4}), json::array({1e9, 1e9}), json::array({0, 0}),
                              json::array({4611686018427387904, 4}), json("x")})
      changed("shape " + shape.dump(), [&](json& h) { h[tensor]["shape"] = shape; });
    for (const json& range : {json::array({-8, 8}), json::array({8, 0}), json::array({0, 1e18}),
                              json::array({0, 9223372036854775807}), json::array({0})})
      changed("range " + range.dump(), [&](json& h) { h[tensor]["data_offsets"] = range; });
    changed("tensors overlap", [&](json& h) {
      for (auto& [name, t] : h.items())
        if (name != "__metadata__") t["data_offsets"][0] = 0;
    });
    changed("integers", [&](json& h) { h[tensor]["dtype"] = "I32"; });
    const auto index = [&](const std::string& name, const std::string& text) {
      const std::string folder = model("model.safetensors", [](const std::string&) {});
      writeFile(folder + "/model.safetensors.index.json", text);
      all.push_back({name, "model", folder});
    };
    index("index is cut", R"({"weight_map":{"a")");
    index("index leads out", R"({"weight_map":{"a":"../../etc/passwd"}})");
    index("shard is missing", R"({"weight_map":{"model.embed_tokens.weight":"none.safetensors"}})");
  }

  void tokenizers() {
    const std::string good = readAll(kOracle + "tokenizers/gpt2/tokenizer.json");
    const auto with = [&](const std::string& name, const std::string& file, const std::string& text) {
      replaced(name, file, text);
    };
    with("tokenizer empty", "tokenizer.json", "");
    with("tokenizer cut", "tokenizer.json", good.substr(0, good.size() / 2));
    with("tokenizer list", "tokenizer.json", "[]");
    with("tokenizer deep", "tokenizer.json", repeated("[", 200000));
    with("tokenizer without model", "tokenizer.json", "{}");
    json ids = json::parse(good);
    ids["model"]["vocab"]["a"] = 1e18;
    with("token id 1e18", "tokenizer.json", ids.dump());
    ids["model"]["vocab"]["a"] = -1;
    with("token id -1", "tokenizer.json", ids.dump());
    with("sentencepiece noise", "tokenizer.model", repeated("\xff\x0a", 500));
    with("sentencepiece empty", "tokenizer.model", "");
    const std::string pieces = readAll(kOracle + "tokenizers/sentencepiece/tokenizer.model");
    with("sentencepiece cut", "tokenizer.model", pieces.substr(0, pieces.size() / 2));
    with("generation config cut", "generation_config.json", "{");
    with("end id 1e18", "generation_config.json", R"({"eos_token_id":1e18})");
  }

  void file(const std::string& kind, const std::string& name, const std::string& text, const std::string& names = "",
            int exit = 3) {
    all.push_back({kind + ": " + name, kind, fresh(kind == "script" ? ".js" : ""), names, exit});
    writeFile(all.back().path, text);
  }
  void noFiles(const std::string& kind) {
    all.push_back({kind + " missing", kind, fresh()});
    all.push_back({kind + " is a folder", kind, m_folder});
    all.push_back({kind + " is endless", kind, "/dev/zero"});
  }

  void manifests() {
    noFiles("manifest");
    for (const char* text : {"", "{", "[]", "null", "1", "{\"model\":\"demo\",\"model\":\"demo\"}", "{\"\xff\":1}"})
      file("manifest", text, text);
    file("manifest", "deep", repeated("{\"a\":", 100000));
    for (const char* key : {"model", "backend", "threads", "dtype", "kv", "position", "layout", "policy", "capacity",
                            "staging", "history_bytes", "executor", "after_edit", "brightness", "sampling", "check",
                            "probes", "nonsense", "prefill_chunk"})
      for (const json& value :
           {json(-1), json(0.5), json("nonsense"), json::array({1}), json{{"nonsense", 1}}, json(1e300)}) {
        if (key == std::string("model") && value == "nonsense")
          continue;  // a name that no model has, not a bad manifest
        file("manifest", std::string(key) + " " + value.dump(), json{{key, value}}.dump(), key);
      }
  }

  std::string capture(const std::vector<CaptureCommand>& commands) {
    const Result<std::unique_ptr<Engine>> engine = coreEngines(KVLAB_RESOURCES_DIR)({{"manifest", tiny()}})({});
    const std::string path = fresh();
    if (!engine || !(*engine)->execute("saveCapture", {{"path", path}})) qFatal("no capture");
    std::string bytes = readAll(path);
    for (std::size_t i = 0; i < commands.size(); ++i) bytes += captureRecord(commands[i], i + 1);
    return bytes;
  }

  void captures() {
    noFiles("capture");
    const CaptureCommand prompt{"promptIds", {{"ids", {5, 6, 7}}}, Tick(1)};
    const std::string good = capture({prompt});
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{16}, std::size_t{20}, std::size_t{40}})
      file("capture", "cut at " + std::to_string(size), good.substr(0, size));
    for (const std::size_t at : {std::size_t{2}, std::size_t{17}, std::size_t{25}, std::size_t{60}}) {
      std::string flipped = good;
      flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
      file("capture", "flipped at " + std::to_string(at), flipped);
    }
    file("capture", "noise", repeated("\xff\x00kv", 100));
    const json pending{{{"action", "delete"}, {"position", 1}}, {{"action", "delete"}, {"position", 1}}};
    const CaptureCommand commands[] = {{"frobnicate", json::object(), Tick(2)},
                                       {"stateHash", json::object(), Tick(2)},
                                       {"saveCache", {{"path", fresh()}}, Tick(2)},
                                       {"saveCapture", {{"path", fresh()}}, Tick(2)}};
    for (const CaptureCommand& command : commands)
      file("capture", command.verb, capture({prompt, command}), command.verb);
    // Commands of a sound capture that fail are a result: exit 1.
    const CaptureCommand failing[] = {{"promptIds", {{"ids", {99999}}}, Tick(2)},
                                      {"promptIds", {{"ids", {-1}}}, Tick(2)},
                                      {"promptIds", {{"ids", "x"}}, Tick(2)},
                                      {"promptIds", json::object(), Tick(2)},
                                      {"step", {{"n", 1e18}}, Tick(2)},
                                      {"step", {{"frobnicate", 1}}, Tick(2)},
                                      {"apply", json::object(), Tick(2)},
                                      {"apply", {{"pending", pending}}, Tick(2)},
                                      {"apply", {{"pending", "x"}}, Tick(2)},
                                      {"apply", {{"pending", json::array({nullptr})}}, Tick(2)},
                                      {"prompt", {{"text", "a"}, {"pending", pending}}, Tick(2)},
                                      {"evict", {{"layer", 99}, {"ledger", {0}}}, Tick(2)},
                                      {"loadCache", {{"path", "/dev/zero"}}, Tick(2)},
                                      {"loadCache", {{"path", "/"}, {"content", "x"}}, Tick(2)},
                                      {"fault", {{"kind", "value_bit"}}, Tick(2)},
                                      {"step", json::object(), Tick(7)},
                                      {"goto", {{"tick", 99}}, Tick(99), 0},
                                      {"undo", {{"x", 1}}, Tick(0), 0},
                                      {"pin", {{"ledger", 1e300}}, Tick(2)}};
    for (const CaptureCommand& command : failing)
      file("capture", command.verb + " " + command.args.dump(), capture({prompt, command}), "", 1);
  }

  void caches() {
    noFiles("cache");
    const Result<std::unique_ptr<Engine>> engine = coreEngines(KVLAB_RESOURCES_DIR)({{"manifest", tiny()}})({});
    if (!engine || !(*engine)->execute("promptIds", {{"ids", {5, 6, 7}}})) qFatal("no session");
    for (const char* form : {"native", "hf_dynamic", "hf_tuple"}) {
      const std::string path = fresh();
      if (!(*engine)->execute("saveCache", {{"path", path}, {"form", form}})) qFatal("no cache");
      const std::string good = readAll(path);
      for (const std::size_t size : {std::size_t{0}, std::size_t{8}, good.size() / 2, good.size() - 1})
        file("cache", std::string(form) + " cut at " + std::to_string(size), good.substr(0, size));
      std::uint64_t length = 0;
      std::memcpy(&length, good.data(), 8);
      const std::string header = good.substr(8, length), data = good.substr(8 + length);
      for (const std::uint64_t claim : {std::uint64_t{0}, ~std::uint64_t{0}, length + 1})
        file("cache", std::string(form) + " header of " + std::to_string(claim), safetensorsFile(header, data, claim));
      json bare = json::parse(header);
      bare.erase("__metadata__");
      if (form == std::string("native"))  // without it, the others are caches of transformers, which are explained
        file("cache", std::string(form) + " without manifest", safetensorsFile(bare.dump(), data));
      if (std::string(form) == "native") continue;  // a row's bits are its own affair, its checksum is checked
      std::string nan = data;
      for (std::size_t i = 0; i < 64; ++i) nan[i] = '\xff';
      file("cache", std::string(form) + " of NaN", safetensorsFile(header, nan));
    }
    file("cache", "a checkpoint", readAll(kOracle + "models/" + kModel + "/model.safetensors"));
    file("cache", "noise", repeated("\xff\x00{}", 100));
  }

  void scripts() {
    noFiles("script");
    const std::pair<const char*, std::string> bad[] = {
        {"syntax", "let = ="},
        {"deep lists", repeated("[", 100000) + repeated("]", 100000)},
        {"deep signs", repeated("!", 200000) + "1"},
        {"noise", repeated("\xff\x01{", 200)},
        {"endless recursion", "function f(){return 1+f()} f()"},
        {"deep value", "let a=[]; for(let i=0;i<200000;++i)a=[a]; JSON.stringify(a)"},
        {"throws null", "throw null"},
        {"throws undefined", "throw undefined"},
        {"throws a trap", "throw {get message(){throw 1}, toString(){throw 2}}"},
        {"frozen", "Object.freeze(globalThis); lab = 1; nothing()"},
        {"prototype",
         "Object.defineProperty(Object.prototype,'error',{get(){throw 1}}); lab.open({model:'synthetic:tiny'})"},
        {"stolen JSON", "JSON.parse = () => { throw 1 }; lab.open({model:'synthetic:tiny'})"}};
    for (const auto& [name, text] : bad) file("script", name, text, "", 1);
  }

 public:
  static json tiny() {
    return {{"model", "synthetic:tiny"}, {"threads", 1}, {"capacity", 64}, {"history_bytes", 1 << 20}};
  }

 private:
  std::string m_folder;
  int m_next = 0;
};

QStringList arguments(const Hostile& bad) {
  const QString path = QString::fromStdString(bad.path);
  if (bad.kind == "model") return {"info", "--model", path};
  if (bad.kind == "manifest") return {"info", "--manifest", path};
  if (bad.kind == "capture") return {"replay", path, "--verify"};
  return {"run", path};
}

}  // namespace

class HostileFilesTest : public QObject {
  Q_OBJECT
  QTemporaryDir m_folder;
  std::vector<Hostile> m_all;
  LogRelay m_log;

 private Q_SLOTS:
  void initTestCase() {
    installLogging("error", m_log);
    m_all = Maker(m_folder).all;
    QVERIFY(m_all.size() > 250);
  }

  void cleanupTestCase() { removeLogging(); }

  void fromOutside_data() {
    QTest::addColumn<int>("i");
    for (std::size_t i = 0; i < m_all.size(); ++i)
      if (m_all[i].kind != "cache")
        QTest::addRow("%s", QByteArray::fromStdString(m_all[i].name).left(60).constData()) << static_cast<int>(i);
  }
  void fromOutside() {
    QFETCH(int, i);
    const Hostile& bad = m_all[static_cast<std::size_t>(i)];
    if (qEnvironmentVariableIsEmpty("KVLAB")) QSKIP("KVLAB names the program; CTest sets it");
    QProcess program;
    program.start("sh", QStringList{"-c", kLimits + "exec \"$KVLAB\" \"$@\"", "sh"} + arguments(bad));
    QVERIFY(program.waitForFinished(60000));
    const QByteArray said = program.readAllStandardError(), what = arguments(bad).join(' ').toUtf8() + "\n" + said;
    QVERIFY2(program.exitStatus() == QProcess::NormalExit && program.exitCode() == bad.exit,
             what + QByteArray::number(program.exitCode()));
    QStringList lines = QString::fromUtf8(said).split('\n').filter(QRegularExpression("^kvlab: error: "));
    QVERIFY2(lines.size() == 1, what);
    if (bad.exit == 3) QVERIFY2(lines[0].contains(QString::fromStdString(bad.path)) && lines[0].contains("; "), what);
    QVERIFY2(lines[0].contains(QString::fromStdString(bad.names)), what);
  }

  /// Beside a live session: nothing that is refused touches it.
  void fromInside_data() {
    QTest::addColumn<QString>("kind");
    for (const char* kind : {"model", "manifest", "capture", "cache"}) QTest::newRow(kind) << kind;
  }
  void fromInside() {
    QFETCH(QString, kind);
    const EngineFactory factory = coreEngines(KVLAB_RESOURCES_DIR);
    auto session = factory({{"manifest", Maker::tiny()}})({}).take();
    const auto call = [&](const char* verb, const json& args = json::object()) {
      return test::scripted([&](const auto& name, const json& of) { return session->execute(name, of); }, verb, args);
    };
    QVERIFY(call("promptIds", {{"ids", {5, 6, 7, 8}}}) && call("step") &&
            call("inject", {{"actions", {{{"action", "delete"}, {"position", 1}}}}}));
    const json before = *call("stateHash"), branches = *call("branches");
    int tried = 0;
    for (const Hostile& bad : m_all) {
      if (QString::fromStdString(bad.kind) != kind) continue;
      ++tried;
      const QByteArray what = QByteArray::fromStdString(bad.name + " " + bad.path + ": ");
      std::optional<Error> error;
      if (kind == "cache") {
        const auto result = call("loadCache", {{"path", bad.path}});
        if (!result) error = result.error();
      } else {
        json request{{"manifest", {{"model", bad.path}, {"threads", 1}}}};
        if (kind == "capture") request = {{"capture", bad.path}};
        if (kind == "manifest") {
          request = {
              {"manifest",
               json::parse(std::filesystem::is_regular_file(bad.path) ? readAll(bad.path) : "", nullptr, false)}};
          if (!request["manifest"].is_object() || bad.name.find("\"model\"") != std::string::npos)
            continue;  // the program's reader refuses these
        }
        const auto opened = factory(request)({});
        if (!opened) error = opened.error();
      }
      QVERIFY2(error.has_value(), what + "was accepted");
      QVERIFY2(!error->code.empty() && !error->what.empty() && !error->why.empty() && !error->remedy.empty(),
               what + QByteArray::fromStdString(error->text()));
      if (kind != "manifest")
        QVERIFY2(error->text().find(bad.path) != std::string::npos, what + QByteArray::fromStdString(error->text()));
      QVERIFY2(*call("stateHash") == before && *call("branches") == branches, what + "changed the session");
    }
    qInfo("%d files", tried);
    QVERIFY(tried > 15);
    const auto report = call("step");
    QVERIFY(report && (*report)[0]["ok"] == true);
    const json invariants = *call("invariants");
    for (const json& invariant : invariants) QVERIFY(invariant["ok"] == true);
  }
};

KV_TEST(HostileFilesTest)
#include "hostile_files_test.moc"
