/* Fine-tunes a classifier: finetune NET.onnx DATA TUNED.onnx. DATA is what Dataset::open takes, for
   example a folder of images for each class. */
#include <ondine/c.h>
#include <stdio.h>

static int say_epoch(void* user, const char* report) {
  (void)user;
  printf("%s\n", report);
  return 0;
}

static ondine_error* finetune(const char* net, const char* place, const char* tuned) {
  ondine_model* model = NULL;
  ondine_dataset* data = NULL;
  ondine_trainer* trainer = NULL;
  ondine_error* error =
      ondine_prepare(net,
                     ONDINE_OPTIONS({"loss", "softmax-cross-entropy"}, {"optimizer", "adamw"},
                                    {"learning-rate", "1e-3"}),
                     NULL, &model, NULL);
  if (!error) {
    error = ondine_dataset_open(ONDINE_NAMES(place), model, ONDINE_FOR_TRAINING, NULL, &data);
  }
  if (!error) {
    error = ondine_trainer_new(
        model, ONDINE_OPTIONS({"epochs", "3"}, {"batch-size", "32"}, {"validation-split", "0.1"}),
        &trainer);
  }
  if (!error) error = ondine_trainer_on_epoch(trainer, say_epoch, NULL);
  if (!error) error = ondine_trainer_fit(trainer, data, NULL, NULL);
  if (!error) error = ondine_model_export_inference(model, tuned, NULL);
  ondine_trainer_free(trainer);
  ondine_dataset_free(data);
  ondine_model_free(model);
  return error;
}

int main(int count, char** arguments) {
  if (count != 4) {
    fprintf(stderr, "usage: %s NET.onnx DATA TUNED.onnx\n", arguments[0]);
    return 2;
  }
  ondine_error* error = finetune(arguments[1], arguments[2], arguments[3]);
  if (error) {
    fprintf(stderr, "%s\n", ondine_error_message(error));
    ondine_error_free(error);
    return 1;
  }
  return 0;
}
