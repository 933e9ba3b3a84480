// The named templates (engine X-11): our own short wordings of well-known prompt formats.

#include "text/template/chat_template.h"

namespace loom {
namespace {

constexpr std::string_view kChatml =
    "{% for m in messages %}{{ '<|im_start|>' ~ m.role ~ '\\n' ~ m.content ~ '<|im_end|>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

// The system text joins the first user turn, inside <<SYS>> marks.
constexpr std::string_view kLlama2 =
    "{% set ns = namespace(system='') %}"
    "{% for m in messages %}"
    "{% if m.role == 'system' %}{% set ns.system = '<<SYS>>\\n' ~ m.content ~ '\\n<</SYS>>\\n\\n' %}"
    "{% elif m.role == 'user' %}{{ (bos_token or '') ~ '[INST] ' ~ ns.system ~ m.content.strip() ~ ' [/INST]' }}{% set "
    "ns.system = '' %}"
    "{% else %}{{ ' ' ~ m.content.strip() ~ ' ' ~ (eos_token or '') }}{% endif %}"
    "{% endfor %}";

constexpr std::string_view kLlama3 =
    "{{ bos_token or '' }}"
    "{% for m in messages %}{{ '<|start_header_id|>' ~ m.role ~ '<|end_header_id|>\\n\\n' ~ m.content.strip() ~ "
    "'<|eot_id|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}";

constexpr std::string_view kMistral =
    "{{ bos_token or '' }}"
    "{% set ns = namespace(system='') %}"
    "{% for m in messages %}"
    "{% if m.role == 'system' %}{% set ns.system = m.content ~ '\\n\\n' %}"
    "{% elif m.role == 'user' %}{{ '[INST] ' ~ ns.system ~ m.content ~ ' [/INST]' }}{% set ns.system = '' %}"
    "{% else %}{{ ' ' ~ m.content ~ (eos_token or '') }}{% endif %}"
    "{% endfor %}";

constexpr std::string_view kTinyllama =
    "{% for m in messages %}{{ '<|' ~ m.role ~ '|>\\n' ~ m.content ~ (eos_token or '') ~ '\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}";

constexpr std::string_view kPlain = "{% for m in messages %}{{ m.content ~ '\\n' }}{% endfor %}";

constexpr std::string_view kBitnetInstruction =
    "{% for m in messages %}"
    "{% if m.role == 'system' %}{{ m.content ~ '\\n\\n' }}"
    "{% elif m.role == 'user' %}{{ '### Instruction:\\n' ~ m.content ~ '\\n\\n' }}"
    "{% else %}{{ '### Response:\\n' ~ m.content ~ (eos_token or '') ~ '\\n\\n' }}{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '### Response:\\n' }}{% endif %}";

constexpr std::string_view kBitnetMicrosoft =
    "{{ bos_token or '' }}"
    "{% for m in messages %}{{ m.role.capitalize() ~ ': ' ~ m.content.strip() ~ '<|eot_id|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'Assistant: ' }}{% endif %}";

struct Named {
  std::string_view name, source;
};
constexpr Named kTemplates[] = {
    {"chatml", kChatml},
    {"llama2", kLlama2},
    {"llama3", kLlama3},
    {"mistral", kMistral},
    {"tinyllama", kTinyllama},
    {"zephyr", kTinyllama},
    {"plain", kPlain},
    {"bitnet_instruction", kBitnetInstruction},
    {"bitnet_microsoft", kBitnetMicrosoft},
};

}  // namespace

Result<std::string_view> builtin_template(std::string_view name) {
  std::string names;
  for (const Named& t : kTemplates) {
    if (t.name == name) return t.source;
    if (!names.empty()) names += ", ";
    names += t.name;
  }
  return fail(Code::NoTemplate, "no template is called \"{}\"; known: {}", name.substr(0, 80), names);
}

}  // namespace loom
