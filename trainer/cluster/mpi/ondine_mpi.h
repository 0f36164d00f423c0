/* The functions of MPI that Ondine uses, free of the ABI of one MPI. Each shim library has them. */
#ifndef ONDINE_MPI_H
#define ONDINE_MPI_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Goes up with every change below. */
#define ONDINE_MPI_VERSION 1

/* Those that return int give 0, or 1 after writing a message of at most `room` bytes to `error`.
   Sizes are counts of bytes or elements and at most INT_MAX. */
struct ondine_mpi {
  int version;
  int (*start)(int* rank, int* size, char* error, size_t room);
  void (*describe)(char* text, size_t room);
  int (*all_gather)(const void* mine, void* all, size_t bytes, char* error, size_t room);
  int (*all_to_all)(const void* parts, void* received, size_t bytes, char* error, size_t room);
  int (*broadcast)(void* bytes, size_t count, int from, char* error, size_t room);
  int (*add_floats)(float* values, size_t count, char* error, size_t room);
  int (*add_doubles)(double* values, size_t count, char* error, size_t room);
  int (*barrier)(char* error, size_t room);
  void (*finish)(void);
  void (*abort)(int status);
};

const struct ondine_mpi* ondine_mpi_functions(void);

#ifdef __cplusplus
}
#endif
#endif
