/* Stopping calls, settings and descriptions of models. */
#include <string.h>

#include "checks.h"

static int cancel_it(void* user, double fraction) {
  CHECK(fraction >= 0 && fraction <= 1);
  return *(int*)user;
}

void test_stopping(void) {
  ondine_model* model = prepared();
  ondine_values* feeds = batch();
  ondine_cancel* cancel = NULL;
  int ends = 1;
  uint64_t steps = 7;
  OK(ondine_cancel_new(&cancel));
  OK(ondine_model_set_cancel(model, cancel));
  OK(ondine_cancel_request(cancel));
  FAIL(ondine_model_train_step(model, feeds, 0, NULL, NULL), ONDINE_CANCELLED, "");
  OK(ondine_cancel_reset(cancel));
  ondine_cancel_free(cancel);
  OK(ondine_model_set_progress(model, cancel_it, &ends));
  FAIL(ondine_model_train_step(model, feeds, 0, NULL, NULL), ONDINE_CANCELLED, "");
  OK(ondine_model_steps(model, &steps));
  CHECK(steps == 0);
  OK(ondine_model_set_progress(model, NULL, NULL));
  OK(ondine_model_set_cancel(model, NULL));
  OK(ondine_model_set_deadline(model, 100000));
  OK(ondine_model_set_threads(model, 2));
  OK(ondine_model_train_step(model, feeds, 0, NULL, NULL));
  OK(ondine_model_set_deadline(model, -1));
  ondine_values_free(feeds);
  ondine_model_free(model);
}

static void warn(void* user, const char* text) {
  (void)text;
  ++*(int*)user;
}

void test_descriptions(void) {
  ondine_model* model = prepared();
  ondine_values* feeds = batch();
  char* text = NULL;
  int warnings = 0;
  OK(ondine_model_describe(model, &text));
  HAS(text, "\"name\":\"image\",\"type\":\"tensor(float)[N, 4]\",\"dtype\":1,\"dims\":[-1,4]");
  OK(ondine_model_inspect(model, "optimized", 0, &text));
  HAS(text, "Gemm");
  OK(ondine_model_plan(model, feeds, 0, NULL, &text));
  HAS(text, "\"arena_bytes\":");
  OK(ondine_model_set_profiling(model, 1));
  OK(ondine_model_train_step(model, feeds, 0, NULL, NULL));
  OK(ondine_model_profile(model, &text));
  HAS(text, "\"calls\":1");
  OK(ondine_model_set_warning_callback(model, warn, &warnings));
  CHECK(warnings == 0);
  OK(ondine_check(path("net.onnx"), NULL, &text));
  HAS(text, "[]");
  OK(ondine_options_json(&text));
  HAS(text, "\"learning-rate\"");
  CHECK(ondine_abi_version() == ONDINE_ABI_VERSION && strlen(ondine_version()) >= 5);
  FAIL(ondine_model_take_averages(model), ONDINE_MISMATCH, "average");
  ondine_values_free(feeds);
  ondine_model_free(model);
}
