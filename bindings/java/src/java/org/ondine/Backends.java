package org.ondine;

import java.nio.file.Path;

/** For Java before 22: JNI. The archive has another class of this name for Java 22 and later. */
final class Backends {
  private Backends() {}

  static Backend open(Path folder) {
    return new JniBackend(folder);
  }
}
