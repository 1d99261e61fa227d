# SPDX-License-Identifier: Apache-2.0
"""Chat templates in the shapes that families of models use, in words of our own, and expressions one by one."""

CHATML = """{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"""

SMOLLM2 = """{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\\nYou answer briefly.<|im_end|>\\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"""

LLAMA2 = """{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system_message = messages[0]['content'] %}{% else %}{% set loop_messages = messages %}{% set system_message = false %}{% endif %}
{%- for message in loop_messages %}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
        {{- raise_exception('User and assistant must take turns') }}
    {%- endif %}
    {%- if loop.index0 == 0 and system_message != false %}
        {%- set content = '<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + message['content'] %}
    {%- else %}
        {%- set content = message['content'] %}
    {%- endif %}
    {%- if message['role'] == 'user' %}
        {{- bos_token + '[INST] ' + content.strip() + ' [/INST]' }}
    {%- elif message['role'] == 'assistant' %}
        {{- ' '  + content.strip() + ' ' + eos_token }}
    {%- endif %}
{%- endfor %}"""

LLAMA3 = """{{- bos_token }}
{%- if custom_tools is defined %}
    {%- set tools = custom_tools %}
{%- endif %}
{%- if not date_string is defined %}
    {%- if strftime_now is defined %}
        {%- set date_string = strftime_now("%d %b %Y") %}
    {%- else %}
        {%- set date_string = "1 Jan 2020" %}
    {%- endif %}
{%- endif %}
{%- if not tools is defined %}
    {%- set tools = none %}
{%- endif %}
{#- The first message may say what the model is. #}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{%- if tools is not none %}
    {{- "Environment: ipython\\n" }}
{%- endif %}
{{- "Today: " + date_string + "\\n\\n" }}
{%- if tools is not none %}
    {{- "These functions can be called with JSON:\\n\\n" }}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\\n\\n" }}
    {%- endfor %}
{%- endif %}
{{- system_message }}
{{- "<|eot_id|>" }}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}
            {{- raise_exception("One tool call at a time") }}
        {%- endif %}
        {%- set tool_call = message.tool_calls[0].function %}
        {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' -}}
        {{- '{"name": "' + tool_call.name + '", ' }}
        {{- '"parameters": ' }}
        {{- tool_call.arguments | tojson }}
        {{- "}" }}
        {{- "<|eot_id|>" }}
    {%- elif message.role == "tool" or message.role == "ipython" %}
        {{- "<|start_header_id|>ipython<|end_header_id|>\\n\\n" }}
        {%- if message.content is mapping or message.content is iterable and message.content is not string %}
            {{- message.content | tojson }}
        {%- else %}
            {{- message.content }}
        {%- endif %}
        {{- "<|eot_id|>" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
"""

MISTRAL = """{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- set user_messages = loop_messages | selectattr("role", "equalto", "user") | list %}
{#- Turns alternate; what tools say does not count. #}
{%- set ns = namespace() %}
{%- set ns.index = 0 %}
{%- for message in loop_messages %}
    {%- if not (message.role == "tool" or (message.tool_calls is defined and message.tool_calls is not none)) %}
        {%- if (message["role"] == "user") != (ns.index % 2 == 0) %}
            {{- raise_exception("After the system message the roles must be user/assistant in turn") }}
        {%- endif %}
        {%- set ns.index = ns.index + 1 %}
    {%- endif %}
{%- endfor %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" %}
        {%- if tools is not none and (message == user_messages[-1]) %}
            {{- "[AVAILABLE_TOOLS] [" }}
            {%- for tool in tools %}
                {%- set tool = tool.function %}
                {{- '{"type": "function", "function": {' }}
                {%- for key, val in tool.items() if key != "return" %}
                    {%- if val is string %}
                        {{- '"' + key + '": "' + val + '"' }}
                    {%- else %}
                        {{- '"' + key + '": ' + val|tojson }}
                    {%- endif %}
                    {%- if not loop.last %}
                        {{- ", " }}
                    {%- endif %}
                {%- endfor %}
                {{- "}}" }}
                {%- if not loop.last %}
                    {{- ", " }}
                {%- else %}
                    {{- "]" }}
                {%- endif %}
            {%- endfor %}
            {{- "[/AVAILABLE_TOOLS]" }}
        {%- endif %}
        {%- if loop.last and system_message is defined %}
            {{- "[INST] " + system_message + "\\n\\n" + message["content"] + "[/INST]" }}
        {%- else %}
            {{- "[INST] " + message["content"] + "[/INST]" }}
        {%- endif %}
    {%- elif message.tool_calls is defined and message.tool_calls is not none %}
        {{- "[TOOL_CALLS] [" }}
        {%- for tool_call in message.tool_calls %}
            {%- set out = tool_call.function|tojson %}
            {{- out[:-1] }}
            {{- ', "id": "' + (tool_call.id | default("none0000")) + '"}' }}
            {{- ", " if not loop.last else "]" + eos_token }}
        {%- endfor %}
    {%- elif message["role"] == "assistant" %}
        {{- " " + message["content"]|trim + eos_token}}
    {%- elif message["role"] == "tool" or message["role"] == "tool_results" %}
        {%- if message.content is defined and message.content.content is defined %}
            {%- set content = message.content.content %}
        {%- else %}
            {%- set content = message.content %}
        {%- endif %}
        {{- '[TOOL_RESULTS] {"content": ' + content|string + ", " }}
        {{- '"call_id": "x"}[/TOOL_RESULTS]' }}
    {%- else %}
        {{- raise_exception("Only user, assistant and tool, with a system message in front") }}
    {%- endif %}
{%- endfor %}
"""

GEMMA = """{{ bos_token }}
{%- if messages[0]['role'] == 'system' -%}
    {%- if messages[0]['content'] is string -%}
        {%- set first_user_prefix = messages[0]['content'] + '\\n\\n' -%}
    {%- else -%}
        {%- set first_user_prefix = messages[0]['content'][0]['text'] + '\\n\\n' -%}
    {%- endif -%}
    {%- set loop_messages = messages[1:] -%}
{%- else -%}
    {%- set first_user_prefix = "" -%}
    {%- set loop_messages = messages -%}
{%- endif -%}
{%- for message in loop_messages -%}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}
        {{ raise_exception("Roles must be user/model/user/model") }}
    {%- endif -%}
    {%- if (message['role'] == 'assistant') -%}
        {%- set role = "model" -%}
    {%- else -%}
        {%- set role = message['role'] -%}
    {%- endif -%}
    {{ '<start_of_turn>' + role + '\\n' + (first_user_prefix if loop.first else "") }}
    {%- if message['content'] is string -%}
        {{ message['content'] | trim }}
    {%- elif message['content'] is iterable -%}
        {%- for item in message['content'] -%}
            {%- if item['type'] == 'image' -%}
                {{ '<start_of_image>' }}
            {%- elif item['type'] == 'text' -%}
                {{ item['text'] | trim }}
            {%- endif -%}
        {%- endfor -%}
    {%- else -%}
        {{ raise_exception("What kind of content is that?") }}
    {%- endif -%}
    {{ '<end_of_turn>\\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{'<start_of_turn>model\\n'}}
{%- endif -%}
"""

PHI3 = """{% for message in messages %}{% if message['role'] == 'system' and message['content'] %}{{'<|system|>
' + message['content'] + '<|end|>
'}}{% elif message['role'] == 'user' %}{{'<|user|>
' + message['content'] + '<|end|>
'}}{% elif message['role'] == 'assistant' %}{{'<|assistant|>
' + message['content'] + '<|end|>
'}}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>
' }}{% else %}{{ eos_token }}{% endif %}"""

QWEN25 = """{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0]['role'] == 'system' %}
        {{- messages[0]['content'] }}
    {%- else %}
        {{- 'You are an assistant.' }}
    {%- endif %}
    {{- "\\n\\n# Tools\\n\\nSignatures stand inside <tools></tools>:\\n<tools>" }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\\n</tools>\\n\\nAnswer a call inside <tool_call></tool_call>:\\n<tool_call>\\n{\\"name\\": <name>}\\n</tool_call><|im_end|>\\n" }}
{%- else %}
    {%- if messages[0]['role'] == 'system' %}
        {{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}
    {%- else %}
        {{- '<|im_start|>system\\nYou are an assistant.<|im_end|>\\n' }}
    {%- endif %}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) or (message.role == "assistant" and not message.tool_calls) %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {{- '<|im_start|>' + message.role }}
        {%- if message.content %}
            {{- '\\n' + message.content }}
        {%- endif %}
        {%- for tool_call in message.tool_calls %}
            {%- if tool_call.function is defined %}
                {%- set tool_call = tool_call.function %}
            {%- endif %}
            {{- '\\n<tool_call>\\n{"name": "' }}
            {{- tool_call.name }}
            {{- '", "arguments": ' }}
            {{- tool_call.arguments | tojson }}
            {{- '}\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == "tool" %}
        {%- if (loop.index0 == 0) or (messages[loop.index0 - 1].role != "tool") %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\\n<tool_response>\\n' }}
        {{- message.content }}
        {{- '\\n</tool_response>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}
            {{- '<|im_end|>\\n' }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""

QWEN3 = """{%- if messages[0].role == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step_tool and message.role == "user" and message.content is string and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
        {%- set ns.multi_step_tool = false %}
        {%- set ns.last_query_index = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is string %}
        {%- set content = message.content %}
    {%- else %}
        {%- set content = '' %}
    {%- endif %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {%- set reasoning_content = '' %}
        {%- if message.reasoning_content is string %}
            {%- set reasoning_content = message.reasoning_content %}
        {%- else %}
            {%- if '</think>' in content %}
                {%- set reasoning_content = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
                {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
            {%- endif %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query_index %}
            {%- if loop.last or (not loop.last and reasoning_content) %}
                {{- '<|im_start|>' + message.role + '\\n<think>\\n' + reasoning_content.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
            {%- else %}
                {{- '<|im_start|>' + message.role + '\\n' + content }}
            {%- endif %}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\\n' + content }}
        {%- endif %}
        {%- if message.tool_calls %}
            {%- for tool_call in message.tool_calls %}
                {%- if (loop.first and content) or (not loop.first) %}
                    {{- '\\n' }}
                {%- endif %}
                {%- if tool_call.function %}
                    {%- set tool_call = tool_call.function %}
                {%- endif %}
                {{- '<tool_call>\\n{"name": "' + tool_call.name + '", "arguments": ' }}
                {%- if tool_call.arguments is string %}
                    {{- tool_call.arguments }}
                {%- else %}
                    {{- tool_call.arguments | tojson }}
                {%- endif %}
                {{- '}\\n</tool_call>' }}
            {%- endfor %}
        {%- endif %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == "tool" %}
        {%- if loop.first or (messages[loop.index0 - 1].role != "tool") %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\\n<tool_response>\\n' + content + '\\n</tool_response>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}
            {{- '<|im_end|>\\n' }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}
"""

SMOLLM3 = """{# ---- what the caller may set ---- #}
{%- if enable_thinking is not defined -%}
{%- set enable_thinking = true -%}
{%- endif -%}
{# ---- mode ---- #}
{%- if enable_thinking -%}
  {%- set reasoning_mode = "/think" -%}
{%- else -%}
  {%- set reasoning_mode = "/no_think" -%}
{%- endif -%}

{{- "<|im_start|>system\\n" -}}

{%- if messages[0].role == "system" -%}
  {%- set system_message = messages[0].content -%}
  {%- if "/no_think" in system_message -%}
    {%- set reasoning_mode = "/no_think" -%}
  {%- elif "/think" in system_message -%}
    {%- set reasoning_mode = "/think" -%}
  {%- endif -%}
  {%- set custom_instructions = system_message.replace("/no_think", "").replace("/think", "").rstrip() -%}
{%- endif -%}
{{- "## Metadata\\n\\n" -}}
{%- set today = strftime_now("%d %B %Y") -%}
{{- "Today: " ~ today ~ "\\n" -}}
{{- "Mode: " + reasoning_mode + "\\n\\n" -}}
{%- if custom_instructions -%}
  {{- custom_instructions + "\\n\\n" -}}
{%- endif -%}
{{- "<|im_end|>\\n" -}}
{# ---- the turns ---- #}
{%- for message in messages -%}
    {%- set content = message.content if message.content is string else "" -%}
    {%- if message.role == "user" -%}
        {{ "<|im_start|>" + message.role + "\\n"  + content + "<|im_end|>\\n" }}
    {%- elif message.role == "assistant" -%}
        {% generation %}
        {%- if reasoning_mode == "/think" -%}
            {{ "<|im_start|>assistant\\n" + content.lstrip("\\n") + "<|im_end|>\\n" }}
        {%- else -%}
            {{ "<|im_start|>assistant\\n" + "<think>\\n\\n</think>\\n" + content.lstrip("\\n") + "<|im_end|>\\n" }}
        {%- endif -%}
        {% endgeneration %}
    {%- elif message.role == "tool" -%}
    {{ "<|im_start|>" + "user\\n"  + content + "<|im_end|>\\n" }}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {%- if reasoning_mode == "/think" -%}
        {{ "<|im_start|>assistant\\n" }}
    {%- else -%}
        {{ "<|im_start|>assistant\\n" + "<think>\\n\\n</think>\\n"  }}
    {%- endif -%}
{%- endif -%}
"""

OLMO2 = """{{ bos_token }}{% for message in messages %}{% if message['role'] == 'system' %}{{ '<|system|>
' + message['content'] + '
' }}{% elif message['role'] == 'user' %}{{ '<|user|>
' + message['content'] + '
' }}{% elif message['role'] == 'assistant' %}{% if not loop.last %}{{ '<|assistant|>
'  + message['content'] + eos_token + '
' }}{% else %}{{ '<|assistant|>
'  + message['content'] + eos_token }}{% endif %}{% endif %}{% if loop.last and add_generation_prompt %}{{ '<|assistant|>
' }}{% endif %}{% endfor %}"""

HARMONY = """{%- macro render_type(param_spec) -%}
    {%- if param_spec.type == "array" -%}
        {%- if param_spec['items'] -%}
            {{- render_type(param_spec['items']) + "[]" -}}
        {%- else -%}
            {{- "any[]" -}}
        {%- endif -%}
    {%- elif param_spec.enum -%}
        {{- '"' + param_spec.enum|join('" | "') + '"' -}}
    {%- elif param_spec.type is defined and param_spec.type is iterable and param_spec.type is not string and param_spec.type is not mapping -%}
        {{- param_spec.type | join(" | ") -}}
    {%- else -%}
        {{- param_spec.type | default("any", true) -}}
    {%- endif -%}
{%- endmacro -%}

{%- macro render_namespace(name, tools) -%}
    {{- "## " + name + "\\n\\n" }}
    {{- "namespace " + name + " {\\n\\n" }}
    {%- for tool in tools %}
        {%- set tool = tool.function %}
        {{- "// " + tool.description + "\\n" }}
        {{- "type "+ tool.name + " = " }}
        {%- if tool.parameters and tool.parameters.properties %}
            {{- "(_: {\\n" }}
            {%- for param_name, param_spec in tool.parameters.properties.items() %}
                {%- if param_spec.description %}
                    {{- "// " + param_spec.description + "\\n" }}
                {%- endif %}
                {{- param_name }}
                {%- if param_name not in (tool.parameters.required or []) -%}
                    {{- "?" }}
                {%- endif -%}
                {{- ": " }}
                {{- render_type(param_spec) }}
                {%- if param_spec.default is defined %}
                    {{- ", // default: " + param_spec.default|string }}
                {%- endif %}
                {{- ",\\n" }}
            {%- endfor %}
            {{- "}) => any;\\n\\n" }}
        {%- else -%}
            {{- "() => any;\\n\\n" }}
        {%- endif -%}
    {%- endfor %}
    {{- "} // namespace " + name }}
{%- endmacro -%}

{%- macro build_system() -%}
    {%- if model_identity is not defined %}
        {%- set model_identity = "You are a model." %}
    {%- endif %}
    {{- model_identity + "\\n" }}
    {{- "Current date: " + strftime_now("%Y-%m-%d") + "\\n\\n" }}
    {{- "Reasoning: " + (reasoning_effort if reasoning_effort is defined else "medium") + "\\n\\n" }}
    {{- "# Valid channels: analysis, commentary, final." }}
    {%- if tools -%}
        {{- "\\nCalls to tools go to the channel 'commentary'." }}
    {%- endif -%}
{%- endmacro -%}

{{- "<|start|>system<|message|>" }}
{{- build_system() }}
{{- "<|end|>" }}
{%- if messages[0].role == "developer" or messages[0].role == "system" %}
    {%- set developer_message = messages[0].content %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set developer_message = "" %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- if developer_message or tools %}
    {{- "<|start|>developer<|message|>" }}
    {%- if developer_message %}
        {{- "# Instructions\\n\\n" + developer_message }}
    {%- endif %}
    {%- if tools -%}
        {{- "\\n\\n# Tools\\n\\n" + render_namespace("functions", tools) }}
    {%- endif -%}
    {{- "<|end|>" }}
{%- endif %}
{%- set last_tool_call = namespace(name=none) %}
{%- for message in loop_messages -%}
    {%- if message.role == 'assistant' -%}
        {%- if "content" in message %}
            {%- if "<|channel|>analysis<|message|>" in message.content %}
                {{- raise_exception("Reasoning stands in the field thinking") }}
            {%- endif %}
        {%- endif %}
        {%- if "tool_calls" in message %}
            {%- set future_final_message = namespace(found=false) %}
            {%- for future_message in loop_messages[loop.index:] %}
                {%- if future_message.role == 'assistant' and "tool_calls" not in future_message %}
                    {%- set future_final_message.found = true %}
                {%- endif %}
            {%- endfor %}
            {%- set tool_call = message.tool_calls[0] %}
            {%- if tool_call.function %}
                {%- set tool_call = tool_call.function %}
            {%- endif %}
            {%- if message.content and not future_final_message.found %}
                {{- "<|start|>assistant<|channel|>analysis<|message|>" + message.content + "<|end|>" }}
            {%- endif %}
            {{- "<|start|>assistant to=" }}
            {{- "functions." + tool_call.name + "<|channel|>commentary " }}
            {{- (tool_call.content_type if tool_call.content_type is defined else "json") + "<|message|>" }}
            {{- tool_call.arguments|tojson }}
            {{- "<|call|>" }}
            {%- set last_tool_call.name = tool_call.name %}
        {%- elif loop.last and not add_generation_prompt %}
            {{- "<|start|>assistant<|channel|>final<|message|>" + message.content + "<|return|>" }}
        {%- else %}
            {{- "<|start|>assistant<|channel|>final<|message|>" + message.content + "<|end|>" }}
            {%- set last_tool_call.name = none %}
        {%- endif %}
    {%- elif message.role == 'tool' -%}
        {%- if last_tool_call.name is none %}
            {{- raise_exception("A tool speaks, and nobody called it") }}
        {%- endif %}
        {{- "<|start|>functions." + last_tool_call.name }}
        {{- " to=assistant<|channel|>commentary<|message|>" + message.content|tojson + "<|end|>" }}
    {%- elif message.role == 'user' -%}
        {{- "<|start|>user<|message|>" + message.content + "<|end|>" }}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
<|start|>assistant
{%- endif -%}
"""

ZEPHYR = """{% for message in messages %}
{% if message['role'] == 'user' %}
{{ '<|user|>\\n' + message['content'] + eos_token }}
{% elif message['role'] == 'system' %}
{{ '<|system|>\\n' + message['content'] + eos_token }}
{% elif message['role'] == 'assistant' %}
{{ '<|assistant|>\\n'  + message['content'] + eos_token }}
{% endif %}
{% if loop.last and add_generation_prompt %}
{{ '<|assistant|>' }}
{% endif %}
{% endfor %}
"""

LOOPS = """{% macro turn(role, content='(nothing)', mark="*") %}
[{{ role | upper }}{{ mark }} {{ content | trim | default('(empty)', true) }}]
{% endmacro %}
{% set order = [] %}
  {% for m in messages if m.role not in ['tool'] %}
    {% if loop.index > 6 %}{% break %}{% endif %}
    {% if not m.content %}{% continue %}{% endif %}
{{ turn(m.role, m.content if m.content is string else m.content | map(attribute='text', default='?') | join('+'), mark=loop.revindex) }}
    {% set order = order + [m.role] %}
  {% else %}
nobody
  {% endfor %}
{{ order | length }} {{ messages | map(attribute='role') | list | unique | join(', ') }}
{%+ if add_generation_prompt %}go{% endif +%}

{% set block %}
  {{ messages | first | tojson }} {# gone #}
{% endset %}
{{ block | trim }}
"""

FAMILIES = {"chatml": CHATML, "smollm2": SMOLLM2, "llama2": LLAMA2, "llama3": LLAMA3, "mistral": MISTRAL, "gemma": GEMMA,
            "phi3": PHI3, "qwen25": QWEN25, "qwen3": QWEN3, "smollm3": SMOLLM3, "olmo2": OLMO2, "harmony": HARMONY,
            "zephyr": ZEPHYR, "loops": LOOPS}


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
