// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/windowless/script_engine.h"

#include <kvlab_prelude.h>
#include <quickjs.h>

#include <cmath>
#include <span>

/// QuickJS alone would make the program need glibc 2.35, whose hypot is new; Enterprise Linux 9 has 2.34.
extern "C" double __wrap_hypot(double x, double y) { return static_cast<double>(hypotl(x, y)); }

namespace kvlab {
namespace {

constexpr auto kPreludeName = "kvlab_prelude.js";
constexpr std::size_t kStack = 4 << 20;  // bytes of the thread's stack that a script may take

/// A value that is released with its owner.
class Held {
 public:
  Held(JSContext* context, JSValue value) : m_context(context), m_value(value) {}
  ~Held() { JS_FreeValue(m_context, m_value); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  JSValue get() const { return m_value; }
  Held property(const char* name) const { return {m_context, JS_GetPropertyStr(m_context, m_value, name)}; }
  std::string text() const {
    std::size_t size = 0;
    const char* bytes = JS_ToCStringLen(m_context, &size, m_value);
    if (!bytes) {
      JS_FreeValue(m_context, JS_GetException(m_context));
      return {};
    }
    std::string out(bytes, size);
    JS_FreeCString(m_context, bytes);
    return out;
  }
  bool isText() const { return JS_IsString(m_value); }
  bool isUndefined() const { return JS_IsUndefined(m_value); }
  bool isError() const { return JS_IsError(m_value); }

 private:
  JSContext* m_context;
  JSValue m_value;
};

}  // namespace

struct ScriptEngine::Parts {
  explicit Parts(std::vector<Named> given) : natives(std::move(given)), runtime(JS_NewRuntime()) {
    JS_SetMaxStackSize(runtime, kStack);
    context = JS_NewContext(runtime);
    JS_SetContextOpaque(context, this);
    const Held host(context, JS_NewObject(context)), global(context, JS_GetGlobalObject(context)),
        name(context, JS_NewString(context, kPreludeName));
    for (std::size_t i = 0; i < natives.size(); ++i)
      JS_SetPropertyStr(context, host.get(), natives[i].name,
                        JS_NewCFunctionData(context, callNative, 0, static_cast<int>(i), 0, nullptr));
    JS_SetPropertyStr(context, host.get(), "parse", JS_NewCFunctionData(context, parse, 1, 0, 0, nullptr));
    const Held prelude(context, eval(kPrelude, kPreludeName));
    JSValue args[] = {host.get(), name.get(), global.get()};
    language = JS_Call(context, prelude.get(), JS_UNDEFINED, 3, args);
  }
  ~Parts() {
    JS_FreeValue(context, language);
    JS_FreeContext(context);
    JS_FreeRuntime(runtime);
  }

  JSValue eval(std::string_view text, const char* file) {
    const std::string ended(text);  // with the zero that the parser wants behind the text
    return JS_Eval(context, ended.c_str(), ended.size(), file, JS_EVAL_TYPE_GLOBAL);
  }
  /// The result of a function of the prelude.
  JSValue called(const char* name, JSValue arg) {
    const Held function(context, JS_GetPropertyStr(context, language, name));
    return JS_Call(context, function.get(), JS_UNDEFINED, 1, &arg);
  }
  Error described(const std::string& file);

  static JSValue callNative(JSContext* context, JSValueConst, int argc, JSValueConst* argv, int magic, JSValueConst*);
  static JSValue parse(JSContext* context, JSValueConst, int argc, JSValueConst* argv, int, JSValueConst*);

  std::vector<Named> natives;
  JSRuntime* runtime;
  JSContext* context = nullptr;
  JSValue language = JS_UNDEFINED;
};

JSValue ScriptEngine::Parts::callNative(JSContext* context, JSValueConst, int argc, JSValueConst* argv, int magic,
                                        JSValueConst*) {
  const auto& own = *static_cast<const Parts*>(JS_GetContextOpaque(context));
  Answer answer;
  try {
    std::vector<std::string> args;
    for (const JSValue& arg : std::span(argv, static_cast<std::size_t>(argc)))
      args.push_back(Held(context, JS_DupValue(context, arg)).text());
    answer = own.natives[static_cast<std::size_t>(magic)].call(args);
  } catch (const std::exception& error) {
    return JS_ThrowInternalError(context, "%s", error.what());
  }
  if (const auto* number = std::get_if<double>(&answer)) return JS_NewFloat64(context, *number);
  const auto* text = std::get_if<std::string>(&answer);
  return text ? JS_NewStringLen(context, text->data(), text->size()) : JS_UNDEFINED;
}

JSValue ScriptEngine::Parts::parse(JSContext* context, JSValueConst, int argc, JSValueConst* argv, int, JSValueConst*) {
  if (argc < 1) return JS_UNDEFINED;
  const std::string text = Held(context, JS_DupValue(context, argv[0])).text();
  const JSValue value = JS_ParseJSON(context, text.c_str(), text.size(), "JSON");
  if (!JS_IsException(value)) return value;
  JS_FreeValue(context, JS_GetException(context));
  return JS_UNDEFINED;
}

/// The pending exception, thrown in a file.
Error ScriptEngine::Parts::described(const std::string& file) {
  const Held thrown(context, JS_GetException(context));
  const auto said = [&](const char* name) {
    const Held value = thrown.property(name);
    return value.isText() ? value.text() : std::string();
  };
  if (const std::string code = said("code"); !code.empty()) return {code, said("what"), said("why"), said("remedy")};
  const Held place(context, called("caller", thrown.property("stack").get()));
  const std::string where = place.property("file").isText() ? place.property("file").text() : "";
  const std::string line = place.property("line").text();
  const std::string text = thrown.isError() ? said("name") + ": " + said("message") : thrown.text();
  return {"script_error", (where.empty() ? file : where + (line == "0" ? "" : ":" + line)) + ": " + text, "", ""};
}

ScriptEngine::ScriptEngine(std::vector<Named> natives) : m(std::make_unique<Parts>(std::move(natives))) {}

ScriptEngine::~ScriptEngine() = default;

Result<std::string> ScriptEngine::run(std::string_view text, const std::string& file) {
  if (JS_IsException(m->language)) return m->described(kPreludeName);
  const Held value(m->context, m->eval("(function(){" + std::string(text) + "\n})()", file.c_str()));
  if (JS_IsException(value.get())) return m->described(file);
  if (value.isUndefined()) return std::string();
  return Held(m->context, m->called("print", value.get())).text();
}

}  // namespace kvlab
