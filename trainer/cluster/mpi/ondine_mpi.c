/* Compiled once for each MPI, since their ABIs differ; the library opens the one that fits. */
#define _POSIX_C_SOURCE 200809L

#include "ondine_mpi.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

/* Ends a call that was begun. MPI waits by asking again and again, which takes a core from who
   computes; after 100 us this waits by sleeping between two questions. */
static int wait_for(int code, MPI_Request* request, char* error, size_t room) {
  const struct timespec pause = {0, 20000};
  struct timespec start, now;
  int done = 0;
  clock_gettime(CLOCK_MONOTONIC, &start);
  while (code == MPI_SUCCESS) {
    code = MPI_Test(request, &done, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS || done) break;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec != start.tv_sec || now.tv_nsec - start.tv_nsec > 100000) nanosleep(&pause, NULL);
  }
  return report(code, error, room);
}

static int all_gather(const void* mine, void* all, size_t bytes, char* error, size_t room) {
  const int count = (int)bytes;
  MPI_Request request;
  return wait_for(
      MPI_Iallgather(mine, count, MPI_BYTE, all, count, MPI_BYTE, MPI_COMM_WORLD, &request),
      &request, error, room);
}

static int all_to_all(const void* parts, void* received, size_t bytes, char* error, size_t room) {
  const int count = (int)bytes;
  MPI_Request request;
  return wait_for(
      MPI_Ialltoall(parts, count, MPI_BYTE, received, count, MPI_BYTE, MPI_COMM_WORLD, &request),
      &request, error, room);
}

static int broadcast(void* bytes, size_t count, int from, char* error, size_t room) {
  MPI_Request request;
  return wait_for(MPI_Ibcast(bytes, (int)count, MPI_BYTE, from, MPI_COMM_WORLD, &request), &request,
                  error, room);
}

static int add(void* values, size_t count, MPI_Datatype type, char* error, size_t room) {
  MPI_Request request;
  return wait_for(
      MPI_Iallreduce(MPI_IN_PLACE, values, (int)count, type, MPI_SUM, MPI_COMM_WORLD, &request),
      &request, error, room);
}

static int add_floats(float* values, size_t count, char* error, size_t room) {
  return add(values, count, MPI_FLOAT, error, room);
}

static int add_doubles(double* values, size_t count, char* error, size_t room) {
  return add(values, count, MPI_DOUBLE, error, room);
}

static int barrier(char* error, size_t room) {
  MPI_Request request;
  return wait_for(MPI_Ibarrier(MPI_COMM_WORLD, &request), &request, error, room);
}

/* MPI_Finalize of MPICH before 4.2 over UCX may never return: a rank whose connections are closed
   waits for the process manager and no longer serves the others, whose connections then do not
   close (pmodels/mpich, pull request 6596). It is so where ranks talk over a network. The manager,
   Hydra, is then told of the end by a line of its own protocol (PMI 1), and the process ends
   without MPI_Finalize. Gives 1 where that was done. */
static int end_without_finalize(void) {
  static char version[MPI_MAX_LIBRARY_VERSION_STRING];
  static const char line[] = "cmd=finalize\n";
  const char* manager = getenv("HYDI_CONTROL_FD");
  const char* connection = getenv("PMI_FD");
  const char* local = getenv("MPI_LOCALNRANKS");
  char answer[256];
  int length = 0, major = 0, minor = 0, size = 0, place = 0;
  if (manager == NULL || connection == NULL || local == NULL) return 0;
  if (MPI_Get_library_version(version, &length) != MPI_SUCCESS) return 0;
  if (strstr(version, "ch4:ucx") == NULL) return 0;
  if (sscanf(version, "MPICH Version: %d.%d", &major, &minor) != 2) return 0;
  if (major > 4 || (major == 4 && minor >= 2)) return 0;
  if (MPI_Comm_size(MPI_COMM_WORLD, &size) != MPI_SUCCESS) return 0;
  if (atoi(local) == size && getenv("MPIR_CVAR_NOLOCAL") == NULL) return 0;
  if (MPI_Barrier(MPI_COMM_WORLD) != MPI_SUCCESS) return 0;
  place = atoi(connection);
  if (write(place, line, sizeof line - 1) != (ssize_t)sizeof line - 1) return 0;
  return read(place, answer, sizeof answer) > 0;
}

static void finish(void) {
  int finished = 1;
  if (MPI_Finalized(&finished) != MPI_SUCCESS || finished) return;
  if (!end_without_finalize()) MPI_Finalize();
}

static void abort_all(int status) { MPI_Abort(MPI_COMM_WORLD, status); }

static const struct ondine_mpi functions = {
    ONDINE_MPI_VERSION, start,       describe, all_gather, all_to_all, broadcast,
    add_floats,         add_doubles, barrier,  finish,     abort_all};

__attribute__((visibility("default"))) const struct ondine_mpi* ondine_mpi_functions(void) {
  return &functions;
}
