/* Tensors and other values. */
#include <dlpack/dlpack.h>
#include <string.h>

#include "checks.h"

static int released = 0;
static void release(void* user) {
  CHECK(user == &released);
  ++released;
}

void test_values(void) {
  static const int64_t two[1] = {2};
  static const char* const words[2] = {"a\0b", "cd"};
  static const size_t lengths[2] = {3, 2};
  const ondine_value* pair[2];
  float numbers[2] = {1, 2};
  int64_t numbered[2] = {5, 6};
  ondine_value *tensor = NULL, *strings = NULL, *keys = NULL, *list = NULL, *map = NULL;
  ondine_value *some = NULL, *sparse = NULL, *element = NULL;
  const char* text = NULL;
  size_t length = 0, count = 0;
  int kind = 0;
  OK(ondine_tensor_wrap(ONDINE_FLOAT32, 1, two, numbers, release, &released, &tensor));
  OK(ondine_tensor_strings(1, two, words, lengths, &strings));
  OK(ondine_tensor_string(strings, 0, &text, &length));
  CHECK(length == 3 && memcmp(text, "a\0b", 3) == 0);
  FAIL(ondine_tensor_string(strings, 2, &text, &length), ONDINE_NOT_FOUND, "no element 2");
  FAIL(ondine_tensor_data(strings, (void**)&numbers), ONDINE_MISMATCH, "strings are read by");
  OK(ondine_tensor_new(ONDINE_INT64, 1, two, numbered, &keys));
  pair[0] = tensor;
  pair[1] = strings;
  OK(ondine_value_sequence(pair, 2, &list));
  OK(ondine_value_map(keys, pair, 2, &map));
  OK(ondine_value_optional(NULL, &some));
  OK(ondine_value_count(some, &count));
  CHECK(count == 0);
  ondine_value_free(some);
  OK(ondine_value_optional(tensor, &some));
  OK(ondine_value_kind(some, &kind));
  CHECK(kind == ONDINE_OPTIONAL);
  OK(ondine_value_sparse(tensor, keys, 1, two, &sparse));
  OK(ondine_value_kind(sparse, &kind));
  CHECK(kind == ONDINE_SPARSE_TENSOR);
  OK(ondine_value_element(list, 1, &element));
  OK(ondine_value_kind(element, &kind));
  CHECK(kind == ONDINE_TENSOR);
  ondine_value_free(element);
  FAIL(ondine_value_element(list, 2, &element), ONDINE_NOT_FOUND, "there is no element 2");
  FAIL(ondine_value_map(keys, pair, 1, &element), ONDINE_MISMATCH, "2 keys has 1 elements");
  OK(ondine_value_keys(map, &element));
  ondine_value_free(element);
  ondine_value_free(tensor);
  CHECK(released == 0);
  ondine_value_free(list);
  ondine_value_free(map);
  ondine_value_free(some);
  ondine_value_free(sparse);
  CHECK(released == 1);
  ondine_value_free(strings);
  ondine_value_free(keys);
}

void test_dlpack(void) {
  static const int64_t dims[2] = {2, 3};
  int64_t flipped[2] = {3, 2};
  int64_t strides[2] = {1, 3};
  float numbers[6] = {1, 2, 3, 4, 5, 6};
  ondine_value *tensor = NULL, *copy = NULL;
  DLManagedTensor* given = NULL;
  void* data = NULL;
  OK(ondine_tensor_new(ONDINE_FLOAT32, 2, dims, numbers, &tensor));
  OK(ondine_tensor_data(tensor, &data));
  OK(ondine_tensor_to_dlpack(tensor, &given));
  CHECK(given->dl_tensor.data == data && given->dl_tensor.ndim == 2);
  CHECK(given->dl_tensor.strides[0] == 3 && given->dl_tensor.strides[1] == 1);
  ondine_value_free(tensor);
  OK(ondine_tensor_from_dlpack(given, 0, &tensor)); /* its deleter is called with the tensor */
  OK(ondine_tensor_to_dlpack(tensor, &given));
  ondine_value_free(tensor);
  given->dl_tensor.shape = flipped; /* the transpose, which is not in order */
  given->dl_tensor.strides = strides;
  FAIL(ondine_tensor_from_dlpack(given, 0, &copy), ONDINE_MISMATCH, "not in row-major order");
  OK(ondine_tensor_from_dlpack(given, 1, &copy));
  OK(ondine_tensor_data(copy, &data));
  CHECK(((float*)data)[0] == 1 && ((float*)data)[1] == 4 && ((float*)data)[2] == 2);
  ondine_value_free(copy);
}
