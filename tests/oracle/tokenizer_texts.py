# SPDX-License-Identifier: Apache-2.0
"""The text the tokenizer fixtures are trained on, and the texts they are asked to encode."""

TRAINING = """\
The little harbour town woke before the sun. Boats rocked at their moorings, and the gulls were already arguing.
Anna carried the silver key to the lighthouse; she couldn't remember who had given it to her, or why.
"You've got the wrong door," said the keeper. "It's the other one, the one that doesn't open."
He'd been there for 42 years, 3 months and 17 days. In 1987 the storm took the roof, in 2004 the stairs.
They'll tell you that the sea forgets. I'm not so sure; we're still finding things on the beach.
Where is the silver key? Where is the brown bag? Where is the old map of the northern coast?
The key is under the stone. The stone is in the garden. The garden is behind the house, and the house is closed.
    if key.opens(door):
        door.open()
        return True
    else:
        raise ValueError("wrong door, try number 12345")
for (int i = 0; i < 100; ++i) { total += values[i] * weights[i]; }
Der Leuchtturmwärter hörte die Möwen über dem Hafen; die Straße war noch naß vom Regen.
Où est la clé d'argent ? Elle était déjà là, près de la fenêtre, à côté du café.
¿Dónde está la llave? El niño la encontró en el jardín de la abuela, mañana por la mañana.
Маленький город проснулся рано утром. Где ключ? Ключ лежит под камнем в саду за домом.
灯台の鍵はどこですか。鍵は庭の石の下にあります。町は朝早く目を覚ましました。
银色的钥匙在哪里?钥匙在花园里的石头下面。小镇在清晨醒来。
열쇠는 어디에 있습니까? 열쇠는 정원의 돌 아래에 있습니다.
البحر لا ينسى. أين المفتاح؟ المفتاح تحت الحجر في الحديقة.
The sum is 3.14159, or 22/7, or about 3. Call +49 30 1234567 before 18:30, or write to anna@example.org today!
Windows, doors, stairs, roofs: everything in this house creaks, whispers and remembers. 😀 👍 ❤️
"""

# name -> text; the name says what the case is for
TEXTS = {
    "empty": "",
    "space": " ",
    "two_spaces": "  ",
    "three_spaces": "   ",
    "long_spaces": " " * 37,
    "newline": "\n",
    "newlines": "\n\n\n",
    "crlf": "one\r\ntwo\r\n\r\nthree\r",
    "tabs": "\tone\t\ttwo \t three\t",
    "word": "harbour",
    "leading_space": " harbour",
    "two_leading_spaces": "  harbour",
    "trailing_space": "harbour ",
    "trailing_spaces": "harbour    ",
    "inner_spaces": "the  key   is    under     the stone",
    "space_newline": "the key \n  is here  \n\n  there",
    "newline_word": "\nkey\n\nstone\n",
    "sentence": "Where is the silver key? It is under the stone.",
    "capitals": "WHERE IS THE SILVER KEY",
    "mixed_case": "sIlVeR KeY",
    "contractions": "I'm sure you've said they'll come, he'd know, it's done, we're here, don't.",
    "contractions_upper": "I'M SURE YOU'VE SAID THEY'LL COME, HE'D KNOW, IT'S DONE",
    "contractions_odd": "'s 't' x'S ''ll ' re 'REx 'vex o'clock",
    "long_s_contraction": "it'\u017f x",
    "curly_apostrophe": "don\u2019t it\u2019s",
    "digits": "0 1 12 123 1234 12345 1234567890",
    "numbers": "3.14159 -2.5e10 1,000,000 0x1F 22/7 18:30",
    "digit_letters": "abc123def 4you b2b 9\u5e74",
    "other_numbers": "\u0661\u0662\u0663 \u2167 \u00bd \u00b2 \u2460 \uff11\uff12",
    "punctuation": "!?... --- (a) [b] {c} <d> #e @f $5 50% a_b a-b a/b \\ | ~ ^ & * + =",
    "punctuation_newline": "end!!!\n\nnext...\r\n- item\n",
    "quotes": "\"quoted\" 'single' \u00ab\u00e0 c\u00f4t\u00e9\u00bb \u201cdouble\u201d",
    "code": "    if x[i] != y:\n\t\treturn {'a': 1}\n",
    "url": "https://example.org/a_b?c=d&e=%20#top",
    "accents": "d\u00e9j\u00e0 l\u00e0, ma\u00f1ana, \u00fcber, na\u00efve, \u00c5ngstr\u00f6m",
    "combining": "de\u0301ja\u0300 man\u0303ana u\u0308ber A\u030angstro\u0308m",
    "combining_stack": "a\u0301\u0302\u0303\u0304\u0305 z\u0335\u0321\u0489 \u0301alone",
    "hangul_jamo": "\u1112\u1161\u11ab\uae00 \ud55c\uae00",
    "singletons": "\u212b \u2126 \u212a \uf900 \u0340",
    "compatibility": "\ufb01x \u2460 \uff21\uff22 \u33a5 \u3231",
    "cyrillic": "Где ключ? Ключ лежит в саду.",
    "greek": "\u03a0\u03bf\u03cd \u03b5\u03af\u03bd\u03b1\u03b9 \u03c4\u03bf \u03ba\u03bb\u03b5\u03b9\u03b4\u03af;",
    "chinese": "\u94f6\u8272\u7684\u94a5\u5319\u5728\u54ea\u91cc\uff1f",
    "japanese": "\u9375\u306f\u3069\u3053\u3067\u3059\u304b\u3002\u30ab\u30ae\u3002",
    "korean": "\uc5f4\uc1e0\ub294 \uc5b4\ub514\uc5d0 \uc788\uc2b5\ub2c8\uae4c?",
    "arabic": "\u0623\u064a\u0646 \u0627\u0644\u0645\u0641\u062a\u0627\u062d\u061f \u0661\u0662",
    "hebrew_points": "\u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd",
    "hindi": "\u091a\u093e\u092c\u0940 \u0915\u0939\u093e\u0901 \u0939\u0948?",
    "thai": "\u0e01\u0e38\u0e0d\u0e41\u0e08\u0e2d\u0e22\u0e39\u0e48\u0e17\u0e35\u0e48\u0e44\u0e2b\u0e19",
    "mixed_scripts": "The \u94a5\u5319 is \u043a\u043b\u044e\u0447 is cl\u00e9 is \uc5f4\uc1e0!",
    "emoji": "\U0001f600 \U0001f44d ok\U0001f511key",
    "emoji_zwj": "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 \U0001f3f3\ufe0f\u200d\U0001f308",
    "emoji_modifiers": "\U0001f44b\U0001f3fd \u2764\ufe0f 1\ufe0f\u20e3 \U0001f1e9\U0001f1ea",
    "astral": "\U0001d54a\U0001d55a\U0001d55d\U0001d567\U0001d556\U0001d563 \U00020bb7 \U0010ffff",
    "nul": "a\x00b\x00\x00",
    "controls": "\x01\x02\x1b[31m\x7f \x08\x0c\x0b",
    "c1_controls": "\x80\x85\x9f next\x85line",
    "unicode_spaces": "a\u00a0b\u2003c\u3000d\u2009e\u202ff\u1680g",
    "line_separators": "a\u2028b\u2029c",
    "zero_width": "a\u200bb\u200cc\u2060d\ufeffe",
    "bom": "\ufeffkey",
    "replacement": "\ufffd\ufffd key \ufffe \uffff",
    "private_use": "\ue000\uf8ff \U000f0000",
    "bidi": "\u202eabc\u202c \u200fdef",
    "metaspace": "\u2581key\u2581\u2581stone \u2581",
    "byte_token_text": "<0x41><0x0A> <0xFF>",
    "byte_letters": "\u0120key \u010a \u0100\u0101",
    "repeats": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "repeats_mixed": "thethethethe keykeykey ananananana",
    "long_word": "Leuchtturmw\u00e4rterhausschl\u00fcsselkasten" * 3,
    "punctuation_run": "." * 33 + "!" * 9 + "-" * 17,
    "unk_marker": "<unk> <s> </s> <pad>",
    "special_inside": "key<|endoftext|>stone <|im_start|> user<|im_end|>\nmore "
                      "<|begin_of_text|><|eot_id|>",
    "special_spaces": "a  <|endoftext|>  b\n<|endoftext|>\nc",
    "special_broken": "<|endoftext| > <|endof text|> <|ENDOFTEXT|> |endoftext|>",
    "special_only": "<|endoftext|>",
    "special_twice": "<s><s> key</s></s> <s>",
    "added_strips": "a <l> b <r> c <both> d  <l>  <r>  <both>  e<l>f<r>g<both>h",
    "added_word": "door doors indoor door. (door) door-door _door_ \u00fcdoor doorway Door",
    "added_overlap": "<a><b> <a> <b> <a><a><b><b>",
    "added_normalized": "cafe\u0301! caf\u00e9! caf\u00e9 <tool_call>x</tool_call>",
}
