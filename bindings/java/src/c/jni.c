/* Memory and callbacks for JniBackend: functions of C that call the methods of Callbacks. */
#include <jni.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
  TEXT,
  STEP,
  EPOCH,
  PROGRESS,
  WAITING,
  ROW,
  EXTERNAL,
  BEGIN,
  ADD,
  VALUE,
  FORGET,
  PIECE,
  COUNT
};

static const char* const names[COUNT] = {"text",    "step",  "epoch",    "progress",
                                         "waiting", "row",   "external", "begin",
                                         "add",     "value", "forget",   "piece"};
static const char* const types[COUNT] = {"(JJ)V",    "(JJ)I", "(JJ)I",  "(JD)I", "(J)I", "(JJJ)I",
                                         "(JJJJJ)I", "(J)V",  "(JJJ)I", "(JJ)I", "(J)V", "(JJJ)I"};
static JavaVM* machine;
static jclass callbacks;
static jmethodID methods[COUNT];
static pthread_key_t attached;

static void detach(void* machine_of_thread) {
  (*(JavaVM*)machine_of_thread)->DetachCurrentThread((JavaVM*)machine_of_thread);
}

/* Threads of the library are attached when they call first, until they end. */
static JNIEnv* environment(void) {
  JNIEnv* env = NULL;
  if ((*machine)->GetEnv(machine, (void**)&env, JNI_VERSION_1_8) == JNI_OK) return env;
  if ((*machine)->AttachCurrentThreadAsDaemon(machine, (void**)&env, NULL) != JNI_OK) return NULL;
  pthread_setspecific(attached, machine);
  return env;
}

/* The methods catch all; what comes nevertheless, such as a lack of memory, ends the call. */
static int failed(JNIEnv* env) {
  if (!(*env)->ExceptionCheck(env)) return 0;
  (*env)->ExceptionClear(env);
  return 1;
}

static int integer(int which, const jvalue* given) {
  JNIEnv* env = environment();
  if (env == NULL) return 1;
  const jint result = (*env)->CallStaticIntMethodA(env, callbacks, methods[which], given);
  return failed(env) ? 1 : result;
}

static void nothing(int which, const jvalue* given) {
  JNIEnv* env = environment();
  if (env == NULL) return;
  (*env)->CallStaticVoidMethodA(env, callbacks, methods[which], given);
  failed(env);
}

#define ADDRESS(pointer) \
  { .j = (jlong)(intptr_t)(pointer) }

static void text(void* user, const char* line) {
  const jvalue given[] = {ADDRESS(user), ADDRESS(line)};
  nothing(TEXT, given);
}
static int step(void* user, const char* report) {
  const jvalue given[] = {ADDRESS(user), ADDRESS(report)};
  return integer(STEP, given);
}
static int epoch(void* user, const char* report) {
  const jvalue given[] = {ADDRESS(user), ADDRESS(report)};
  return integer(EPOCH, given);
}
static int progress(void* user, double fraction) {
  const jvalue given[] = {ADDRESS(user), {.d = fraction}};
  return integer(PROGRESS, given);
}
static int waiting(void* user) {
  const jvalue given[] = {ADDRESS(user)};
  return integer(WAITING, given);
}
static int row(void* user, uint64_t index, void* const* entries) {
  const jvalue given[] = {ADDRESS(user), {.j = (jlong)index}, ADDRESS(entries)};
  return integer(ROW, given);
}
static int external(void* user, const char* location, uint64_t offset, uint64_t length,
                    void* bytes) {
  const jvalue given[] = {
      ADDRESS(user), ADDRESS(location), {.j = (jlong)offset}, {.j = (jlong)length}, ADDRESS(bytes)};
  return integer(EXTERNAL, given);
}
static void begin(void* user) {
  const jvalue given[] = {ADDRESS(user)};
  nothing(BEGIN, given);
}
static int add(void* user, const void* outputs, const void* batch) {
  const jvalue given[] = {ADDRESS(user), ADDRESS(outputs), ADDRESS(batch)};
  return integer(ADD, given);
}
static int value(void* user, double* result) {
  const jvalue given[] = {ADDRESS(user), ADDRESS(result)};
  return integer(VALUE, given);
}
static void forget(void* user) {
  const jvalue given[] = {ADDRESS(user)};
  nothing(FORGET, given);
}
static int piece(void* user, const char* part, size_t length) {
  const jvalue given[] = {ADDRESS(user), ADDRESS(part), {.j = (jlong)length}};
  return integer(PIECE, given);
}

JNIEXPORT void JNICALL Java_org_ondine_JniBackend_start(JNIEnv* env, jclass self, jclass given) {
  (void)self;
  (*env)->GetJavaVM(env, &machine);
  pthread_key_create(&attached, detach);
  callbacks = (*env)->NewGlobalRef(env, given);
  for (int i = 0; i < COUNT; ++i) {
    methods[i] = (*env)->GetStaticMethodID(env, given, names[i], types[i]);
    if (methods[i] == NULL) return; /* NoSuchMethodError is thrown */
  }
}

JNIEXPORT jlong JNICALL Java_org_ondine_JniBackend_callback(JNIEnv* env, jobject self, jint index) {
  (void)env;
  (void)self;
  const intptr_t functions[COUNT] = {(intptr_t)text,     (intptr_t)step,    (intptr_t)epoch,
                                     (intptr_t)progress, (intptr_t)waiting, (intptr_t)row,
                                     (intptr_t)external, (intptr_t)begin,   (intptr_t)add,
                                     (intptr_t)value,    (intptr_t)forget,  (intptr_t)piece};
  return functions[index];
}

JNIEXPORT jlong JNICALL Java_org_ondine_JniBackend_allocate(JNIEnv* env, jobject self, jlong size) {
  (void)env;
  (void)self;
  return (jlong)(intptr_t)calloc((size_t)size, 1);
}

JNIEXPORT void JNICALL Java_org_ondine_JniBackend_release(JNIEnv* env, jobject self,
                                                          jlong address) {
  (void)env;
  (void)self;
  free((void*)(intptr_t)address);
}

JNIEXPORT jlong JNICALL Java_org_ondine_JniBackend_length(JNIEnv* env, jobject self,
                                                          jlong address) {
  (void)env;
  (void)self;
  return (jlong)strlen((const char*)(intptr_t)address);
}

JNIEXPORT jobject JNICALL Java_org_ondine_JniBackend_view(JNIEnv* env, jobject self, jlong address,
                                                          jint size) {
  (void)self;
  return (*env)->NewDirectByteBuffer(env, (void*)(intptr_t)address, size);
}

JNIEXPORT jlong JNICALL Java_org_ondine_JniBackend_address(JNIEnv* env, jobject self,
                                                           jobject buffer) {
  (void)self;
  return (jlong)(intptr_t)(*env)->GetDirectBufferAddress(env, buffer);
}
