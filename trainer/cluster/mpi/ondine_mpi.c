/* Compiled once for each MPI, since their ABIs differ; the library opens the one that fits. */
#include "ondine_mpi.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int report(int code, char* error, size_t room) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (code == MPI_SUCCESS) return 0;
  MPI_Error_string(code, text, &length);
  snprintf(error, room, "%s", text);
  return 1;
}

static int start(int* rank, int* size, char* error, size_t room) {
  int started = 0;
  int provided = 0;
  int code = MPI_Initialized(&started);
  if (code == MPI_SUCCESS && !started) {
    code = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);
    if (code == MPI_SUCCESS && provided < MPI_THREAD_SERIALIZED) {
      snprintf(error, room, "%s", "it was built without threads (MPI_THREAD_SERIALIZED)");
      return 1;
    }
  }
  if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (code == MPI_SUCCESS) code = MPI_Comm_rank(MPI_COMM_WORLD, rank);
  if (code == MPI_SUCCESS) code = MPI_Comm_size(MPI_COMM_WORLD, size);
  return report(code, error, room);
}

static void describe(char* text, size_t room) {
  static char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  if (MPI_Get_library_version(version, &length) != MPI_SUCCESS) version[0] = '\0';
  version[strcspn(version, "\n,")] = '\0';
  snprintf(text, room, "%s", version);
}

static int all_gather(const void* mine, void* all, size_t bytes, char* error, size_t room) {
  const int count = (int)bytes;
  return report(MPI_Allgather(mine, count, MPI_BYTE, all, count, MPI_BYTE, MPI_COMM_WORLD), error,
                room);
}

static int all_to_all(const void* parts, void* received, size_t bytes, char* error, size_t room) {
  const int count = (int)bytes;
  return report(MPI_Alltoall(parts, count, MPI_BYTE, received, count, MPI_BYTE, MPI_COMM_WORLD),
                error, room);
}

static int broadcast(void* bytes, size_t count, int from, char* error, size_t room) {
  return report(MPI_Bcast(bytes, (int)count, MPI_BYTE, from, MPI_COMM_WORLD), error, room);
}

static int add(void* values, size_t count, MPI_Datatype type, char* error, size_t room) {
  return report(MPI_Allreduce(MPI_IN_PLACE, values, (int)count, type, MPI_SUM, MPI_COMM_WORLD),
                error, room);
}

static int add_floats(float* values, size_t count, char* error, size_t room) {
  return add(values, count, MPI_FLOAT, error, room);
}

static int add_doubles(double* values, size_t count, char* error, size_t room) {
  return add(values, count, MPI_DOUBLE, error, room);
}

static int barrier(char* error, size_t room) {
  return report(MPI_Barrier(MPI_COMM_WORLD), error, room);
}

static void finish(void) {
  int finished = 1;
  if (MPI_Finalized(&finished) == MPI_SUCCESS && !finished) MPI_Finalize();
}

static void abort_all(int status) { MPI_Abort(MPI_COMM_WORLD, status); }

static const struct ondine_mpi functions = {
    ONDINE_MPI_VERSION, start,       describe, all_gather, all_to_all, broadcast,
    add_floats,         add_doubles, barrier,  finish,     abort_all};

__attribute__((visibility("default"))) const struct ondine_mpi* ondine_mpi_functions(void) {
  return &functions;
}
