/* reference MODEL DATA BATCH [DIM...]: trains a model by <ondine/c.h> of this machine and prints
   the loss of every step, for tests of other builds. DATA: for each step BATCH labels as int64,
   then BATCH images of dims DIM as float32; - for standard input. */
#include <ondine/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_DIMS 4

static int finish(ondine_error* error) {
  if (error == NULL) return 0;
  fprintf(stderr, "%s\n", ondine_error_message(error));
  ondine_error_free(error);
  return 1;
}

static ondine_error* step(ondine_model* model, size_t rank, const int64_t* dims,
                          const float* images, const int64_t* labels, double* loss) {
  ondine_values* feeds = NULL;
  ondine_values* results = NULL;
  ondine_error* error = ondine_values_new(&feeds);
  if (!error) error = ondine_values_set_tensor(feeds, "image", ONDINE_FLOAT32, rank, dims, images);
  if (!error) error = ondine_values_set_tensor(feeds, "label", ONDINE_INT64, 1, dims, labels);
  if (!error) error = ondine_model_train_step(model, feeds, 0, NULL, &results);
  if (!error) error = ondine_values_scalar(results, "loss", loss);
  ondine_values_free(results);
  ondine_values_free(feeds);
  return error;
}

int main(int count, char** arguments) {
  int64_t dims[MOST_DIMS];
  size_t rank = 0, row = 1;
  ondine_model* model = NULL;
  ondine_error* error = NULL;
  FILE* data = NULL;
  if (count < 4 || count - 3 > MOST_DIMS) return 2;
  data = strcmp(arguments[2], "-") == 0 ? stdin : fopen(arguments[2], "rb");
  if (data == NULL) return 2;
  for (int i = 3; i < count; ++i) dims[rank++] = strtol(arguments[i], NULL, 10);
  for (size_t i = 1; i < rank; ++i) row *= (size_t)dims[i];
  const size_t batch = (size_t)dims[0];
  float* images = malloc(batch * row * sizeof(float));
  int64_t* labels = malloc(batch * sizeof(int64_t));
  if (images == NULL || labels == NULL) return 2;
  error = ondine_model_load(arguments[1], NULL, &model);
  while (!error && fread(labels, sizeof(int64_t), batch, data) == batch &&
         fread(images, sizeof(float), batch * row, data) == batch * row) {
    double loss = 0;
    error = step(model, rank, dims, images, labels, &loss);
    if (!error) printf("%.9g\n", loss);
  }
  ondine_model_free(model);
  free(images);
  free(labels);
  fclose(data);
  return finish(error);
}
