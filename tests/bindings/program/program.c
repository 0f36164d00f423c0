/* A program that uses all of <ondine/c.h>, in the common part of C99 and C++: program FOLDER, which
   holds the models that models.cpp writes. Says what failed and returns 1. */
#include <stdio.h>

#include "checks.h"

int main(int count, char** arguments) {
  if (count != 2) return 2;
  set_folder(arguments[1]);
  test_steps();
  test_gradients_and_rates();
  test_state_and_files();
  test_rows();
  test_training();
  test_finetune();
  test_federated();
  test_language();
  test_adapters();
  test_privacy();
  test_values();
  test_dlpack();
  test_stopping();
  test_descriptions();
  test_mistakes();
  CHECK(ondine_live_handles() == 0);
  if (failures == 0) printf("ok\n");
  return failures == 0 ? 0 : 1;
}
