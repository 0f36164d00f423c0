// Language models: folders of Hugging Face, and texts that a model writes.
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "bindings/c/call.h"
#include "bindings/c/json.h"
#include "bindings/c/objects.h"

using namespace ondine;     // NOLINT
using namespace ondine::c;  // NOLINT

namespace {

// Error(invalid_option) for options of data that have no effect here.
void take_text(const Model& model, const OptionValues& values, GenerateOptions& options) {
  for (const auto& [name, value] : values) {
    const OptionInfo* const option = find_option(OptionGroup::data, name);
    if (option == nullptr || option->name == "tokenizer" || option->name == "chat-template") {
      continue;  // dataset_options() refuses a name that it does not know
    }
    throw Error(ErrorCode::invalid_option,
                name + " has no effect on what a model writes; tokenizer and chat-template have");
  }
  const TextOptions text = dataset_options(values, model, DataUse::inference).text;
  options.encoding = text.encoding;
  options.chat_template = text.next.chat_template;
}

Generator::OnText on_text(ondine_piece_callback callback, void* user) {
  if (callback == nullptr) return {};
  return [callback, user](std::string_view piece) {
    return callback(user, piece.data(), piece.size()) == 0;
  };
}

void give(const GenerateReport& made, char** report) {
  if (report != nullptr) *report = copy_text(generate_json(made));
}

std::string_view text_of(const char* text, size_t length, const char* name) {
  if (length > 0) require(text, name);
  return {text == nullptr ? "" : text, length};
}

std::span<const std::int64_t> tokens_of(const int64_t* tokens, size_t count) {
  if (count > 0) require(tokens, "tokens");
  return {tokens, count};
}

std::vector<ChatMessage> messages_of(const ondine_message* messages, size_t count) {
  if (count > 0) require(messages, "messages");
  std::vector<ChatMessage> all;
  for (const ondine_message& one : std::span(messages, count)) {
    all.push_back({text_in(one.role, "role"), text_in(one.content, "content")});
  }
  return all;
}

}  // namespace

ondine_error* ondine_import_hugging_face(const char* folder, const char* output,
                                         const ondine_option* given, char** report) {
  return guard([&] {
    const ImportHuggingFaceReport made = import_hugging_face(
        text_in(folder, "folder"), text_in(output, "output"), import_options(options_in(given)));
    if (report != nullptr) *report = copy_text(import_json(made));
  });
}

ondine_error* ondine_generator_new(const ondine_model* model, const ondine_option* given,
                                   const ondine_option* text, ondine_generator** generator) {
  return guard([&] {
    require(generator, "generator");
    const auto object = get(model);
    GenerateOptions options = generate_options(options_in(given));
    take_text(object->model, options_in(text), options);
    New<ondine_generator> made(object, std::move(options));
    *generator = made.release();
  });
}

ondine_error* ondine_generator_generate(const ondine_generator* generator, const char* prompt,
                                        size_t length, ondine_piece_callback callback, void* user,
                                        char** report) {
  return guard([&] {
    give(get(generator)->generator.generate(text_of(prompt, length, "prompt"),
                                            on_text(callback, user)),
         report);
  });
}

ondine_error* ondine_generator_generate_after(const ondine_generator* generator,
                                              const int64_t* tokens, size_t count,
                                              ondine_piece_callback callback, void* user,
                                              char** report) {
  return guard([&] {
    give(get(generator)->generator.generate(tokens_of(tokens, count), on_text(callback, user)),
         report);
  });
}

ondine_error* ondine_generator_answer(const ondine_generator* generator,
                                      const ondine_message* messages, size_t count,
                                      ondine_piece_callback callback, void* user, char** report) {
  return guard([&] {
    give(get(generator)->generator.answer(messages_of(messages, count), on_text(callback, user)),
         report);
  });
}

ondine_error* ondine_generator_encode(const ondine_generator* generator, const char* text,
                                      size_t length, ondine_value** tokens) {
  return guard([&] {
    require(tokens, "tokens");
    const std::vector<std::int64_t> ids =
        get(generator)->generator.encoding().encode(text_of(text, length, "text"));
    // Copies the bytes: an instance of a template of Tensor would be a symbol of the library.
    Tensor values(DType::int64, {std::ssize(ids)});
    if (!ids.empty()) std::memcpy(values.mutable_data(), ids.data(), values.bytes());
    New<ondine_value> made(std::move(values));
    *tokens = made.release();
  });
}

ondine_error* ondine_generator_decode(const ondine_generator* generator, const int64_t* tokens,
                                      size_t count, char** text, size_t* length) {
  return guard([&] {
    require(text, "text");
    const std::string made = get(generator)->generator.encoding().decode(tokens_of(tokens, count));
    *text = copy_text(made);
    if (length != nullptr) *length = made.size();
  });
}

void ondine_generator_free(ondine_generator* generator) { close(generator); }
