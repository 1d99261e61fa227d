# SPDX-License-Identifier: Apache-2.0
"""Test inputs of chat templates: conversations, and expressions one by one."""


def said(role, content, **more):
    return {"role": role, "content": content, **more}


CALL = {"type": "function", "id": "abc123def", "function": {"name": "find", "arguments": {"what": "ключ", "n": 3, "deep": [1.5, None, True]}}}
CONVERSATIONS = [
    [said("user", "Where is the key?")],
    [said("system", "You know the house."), said("user", "Where is the key?")],
    [said("user", "a"), said("assistant", "b"), said("user", "c")],
    [said("system", " spaces  "), said("user", "  x \n"), said("assistant", " y "), said("user", "\tz"), said("assistant", "end\n")],
    [said("user", "a"), said("user", "b")],
    [said("assistant", "first"), said("user", "second")],
    [said("user", "")],
    [said("user", "鍵は 'どこ' \"ですか\" <|im_end|> {{ x }} 😀 \\ \u0001")],
    [said("user", [{"type": "text", "text": " part one "}, {"type": "image"}, {"type": "text", "text": "two"}])],
    [said("system", [{"type": "text", "text": "as parts"}]), said("user", "x")],
    [said("user", "find it"), said("assistant", "", tool_calls=[CALL]), said("tool", "under the stone", name="find"),
     said("assistant", "It is under the stone."), said("user", "thanks")],
    [said("user", "find it"), said("assistant", "I look.", tool_calls=[CALL, CALL]), said("tool", "a"), said("tool", {"content": "b"})],
    [said("user", "think"), said("assistant", "<think>\nhm\n</think>\n\nYes."), said("user", "more"),
     said("assistant", "<think>\nwell\n</think>\n\nNo.")],
    [said("system", "no thoughts /no_think"), said("user", "q"), said("assistant", "a", reasoning_content="why")],
    [said("developer", "Speak plainly."), said("user", "q"), said("model", "other role")],
    [said("tool", "nobody asked")],
    [said("user", "u%d" % i) if i % 2 == 0 else said("assistant", "a%d" % i) for i in range(9)],
    [said("user", None)],
]
TOOLS = [{"type": "function", "function": {"name": "find", "description": "Finds things.", "parameters": {
    "type": "object", "properties": {"what": {"type": "string", "description": "name <of> it & more"},
                                     "n": {"type": "integer", "default": 3}, "tags": {"type": "array", "items": {"type": "string"}},
                                     "kind": {"enum": ["a", "b"]}, "any": {"type": ["string", "null"]}}, "required": ["what"]}}}]
MORE = [{}, {"enable_thinking": False}, {"tools": TOOLS}]

EXPRESSIONS = """
1 + 2 * 3 ** 2 // 4 % 5 - -6|7 / 2|-7 // 2|-7 % 3|7.5 // 2|2 ** -1|2 ** 10|1e3|1_000|1.0|1e22|1e16|0.0001|0.00001|1 == 1.0|true + 1
1 < 2 < 3|1 < 3 < 2|'a' < 'b'|not 1 == 2|1 if 0|'x' if 1 else 'y'|none|true|[]|[1, 'a', none, 2.5, [true]]|{'a': 1, 'b': {'c': 'd'}}|(1,)|(1, 2)|()|1, 2
'a' ~ 1 ~ none ~ [1]|'a' 'b' "c"|'it\\'s "x" \\\\ \\u00e9 \\x41 \\101 \\q'|"tab\\tline\\nend"|['it\\'s', 'a"b', "both'\\"", 'é\\n\\x01\\u200b']
'abc'[0]|'abc'[-1]|'abc'[5]|'héllo'[1:3]|[1,2,3][::-1]|[1,2,3][1:]|[1,2,3][-2:]|[1,2,3][:-1]|[1,2,3,4,5][4:0:-2]|'abc'[::-1]|(1,2,3)[1:]|[1,2][5:]|[1,2,3][10:0:-1]
'a' in 'abc'|'a' in ['a']|'k' in {'k': 1}|1 not in [1]|none in [none]|2 in (1,2)|'' in 'x'|missing|missing in 'x'|'a' in missing|missing == none|missing.x|none.x|none['x']
missing is defined|messages is defined|missing is undefined|none is none|1 is number|true is number|true is integer|1.5 is float|'a' is string|[] is iterable|{} is mapping|[] is mapping|'' is sequence|missing is iterable|none is iterable|1 is odd|2 is even|4 is divisibleby 2|4 is divisibleby(3)|1 is eq 1|1 is lt(2)|'a' is in ['a']|true is true|1 is true|false is boolean|'ab' is lower|'AB' is upper|'A1' is upper|1 is not none|not 1 is none|2 is gt 1 and 1 is le 1
' a b '|trim|'xxaxx'|trim('x')|none|trim|'aB'|upper|'É ß'|upper|'ÀB'|lower|'hello wORLD it\\'s'|title|'hELLO'|capitalize|[1,2]|length|'é😀'|length|{'a':1}|length|missing|length|5|length
[1,2,3]|join|[1,'b',none]|join(', ')|messages|join('-', attribute='role')|'abc'|join('.')|missing|default('d')|''|default('d')|''|default('d', true)|none|default('d')|missing|default|[3,1,2]|first|[3,1,2]|last|[]|first|'abc'|last|{'a':1,'b':2}|first
'abc'|list|{'a':1}|list|{'a':1,'b':[2]}|items|list|{'B':1,'a':2}|dictsort|missing|items|list|'aXbX'|replace('X','-')|'aaa'|replace('a','b',2)|[1,0,2]|select|list|[1,0,2]|reject|list|[1,2,3]|select('odd')|list|[1,2,3]|reject('gt', 1)|list
messages|selectattr('role','equalto','user')|list|length|messages|rejectattr('role','eq','user')|list|messages|selectattr('missing')|list|messages|selectattr('role','in',['user','x'])|list|length|messages|map(attribute='content')|list|['a','b']|map('upper')|join|[1]|map('string')|list|['a']|map('replace','a','c')|first
'42'|int|' 7 '|int|'x'|int|'x'|int(5)|3.9|int|-3.9|int|'3.9'|int|'2.5'|float|'x'|float|3|float|-3|abs|[3,1,2]|sort|['b','A','c']|sort|[3,1]|sort(reverse=true)|messages|sort(attribute='role')|length|['b','A','a']|unique|list|[1,2]|reverse|list|'abc'|reverse|[2,5,1]|max|[2,5,1]|min|'a\\nb\\n\\nc'|indent|'a\\nb'|indent(2, true)|'x'|safe|1|string|[1]|string
{'a': [1, {'b': none}], 'ü': '<é>&\\'', 'q': "\\"\\\\\\n"}|tojson|{'a': [1, {'b': none}], 'e': {}, 'f': []}|tojson(indent=2)|{'b':1,'a':2}|tojson(sort_keys=true)|{'a':[1,2]}|tojson(separators=(',',':'))|'é😀'|tojson(ensure_ascii=true)|1.0|tojson|true|tojson|missing|tojson|'\\x7f\\u2028'|tojson|(1,2)|tojson
' a '.strip()|'xxa'.lstrip('x')|'a\\n\\n'.rstrip('\\n')|'a,b,c'.split(',')|'a,b,c'.split(',', 1)|' a  b '.split()|' a  b c'.split(none, 1)|'a'.split('x')|'a-b-c'.rsplit('-', 1)|'a\\nb\\r\\nc'.splitlines()|'abc'.startswith('ab')|'abc'.endswith(('x','c'))|'abc'.replace('b','')|'abc'.upper()|'ABC'.lower()|'a b'.title()|'ab'.capitalize()|'abc'.find('c')|'éa'.find('a')|'abab'.count('a')|', '.join(['a','b'])|'12'.isdigit()|'a1'.isalpha()|' '.isspace()|'abc'.removeprefix('a')
{'a':1}.items()|list|{'a':1}.get('a')|{'a':1}.get('b')|{'a':1}.get('b','c')|{'a':1}.keys()|list|{'a':1}.values()|list|[1,2,1].count(1)|[1,2].index(2)|{'items': 1}['items']|{'a':1}.a|{'a':1}['a']|{'a':1}.b|{'a': 1, 'a': 2}
range(3)|list|range(1,7,2)|list|range(5,0,-2)|list|range(0)|list|dict(a=1, b='c')|namespace(a=1).a|[1] + [2]|'a' + 'b'|'ab' * 2|2 * [1]|'a' + 1|[1] + 'a'|1 + none|-'a'|'a' < 1|1 / 0|1 % 0|(1,) + (2,)
1 and 2|0 and 2|0 or 'x'|'' or none|not ''|1 and not 0|1 or missing.x|'a' == "a"|[1] == [1]|[1] == (1,)|{'a':1} == {'a':1.0}|'1' == 1|none == false|1 != 2
-1 * -2|- 1|+1|2 - -1|3 | abs|-3 | abs|(-3) | abs|10 - 2 - 3|2 ** 3 ** 2|'a' ~ 'b' | upper|('a' ~ 'b') | upper|not true or true|1 + 2 ~ 3|1 ~ 2 + 3|[1,2,3] | length - 1|'%' ~ 1
"""

SOURCES = [
    "a\n{% if true %}\n  b\n{% endif %}\nc\n", "a  {%- if true -%}  b  {%- endif -%}  c", "  {% if true %}x{% endif %}  \n",
    "  {%+ if true %}x{% endif +%}\ny", "x {# c #} y", "x {#- c -#} y", "  {# c #}\ny", "a\n\n{{ 1 }}\n\nb", "a\r\nb\rc\n", "{{ 'a}}b' }}",
    "{% if '%}' %}x{% endif %}", "{{ {'a': {'b': 1}} }}", "{{ {'a': {'b': 1}}['a']['b'] }}", "x\n", "x\n\n", "\n", "",
    "{% for i in [1,2,3] %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{% endfor %}",
    "{% for i in [1,2,3] if i != 2 %}{{ i }}/{{ loop.length }} {% endfor %}", "{% for i in [] %}x{% else %}none{% endfor %}",
    "{% for a, b in {'x': 1, 'y': 2}.items() %}{{ a }}={{ b }};{% endfor %}", "{% for i in 'ab' %}{{ i }}{{ loop.previtem }}{{ loop.nextitem }}{% endfor %}",
    "{% set x = 1 %}{% for i in [1,2] %}{{ x }}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}",
    "{% set ns = namespace(n=0) %}{% for i in [1,2] %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}",
    "{% set x = 1 %}{% if true %}{% set x = 2 %}{% endif %}{{ x }}", "{% set a, b = 1, 2 %}{{ b }}{{ a }}",
    "{% set x %}a{{ 1 }}b{% endset %}{{ x }}{{ x | length }}", "{% macro f(a, b=2) %}{{ a }}{{ b }}{% endmacro %}{{ f(1) }}{{ f(1, 3) }}{{ f(b=4, a=0) }}{{ f() }}",
    "{% macro f(x) %}{{ x }}{% if x > 0 %}{{ f(x - 1) }}{% endif %}{% endmacro %}{{ f(3) }}", "{% set y = 5 %}{% macro f() %}{{ y }}{% endmacro %}{{ f() }}",
    "{% for i in range(9) %}{% if i == 2 %}{% continue %}{% endif %}{% if i == 5 %}{% break %}{% endif %}{{ i }}{% endfor %}",
    "{% for i in [1] %}{% for j in [1,2] %}{{ loop.index }}{% endfor %}{{ loop.index }}{% endfor %}", "{% for x in missing %}a{% else %}b{% endfor %}",
    "{% for x in none %}a{% endfor %}", "{% for x in 5 %}a{% endfor %}", "{% if missing %}a{% else %}b{% endif %}", "{% if missing.x %}a{% endif %}",
    "{% generation %}a{% endgeneration %}", "{{ f(1) }}", "{{ bos_token }}{{ eos_token }}{{ tools }}{{ documents }}", "{% set x = [1, 2] %}{{ x[0] + x[1] }}",
    "{{ messages[0]['content'][0] }}", "{{ messages }}", "{{ messages[0] }}", "{% for m in messages %}{{ m | tojson }}{% endfor %}", "{{ messages[-1].role }}",
    "   {{ 1 }}", "{{- 1 -}}  x", "a {{- 1 }} b {{ 2 -}} c", "{%- set x = 1 -%}\n\n{{ x }}", "{% if 1 %}\n\n\nx{% endif %}", "{{ 1 }}\n{% if 1 %}\n{% endif %}\n{{ 2 }}",
    "\t{% if 1 %}\tx\t{% endif %}\t\ny", "a{% if 1 %}\n b{% endif %}", "{% if 1 %}{% if 0 %}a{% elif 1 %}b{% else %}c{% endif %}{% endif %}",
    "{{ x.y.z }}", "{{ messages.foo }}", "{{ messages.foo.bar }}", "{{ 'a' is foo }}", "{{ 'a' | foo }}", "{{ messages[0].role.upper() }}", "{{ raise_exception('no') }}",
]
