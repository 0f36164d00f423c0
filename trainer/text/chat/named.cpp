// Templates of well-known models, from public descriptions of their formats.
#include <algorithm>
#include <array>

#include <ondine/chat.h>

#include "trainer/text/chat/template.h"

namespace ondine {
namespace {

struct Named {
  const char* name;
  const char* text;
};

// In the order of names(). The render of the first messages begins that of all of them.
constexpr std::array<Named, 7> templates{{
    {"chatml",
     "{% for message in messages %}"
     "{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}"
     "{% endfor %}"
     "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"},
    {"llama2",
     "{% set sep = namespace(system='') %}"
     "{% for message in messages %}"
     "{% if message.role == 'system' and loop.first %}"
     "{% set sep.system = '<<SYS>>\\n' + message.content + '\\n<</SYS>>\\n\\n' %}"
     "{% elif message.role == 'user' %}"
     "{{ '<s>[INST] ' + sep.system + message.content | trim + ' [/INST]' }}"
     "{% set sep.system = '' %}"
     "{% elif message.role == 'assistant' %}"
     "{{ ' ' + message.content | trim + ' </s>' }}"
     "{% else %}{{ raise_exception('llama2 knows a first system message, user and assistant') }}"
     "{% endif %}{% endfor %}"},
    {"llama3",
     "{{ '<|begin_of_text|>' }}"
     "{% for message in messages %}"
     "{{ '<|start_header_id|>' + message.role + '<|end_header_id|>\\n\\n'"
     " + message.content | trim + '<|eot_id|>' }}"
     "{% endfor %}"
     "{% if add_generation_prompt %}"
     "{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}"},
    {"gemma",
     "{{ '<bos>' }}"
     "{% for message in messages %}"
     "{% if message.role not in ['user', 'assistant'] %}"
     "{{ raise_exception('gemma knows user and assistant') }}{% endif %}"
     "{{ '<start_of_turn>' + ('model' if message.role == 'assistant' else message.role) + '\\n'"
     " + message.content | trim + '<end_of_turn>\\n' }}"
     "{% endfor %}"
     "{% if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}"},
    {"phi3",
     "{% for message in messages %}"
     "{{ '<|' + message.role + '|>\\n' + message.content + '<|end|>\\n' }}"
     "{% endfor %}"
     "{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}"},
    {"mistral",
     "{{ '<s>' }}"
     "{% for message in messages %}"
     "{% if message.role == 'user' %}{{ '[INST] ' + message.content + ' [/INST]' }}"
     "{% elif message.role == 'assistant' %}{{ ' ' + message.content + '</s>' }}"
     "{% else %}{{ raise_exception('mistral knows user and assistant') }}"
     "{% endif %}{% endfor %}"},
    {"zephyr",
     "{% for message in messages %}"
     "{{ '<|' + message.role + '|>\\n' + message.content + '</s>\\n' }}"
     "{% endfor %}"
     "{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}"},
}};

}  // namespace

const char* text::chat::named_template(std::string_view name) noexcept {
  const auto found = std::find_if(templates.begin(), templates.end(),
                                  [&](const Named& one) { return one.name == name; });
  return found == templates.end() ? nullptr : found->text;
}

std::vector<std::string> ChatTemplate::names() {
  std::vector<std::string> result;
  for (const Named& one : templates) result.emplace_back(one.name);
  return result;
}

}  // namespace ondine
