package org.ondine;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The native library: of the folder that the property ondine.library.path names, else that of the
 * archive, which is copied to a temporary folder.
 */
final class Library {
  static final String JNI = "libondine_jni.so";
  static final String ENGINE = "libondine.so";
  static final Backend BACKEND;
  static final Calls CALLS;

  static {
    Path folder = folder();
    System.load(folder.resolve(ENGINE).toString());
    BACKEND = Backends.open(folder);
    CALLS = BACKEND.calls();
    if (CALLS.ondine_abi_version() < 1) throw new UnsatisfiedLinkError(ENGINE + " is too old");
  }

  private Library() {}

  private static Path folder() {
    String given = System.getProperty("ondine.library.path");
    if (given != null) return Path.of(given).toAbsolutePath();
    String place = "/native/" + System.getProperty("os.name").toLowerCase(java.util.Locale.ROOT) + "-"
        + System.getProperty("os.arch") + "/";
    try {
      Path folder = Files.createTempDirectory("ondine");
      folder.toFile().deleteOnExit();
      for (String name : new String[] {ENGINE, JNI}) {
        Path file = folder.resolve(name);
        try (InputStream bytes = Library.class.getResourceAsStream(place + name)) {
          if (bytes == null) {
            throw new UnsatisfiedLinkError("the archive has no " + place + name
                + ": the property ondine.library.path may name a folder that has it");
          }
          Files.copy(bytes, file);
        }
        file.toFile().deleteOnExit();
      }
      return folder;
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  static ByteBuffer view(long address, int size) {
    return BACKEND.view(address, size).order(ByteOrder.nativeOrder());
  }

  /** Null for 0. */
  static String text(long address) {
    return address == 0 ? null : text(address, BACKEND.length(address));
  }

  static String text(long address, long length) {
    byte[] bytes = new byte[Math.toIntExact(length)];
    if (bytes.length > 0) view(address, bytes.length).get(bytes);
    return new String(bytes, StandardCharsets.UTF_8);
  }

  /** A text that the library gave. */
  static String takeText(long address) {
    try {
      return text(address);
    } finally {
      CALLS.ondine_free(address);
    }
  }
}
