/* Fine-tuning in one call, and new networks. */
#include <stdio.h>
#include <string.h>

#include "checks.h"

/* Sixty rows: unit vectors of four, and the class that the place of the 1 has, less one. */
static ondine_dataset* vectors(void) {
  static float images[60 * 4];
  static int64_t labels[60];
  static const int64_t wide[2] = {60, 4}, narrow[1] = {60};
  ondine_values* rows = NULL;
  ondine_dataset* data = NULL;
  int i;
  for (i = 0; i < 60; ++i) {
    images[4 * i + i % 3] = 1;
    labels[i] = i % 3;
  }
  OK(ondine_values_new(&rows));
  OK(ondine_values_set_tensor(rows, "image", ONDINE_FLOAT32, 2, wide, images));
  OK(ondine_values_set_tensor(rows, "label", ONDINE_INT64, 1, narrow, labels));
  OK(ondine_dataset_from_values(rows, NULL, NULL, &data));
  ondine_values_free(rows);
  return data;
}

/* Calls of each callback; the run ends in the step or epoch of this number. */
struct watch {
  int lines, steps, epochs, last_step, last_epoch;
};
static void hear(void* user, const char* line) {
  CHECK(line[0] != 0);
  ++((struct watch*)user)->lines;
}
static int step(void* user, const char* report) {
  struct watch* watch = (struct watch*)user;
  CHECK(strstr(report, "\"mean\":{") != NULL);
  return ++watch->steps == watch->last_step;
}
static int epoch(void* user, const char* report) {
  struct watch* watch = (struct watch*)user;
  CHECK(strstr(report, "\"validation\":{\"") != NULL);
  return ++watch->epochs == watch->last_epoch;
}

static void test_runs(ondine_dataset* data) {
  static const ondine_option options[] = {
      {"epochs", "20"}, {"learning-rate", "0.1"}, {"refit", "never"}, {NULL, NULL}};
  struct watch watch = {0, 0, 0, 0, 0};
  ondine_finetune_run run;
  ondine_model *tuned = NULL, *again = NULL;
  char* text = NULL;
  memset(&run, 0, sizeof(run));
  run.file = path("net.onnx");
  run.dataset = data;
  run.output = path("tuned.onnx");
  run.options = options;
  run.on_assumed = hear;
  run.on_step = step;
  run.on_epoch = epoch;
  run.user = &watch;
  OK(ondine_finetune(&run, &tuned, &text));
  CHECK(strstr(text, "{\"assumed\":[\"target 'label': 3 classes") != NULL);
  CHECK(strstr(text, "\"training_rows\":48,\"validation_rows\":12,") != NULL);
  CHECK(strstr(text, "\"evaluation\":{\"metrics\":{\"accuracy\":1.0,") != NULL);
  CHECK(strstr(text, "\"prepared\":{\"loss\":\"loss\"") != NULL);
  CHECK(strstr(text, "\"refit_rows\":0,\"metric\":\"accuracy\"") != NULL);
  HAS(text, "/tuned.onnx\"}");
  CHECK(watch.lines >= 2 && watch.lines <= 5 && watch.epochs == 20 && watch.steps == 60);
  OK(ondine_model_load(path("tuned.onnx"), NULL, &again));
  OK(ondine_evaluate(again, data, NULL, &text));
  HAS(text, "\"accuracy\":1.0");
  OK(ondine_evaluate(tuned, data, NULL, &text));
  HAS(text, "\"accuracy\":1.0");
  ondine_model_free(again);
  /* A model that trains already. */
  run.file = NULL;
  run.model = tuned;
  FAIL(ondine_finetune(&run, NULL, NULL), ONDINE_MISMATCH, "has training information already");
  ondine_model_free(tuned);
  FAIL(ondine_finetune(&run, NULL, NULL), ONDINE_MISMATCH, "the model was freed");
  /* One that was tuned before, with its present weights. */
  OK(ondine_model_load(path("tuned.onnx"), NULL, &again));
  run.model = again;
  run.output = NULL;
  OK(ondine_finetune(&run, NULL, &text));
  HAS(text, "\"output\":\"\"");
  ondine_model_free(again);
}

static void test_ends(ondine_dataset* data) {
  struct watch watch = {0, 0, 0, 0, 0};
  ondine_finetune_run run;
  char* text = NULL;
  FILE* file = NULL;
  memset(&run, 0, sizeof(run));
  run.file = path("net.onnx");
  run.dataset = data;
  run.validation = data;
  run.output = path("never.onnx");
  run.on_step = step;
  run.on_epoch = epoch;
  run.user = &watch;
  watch.last_step = 2;
  OK(ondine_finetune(&run, NULL, &text));
  HAS(text, "\"fit\":{\"reason\":\"requested\"");
  CHECK(watch.steps == 2 && watch.epochs == 0);
  watch.last_step = 0;
  watch.last_epoch = 1;
  run.on_step = NULL;
  OK(ondine_finetune(&run, NULL, &text));
  HAS(text, "\"fit\":{\"reason\":\"requested\"");
  CHECK(watch.epochs == 1);
  file = fopen(path("never.onnx"), "rb");
  CHECK(file == NULL);
}

static void test_refusals(ondine_dataset* data) {
  static const ondine_option useless[] = {{"huber-delta", "2"}, {NULL, NULL}};
  static const ondine_option target[] = {{"target", "price"}, {NULL, NULL}};
  static const char* const places[] = {"none.csv", NULL};
  ondine_finetune_run run;
  ondine_model* tuned = NULL;
  memset(&run, 0, sizeof(run));
  FAIL(ondine_finetune(NULL, &tuned, NULL), ONDINE_MISMATCH, "run is NULL");
  FAIL(ondine_finetune(&run, &tuned, NULL), ONDINE_MISMATCH, "there are no data");
  run.places = places;
  FAIL(ondine_finetune(&run, &tuned, NULL), ONDINE_NOT_FOUND, "none.csv");
  run.dataset = data;
  FAIL(ondine_finetune(&run, &tuned, NULL), ONDINE_MISMATCH, "places and dataset exclude each");
  run.places = NULL;
  run.data_options = target;
  FAIL(ondine_finetune(&run, &tuned, NULL), ONDINE_MISMATCH, "data_options have no effect");
  run.data_options = NULL;
  run.options = useless;
  FAIL(ondine_finetune(&run, &tuned, NULL), ONDINE_INVALID_OPTION, "huber-delta needs loss huber");
  run.options = NULL;
  run.file = "net.onnx";
  run.bytes = places;
  FAIL(ondine_finetune(&run, &tuned, NULL), ONDINE_MISMATCH, "file and bytes exclude each other");
  run.file = NULL;
  run.size = 3;
  FAIL(ondine_finetune(&run, &tuned, NULL), ONDINE_INVALID_MODEL, "");
  run.bytes = NULL;
  FAIL(ondine_finetune(&run, &tuned, NULL), ONDINE_MISMATCH, "bytes is NULL");
  run.size = 0;
  run.model = (const ondine_model*)data;
  FAIL(ondine_finetune(&run, &tuned, NULL), ONDINE_MISMATCH, "a model is needed");
  CHECK(tuned == NULL);
}

static void test_networks(ondine_dataset* data) {
  static const ondine_option options[] = {{"seed", "3"}, {NULL, NULL}};
  static const ondine_option brief[] = {{"epochs", "2"}, {NULL, NULL}};
  ondine_finetune_run run;
  ondine_model* model = NULL;
  void *bytes = NULL, *others = NULL;
  size_t size = 0, length = 0;
  char* text = NULL;
  OK(ondine_new_network(NULL, data, options, &bytes, &size, &text));
  HAS(text, "mlp");
  OK(ondine_new_network("mlp", data, NULL, &others, &length, NULL));
  CHECK(size == length && memcmp(bytes, others, size) != 0);
  ondine_free(others);
  memset(&run, 0, sizeof(run));
  run.bytes = bytes;
  run.size = size;
  run.dataset = data;
  run.options = brief;
  OK(ondine_finetune(&run, &model, &text));
  HAS(text, "\"network\":\"\"");
  ondine_free(bytes);
  ondine_model_free(model);
  run.bytes = NULL;
  run.size = 0;
  OK(ondine_finetune(&run, NULL, &text));
  HAS(text, "\"network\":\"mlp");
  bytes = NULL;
  FAIL(ondine_new_network("gan", data, NULL, &bytes, &size, NULL), ONDINE_MISMATCH, "mlp, cnn");
  FAIL(ondine_new_network("cnn", data, NULL, &bytes, &size, NULL), ONDINE_MISMATCH, "needs images");
  FAIL(ondine_new_network(NULL, NULL, NULL, &bytes, &size, NULL), ONDINE_MISMATCH, "is NULL");
  FAIL(ondine_new_network(NULL, data, NULL, NULL, &size, NULL), ONDINE_MISMATCH, "bytes is NULL");
  CHECK(bytes == NULL);
}

void test_finetune(void) {
  ondine_dataset* data = vectors();
  test_runs(data);
  test_ends(data);
  test_refusals(data);
  test_networks(data);
  ondine_dataset_free(data);
}
