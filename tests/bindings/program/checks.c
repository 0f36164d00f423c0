#include "checks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

int failures = 0;
static char folder[256];

void set_folder(const char* name) { snprintf(folder, sizeof(folder), "%s", name); }

const char* path(const char* name) {
  static char all[4][512];
  static int next = 0;
  next = (next + 1) % 4;
  snprintf(all[next], sizeof(all[next]), "%s/%s", folder, name);
  return all[next];
}

void check(int condition, const char* text, const char* file, int line) {
  if (condition) return;
  fprintf(stderr, "%s:%d: %s\n", file, line, text);
  ++failures;
}

void succeed(ondine_error* error, const char* file, int line) {
  if (error == NULL) return;
  fprintf(stderr, "%s:%d: %s: %s\n", file, line, ondine_code_name(ondine_error_code(error)),
          ondine_error_message(error));
  ondine_error_free(error);
  ++failures;
}

void fail(ondine_error* error, int code, const char* part, const char* file, int line) {
  if (ondine_error_code(error) != code || strstr(ondine_error_message(error), part) == NULL) {
    fprintf(stderr, "%s:%d: code %d, \"%s\" instead of code %d with \"%s\"\n", file, line,
            ondine_error_code(error), ondine_error_message(error), code, part);
    ++failures;
  }
  ondine_error_free(error);
}

void has(char* text, const char* part, const char* file, int line) {
  if (text == NULL || strstr(text, part) == NULL) {
    fprintf(stderr, "%s:%d: \"%s\" lacks \"%s\"\n", file, line, text == NULL ? "NULL" : text, part);
    ++failures;
  }
  ondine_free(text);
}

float image[16];
static int64_t label[4] = {0, 1, 2, 0};
const int64_t image_dims[2] = {4, 4};
const int64_t label_dims[1] = {4};

ondine_values* batch(void) {
  ondine_values* feeds = NULL;
  int i;
  for (i = 0; i < 16; ++i) image[i] = i % 5 == 0 ? 1.0F : 0.0F;
  OK(ondine_values_new(&feeds));
  OK(ondine_values_set_tensor(feeds, "image", ONDINE_FLOAT32, 2, image_dims, image));
  OK(ondine_values_set_tensor(feeds, "label", ONDINE_INT64, 1, label_dims, label));
  return feeds;
}

ondine_model* prepared(void) {
  static const ondine_option options[] = {{"loss", "softmax-cross-entropy"},
                                          {"optimizer", "sgd"},
                                          {"learning-rate", "0.5"},
                                          {"init", "keep"},
                                          {NULL, NULL}};
  ondine_model* model = NULL;
  char* report = NULL;
  OK(ondine_prepare(path("net.onnx"), options, NULL, &model, &report));
  HAS(report, "\"trained\":[\"w\",\"b\"]");
  return model;
}

double scalar(ondine_values* results, const char* name) {
  double number = NAN;
  OK(ondine_values_scalar(results, name, &number));
  ondine_values_free(results);
  return number;
}
