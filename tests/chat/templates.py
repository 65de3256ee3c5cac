"""Chat templates in the style of published models, with their special tokens, for tests."""

from __future__ import annotations

LLAMA3 = """{% set loop_messages = messages %}
{% for message in loop_messages %}
    {% set header = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' %}
    {% set content = header + message['content'] | trim + '<|eot_id|>' %}
    {% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}
    {{- content -}}
{% endfor %}
{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}"""

CHATML = """{% for message in messages %}
{{ '<|im_start|>' + message['role'] + '\\n' }}
{%- if message['role'] == 'assistant' %}{% generation %}{{ message['content'] + '<|im_end|>' }}{% endgeneration %}
{%- else %}{{ message['content'] + '<|im_end|>' }}{% endif %}{{ '\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"""

THINKING = """{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- for tool in tools %}{{- tool | tojson }}{{ '\\n' }}{%- endfor %}
    {{- '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
    {%- set content = message.content %}
    {%- if message.role == 'assistant' and '</think>' in content %}
        {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
    {%- endif %}
    {{- '<|im_start|>' + message.role + '\\n' + content }}
    {%- for call in message.tool_calls or [] %}
        {{- '<tool_call>' ~ call.function.name ~ ' ' ~ call.function.arguments | tojson ~ '</tool_call>' }}
    {%- endfor %}
    {{- '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"""

INSTRUCT = """{{ bos_token }}{% for message in messages %}
{% if (message.role == 'user') != (loop.index0 % 2 == 0) %}
{{ raise_exception('user and assistant take turns') }}
{% endif %}
{% if message.role == 'user' %}{{ '[INST] ' + message.content + ' [/INST]' }}
{%- else %}{{ ' ' + message.content | trim + eos_token }}{% endif %}
{%- endfor %}"""

BRACKETS = """{% for message in messages %}
{{ '<|' + message.role + '|>\\n' + message.content + '<|end|>\\n' }}{% endfor %}
{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% else %}{{ eos_token }}{% endif %}"""

MACRO = """{% macro turn(role, content) %}<start_of_turn>{{ 'model' if role == 'assistant' else role }}
{{ content | trim }}<end_of_turn>
{% endmacro %}
{% set state = namespace(first=true) %}
{% for message in messages %}
{%- if state.first %}{{ bos_token }}{% set state.first = false %}{% endif -%}
{% if message.content is string %}{{ turn(message.role, message.content) }}
{%- else %}{{ turn(message.role, message.content | map(attribute='text') | join('\\n')) }}{% endif %}
{%- endfor %}
{% if documents %}{% for d in documents %}{{ d.title ~ ': ' ~ d.text }}{% endfor %}{% endif %}
{% if strftime_now is defined and dated %}{{ strftime_now('%Y') }}{% endif %}"""

NAMES = {
    "bos_token": "<s>",
    "eos_token": "</s>",
    "unk_token": "<unk>",
}
SPECIALS = [
    *("<s>", "</s>", "<unk>", "<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
    *("<|im_start|>", "<|im_end|>", "[INST]", "[/INST]", "<|user|>", "<|assistant|>", "<|system|>", "<|end|>"),
    *("<start_of_turn>", "<end_of_turn>", "<|end|>!"),
]
FORMS = {
    "llama-3": LLAMA3,
    "chatml": CHATML,
    "thinking": THINKING,
    "instruct": INSTRUCT,
    "brackets": BRACKETS,
    "macro": MACRO,
}
