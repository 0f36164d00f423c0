/* Data sets, the training loop and evaluation. */
#include "checks.h"

static int said = 0;
static int say(void* user, const char* report) {
  CHECK(user == &said && report[0] == '{');
  ++said;
  return 0;
}
/* A step beside those of the trainer would change its numbers. */
struct beside {
  ondine_model* model;
  ondine_values* feeds;
  int refused;
};
static int step_beside(void* user, const char* report) {
  struct beside* beside = (struct beside*)user;
  (void)report;
  FAIL(ondine_model_train_step(beside->model, beside->feeds, 0, NULL, NULL), ONDINE_MISMATCH,
       "a trainer runs on the model");
  FAIL(ondine_model_initialize(beside->model, 1), ONDINE_MISMATCH, "a trainer runs on the model");
  OK(ondine_model_set_learning_rate(beside->model, 0, 0.25F));
  ++beside->refused;
  return 1;
}

static int stop_at_three(void* user, const char* report) {
  (void)report;
  return ++*(int*)user == 3;
}

static int measured = 0;
static void begin(void* user) { *(double*)user = 0; }
static int add(void* user, const ondine_values* outputs, const ondine_values* given) {
  ondine_value* logits = NULL;
  size_t count = 0, elements = 0;
  OK(ondine_values_get(outputs, "logits", &logits));
  OK(ondine_tensor_info(logits, NULL, NULL, NULL, &elements, NULL));
  OK(ondine_values_count(given, &count));
  CHECK(count >= 2);
  ondine_value_free(logits);
  *(double*)user += (double)elements;
  ++measured;
  return 0;
}
static int value(void* user, double* number) {
  *number = *(double*)user;
  return 0;
}
static int fails(void* user, double* number) {
  (void)user;
  (void)number;
  return 3;
}

/* Row r is the unit vector r % 4 and the class r % 3; the last row fails. */
static int read_row(void* user, uint64_t row, void* const* entries) {
  ++*(int*)user;
  if (row == 5) return 9;
  ((float*)entries[0])[row % 4] = 1;
  *(int64_t*)entries[1] = (int64_t)(row % 3);
  return 0;
}

static void release_rows(void* user) { *(int*)user = -1; }

void test_rows(void) {
  static const int64_t four[1] = {4};
  ondine_column columns[2] = {{"image", ONDINE_FLOAT32, 1, NULL}, {"label", ONDINE_INT64, 0, NULL}};
  ondine_model* model = prepared();
  ondine_dataset* data = NULL;
  ondine_batches* batches = NULL;
  ondine_values* one = NULL;
  ondine_value* label = NULL;
  void* numbers = NULL;
  int reads = 0, i;
  columns[0].dims = four;
  OK(ondine_dataset_from_rows(columns, 2, 6, read_row, release_rows, &reads, NULL, &data));
  CHECK(reads == 0);
  OK(ondine_batches_new(data, 5, 1, 0, 0, model, 0, &batches));
  OK(ondine_batches_next(batches, &one));
  OK(ondine_values_get(one, "label", &label));
  OK(ondine_tensor_data(label, &numbers));
  for (i = 0; i < 5; ++i) CHECK(((int64_t*)numbers)[i] == i % 3);
  CHECK(reads == 5);
  OK(ondine_model_train_step(model, one, 0, NULL, NULL));
  ondine_value_free(label);
  ondine_values_free(one);
  FAIL(ondine_batches_next(batches, &one), ONDINE_CANCELLED, "the callback returned 9");
  columns[1].name = "image";
  FAIL(ondine_dataset_from_rows(columns, 2, 6, read_row, NULL, &reads, NULL, &data),
       ONDINE_MISMATCH, "column 'image' is there twice");
  ondine_dataset_free(data);
  CHECK(reads > 0);
  ondine_batches_free(batches);
  CHECK(reads == -1);
  ondine_model_free(model);
}

void test_training(void) {
  static const ondine_option options[] = {{"epochs", "4"}, {"batch-size", "2"}, {NULL, NULL}};
  ondine_metric metric = {"elements", begin, add, value, NULL};
  ondine_model* model = prepared();
  ondine_values* rows = batch();
  ondine_dataset* data = NULL;
  ondine_dataset *first = NULL, *second = NULL;
  ondine_trainer* trainer = NULL;
  ondine_batches* batches = NULL;
  ondine_values* one = NULL;
  uint64_t count = 0;
  double elements = 0;
  struct beside beside = {NULL, NULL, 0};
  int calls = 0, i;
  char* text = NULL;
  OK(ondine_dataset_from_values(rows, rows, NULL, &data));
  OK(ondine_dataset_rows(data, &count));
  CHECK(count == 4);
  OK(ondine_dataset_describe(data, &text));
  HAS(text, "\"class_counts\":[2,1,1]");
  OK(ondine_trainer_new(model, options, &trainer));
  OK(ondine_trainer_on_step(trainer, say, &said));
  OK(ondine_trainer_on_epoch(trainer, say, &said));
  OK(ondine_trainer_add_metric(trainer, &metric, &elements));
  FAIL(ondine_trainer_add_metric(trainer, &metric, &elements), ONDINE_MISMATCH,
       "there is a metric 'elements' already");
  OK(ondine_trainer_fit(trainer, data, NULL, &text));
  HAS(text, "{\"reason\":\"completed\",\"epochs\":4");
  CHECK(said == 12 && measured == 4);
  OK(ondine_trainer_evaluate(trainer, data, &text));
  HAS(text, "\"elements\":12");
  metric.name = "broken";
  metric.value = fails;
  OK(ondine_trainer_add_metric(trainer, &metric, &elements));
  FAIL(ondine_trainer_evaluate(trainer, data, &text), ONDINE_CANCELLED,
       "the metric 'broken' failed: its callback returned 3");
  ondine_trainer_free(trainer);
  OK(ondine_trainer_new(model, options, &trainer));
  OK(ondine_trainer_on_step(trainer, stop_at_three, &calls));
  OK(ondine_trainer_fit(trainer, data, data, &text));
  HAS(text, "\"reason\":\"requested\"");
  CHECK(calls == 3);
  ondine_trainer_free(trainer);
  beside.model = model;
  beside.feeds = rows;
  OK(ondine_trainer_new(model, options, &trainer));
  OK(ondine_trainer_on_step(trainer, step_beside, &beside));
  OK(ondine_trainer_fit(trainer, data, NULL, &text));
  HAS(text, "\"reason\":\"requested\"");
  CHECK(beside.refused == 1);
  OK(ondine_evaluate(model, data, NULL, &text));
  HAS(text, "\"accuracy\":");
  OK(ondine_dataset_split(data, 0.5, 1, &first, &second));
  OK(ondine_dataset_rows(second, &count));
  CHECK(count == 2);
  OK(ondine_batches_new(data, 3, 1, 0, 0, model, 0, &batches));
  OK(ondine_batches_count(batches, &count));
  CHECK(count == 2);
  for (i = 0; i < 2; ++i) {
    OK(ondine_batches_next(batches, &one));
    OK(ondine_model_train_step(model, one, 0, NULL, NULL));
    ondine_values_free(one);
  }
  OK(ondine_batches_next(batches, &one));
  CHECK(one == NULL);
  OK(ondine_batches_next(batches, &one));
  CHECK(one == NULL);
  ondine_batches_free(batches);
  ondine_dataset_free(first);
  ondine_dataset_free(second);
  OK(ondine_dataset_training(data, &first));
  OK(ondine_dataset_validation(data, &second));
  ondine_dataset_free(first);
  ondine_dataset_free(second);
  ondine_dataset_free(data);
  ondine_trainer_free(trainer);
  ondine_values_free(rows);
  ondine_model_free(model);
}
