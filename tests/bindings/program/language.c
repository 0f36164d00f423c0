/* Folders of Hugging Face, texts that a model writes, adapters and privacy. */
#include <math.h>
#include <string.h>

#include "checks.h"

#define NO_OPTION \
  { NULL, NULL }

struct heard {
  char text[64];
  size_t length, last;
};
static int hear(void* user, const char* piece, size_t length) {
  struct heard* heard = (struct heard*)user;
  memcpy(heard->text + heard->length, piece, length);
  heard->length += length;
  return heard->length >= heard->last;
}

static void test_tokens(const ondine_generator* generator) {
  static const int64_t ids[3] = {97, 98, 99};
  ondine_value* tokens = NULL;
  char* text = NULL;
  void* data = NULL;
  size_t count = 0, length = 0;
  OK(ondine_generator_encode(generator, "abc", 3, &tokens));
  OK(ondine_tensor_info(tokens, NULL, NULL, NULL, &count, NULL));
  OK(ondine_tensor_data(tokens, &data));
  CHECK(count == 3 && memcmp(data, ids, sizeof(ids)) == 0);
  OK(ondine_generator_decode(generator, ids, 3, &text, &length));
  CHECK(length == 3);
  HAS(text, "abc");
  OK(ondine_generator_generate_after(generator, ids, 3, NULL, NULL, &text));
  HAS(text, "\"text\":\"defgh\",\"tokens\":[100,101,102,103,104],\"prompt_tokens\":3");
  FAIL(ondine_generator_decode(generator, NULL, 3, &text, NULL), ONDINE_MISMATCH, "tokens");
  ondine_value_free(tokens);
}

static void test_answers(const ondine_model* model) {
  static const ondine_option options[] = {{"temperature", "0"}, {"max-tokens", "2"}, NO_OPTION};
  static const ondine_message messages[2] = {{"system", "x"}, {"user", "a"}};
  static const ondine_message nobody[1] = {{NULL, "a"}};
  static const ondine_option chatml[] = {{"chat-template", "chatml"}, NO_OPTION};
  ondine_generator *plain = NULL, *chat = NULL;
  char* text = NULL;
  OK(ondine_generator_new(model, options, NULL, &plain));
  FAIL(ondine_generator_answer(plain, messages, 2, NULL, NULL, &text), ONDINE_MISMATCH,
       "no chat template");
  OK(ondine_generator_new(model, options, chatml, &chat));
  OK(ondine_generator_answer(chat, messages, 2, NULL, NULL, &text));
  HAS(text, "\"tokens\":[11,12]"); /* after the end of a line */
  FAIL(ondine_generator_answer(chat, nobody, 1, NULL, NULL, &text), ONDINE_MISMATCH, "role");
  FAIL(ondine_generator_answer(chat, NULL, 1, NULL, NULL, &text), ONDINE_MISMATCH, "messages");
  ondine_generator_free(plain);
  ondine_generator_free(chat);
}

static void test_generation(void) {
  static const ondine_option greedy[] = {{"temperature", "0"}, {"max-tokens", "5"}, NO_OPTION};
  static const ondine_option wrong[] = {{"temperature", "0"}, {"top-k", "3"}, NO_OPTION};
  static const ondine_option columns[] = {{"columns", "a"}, NO_OPTION};
  static const ondine_option unknown[] = {{"tokeniser", "a"}, NO_OPTION};
  struct heard heard = {"", 0, 3};
  ondine_model* model = NULL;
  ondine_generator* generator = NULL;
  char* text = NULL;
  OK(ondine_model_load(path("bytes.onnx"), NULL, &model));
  FAIL(ondine_generator_new(model, wrong, NULL, &generator), ONDINE_INVALID_OPTION, "top-k");
  FAIL(ondine_generator_new(model, NULL, columns, &generator), ONDINE_INVALID_OPTION,
       "columns has no effect");
  FAIL(ondine_generator_new(model, NULL, unknown, &generator), ONDINE_INVALID_OPTION, "tokenizer");
  CHECK(generator == NULL);
  OK(ondine_generator_new(model, greedy, NULL, &generator));
  test_answers(model);
  ondine_model_free(model); /* the generator keeps it */
  OK(ondine_generator_generate(generator, "a", 1, NULL, NULL, &text));
  HAS(text, "\"text\":\"bcdef\"");
  OK(ondine_generator_generate(generator, "a", 1, hear, &heard, &text));
  HAS(text, "\"end\":\"callback\"");
  CHECK(heard.length == 3 && memcmp(heard.text, "bcd", 3) == 0);
  OK(ondine_generator_generate(generator, "a", 1, NULL, NULL, NULL));
  FAIL(ondine_generator_generate(generator, NULL, 0, NULL, NULL, NULL), ONDINE_MISMATCH, "prompt");
  FAIL(ondine_generator_generate(generator, "\xff", 1, NULL, NULL, NULL), ONDINE_CORRUPT, "UTF-8");
  test_tokens(generator);
  ondine_generator_free(generator);
  FAIL(ondine_generator_generate(generator, "a", 1, NULL, NULL, NULL), ONDINE_MISMATCH,
       "generator");
}

static void test_import(void) {
  static const ondine_option both[] = {{"cache", "true"}, {"ids-only", "true"}, NO_OPTION};
  char* text = NULL;
  FAIL(ondine_import_hugging_face(path("none"), path("n.onnx"), NULL, &text), ONDINE_NOT_FOUND,
       "none");
  FAIL(ondine_import_hugging_face(path("none"), path("n.onnx"), both, &text), ONDINE_INVALID_OPTION,
       "ids-only");
  CHECK(text == NULL);
}

void test_language(void) {
  test_generation();
  test_import();
}

/* Trains the adapters of net.onnx and writes them. */
static void write_adapters(const char* folder) {
  static const ondine_option options[] = {{"loss", "softmax-cross-entropy"},
                                          {"lora", "1"},
                                          {"lora-targets", "w"},
                                          {"learning-rate", "0.5"},
                                          NO_OPTION};
  ondine_model* model = NULL;
  ondine_values* feeds = batch();
  char* text = NULL;
  int i;
  OK(ondine_prepare(path("net.onnx"), options, NULL, &model, NULL));
  OK(ondine_model_adapters(model, &text));
  HAS(text, "[{\"kind\":\"lora\",\"module\":\"w\",\"weight\":\"w\",\"scale\":");
  for (i = 0; i < 5; ++i) OK(ondine_model_train_step(model, feeds, 0, NULL, NULL));
  OK(ondine_model_save_adapters(model, folder));
  OK(ondine_model_initialize(model, 1));
  OK(ondine_model_load_adapters(model, folder));
  FAIL(ondine_model_load_adapters(model, path("none")), ONDINE_NOT_FOUND, "none");
  ondine_values_free(feeds);
  ondine_model_free(model);
}

void test_adapters(void) {
  ondine_adapter_folder folders[2] = {{NULL, 1, NULL}, {NULL, 0, "other"}};
  ondine_model *base = NULL, *made = NULL;
  ondine_values *feeds = NULL, *results = NULL;
  char* text = NULL;
  write_adapters(path("adapters"));
  OK(ondine_model_load(path("net.onnx"), NULL, &base));
  OK(ondine_model_adapters(base, &text));
  HAS(text, "[]");
  FAIL(ondine_model_save_adapters(base, path("none")), ONDINE_MISMATCH, "adapters");
  FAIL(ondine_model_with_adapters(base, folders, 2, NULL, &made), ONDINE_MISMATCH, "folder");
  folders[0].folder = folders[1].folder = path("adapters");
  OK(ondine_model_with_adapters(base, folders, 2, NULL, &made));
  OK(ondine_values_new(&feeds));
  OK(ondine_values_set_tensor(feeds, "image", ONDINE_FLOAT32, 2, image_dims, image));
  OK(ondine_model_infer(made, feeds, NULL, &results));
  ondine_values_free(results);
  OK(ondine_model_describe(made, &text));
  HAS(text, "\"adapter.other\"");
  ondine_values_free(feeds);
  ondine_model_free(base);
  ondine_model_free(made);
}

void test_privacy(void) {
  static const ondine_option options[] = {{"loss", "softmax-cross-entropy"},
                                          {"dp-clip", "0.5"},
                                          {"dp-noise", "1.5"},
                                          {"dp-batch", "4"},
                                          NO_OPTION};
  static const ondine_private_steps spent[2] = {{1.5, 0.01, 600}, {1.5, 0.01, 400}};
  static const ondine_private_steps together[1] = {{1.5, 0.01, 1000}};
  ondine_model* model = prepared();
  double clip = -1, noise = -1, epsilon = 0, same = 0;
  uint64_t size = 0;
  int is_private = -1;
  OK(ondine_model_privacy(model, &is_private, &clip, &noise, &size));
  CHECK(is_private == 0 && clip == -1 && noise == -1 && size == 0);
  ondine_model_free(model);
  OK(ondine_prepare(path("net.onnx"), options, NULL, &model, NULL));
  OK(ondine_model_privacy(model, &is_private, &clip, &noise, &size));
  CHECK(is_private == 1 && clip == 0.5 && noise == 1.5 && size == 4);
  OK(ondine_model_privacy(model, NULL, NULL, NULL, NULL));
  ondine_model_free(model);
  OK(ondine_privacy_epsilon(spent, 2, 1e-5, &epsilon));
  OK(ondine_privacy_epsilon(together, 1, 1e-5, &same));
  CHECK(epsilon > 0.1 && epsilon < 10 && fabs(epsilon - same) < 1e-9);
  OK(ondine_privacy_noise(epsilon, 1e-5, 0.01, 1000, &noise));
  CHECK(fabs(noise - 1.5) < 0.01);
  FAIL(ondine_privacy_epsilon(spent, 2, 2, &epsilon), ONDINE_MISMATCH, "delta");
  FAIL(ondine_privacy_epsilon(NULL, 2, 1e-5, &epsilon), ONDINE_MISMATCH, "spent");
}
