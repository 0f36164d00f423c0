package org.ondine;

import java.nio.file.Path;

/** For Java 22 and later: java.lang.foreign, or JNI where the property ondine.jni is true. */
final class Backends {
  private Backends() {}

  static Backend open(Path folder) {
    if (Boolean.getBoolean("ondine.jni")) return new JniBackend(folder);
    return new ForeignCalls();
  }
}
