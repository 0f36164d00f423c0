package org.ondine;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Memory that a call is given. */
final class Scope implements AutoCloseable {
  private final List<Long> all = new ArrayList<>();

  long allocate(long size) {
    long made = Library.BACKEND.allocate(Math.max(size, 1));
    if (made == 0) throw new OndineException(Code.LIMIT, "there is no memory for " + size + " bytes");
    all.add(made);
    return made;
  }

  @Override
  public void close() {
    for (long one : all) Library.BACKEND.release(one);
  }

  /** A place that a call writes a number or an address of 8 bytes to. */
  long out() {
    return allocate(8);
  }

  static long at(long out) {
    return Library.view(out, 8).getLong(0);
  }

  long bytes(byte[] bytes) {
    long made = allocate(bytes.length);
    if (bytes.length > 0) Library.view(made, bytes.length).put(bytes);
    return made;
  }

  /** 0 for null. */
  long text(String text) {
    if (text == null) return 0;
    if (text.indexOf(0) >= 0) {
      throw OndineException.mismatch("a text has a NUL character: " + text.replace("\0", "\\0"));
    }
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    long made = allocate(bytes.length + 1L);
    if (bytes.length > 0) Library.view(made, bytes.length).put(bytes);
    return made;
  }

  long path(Path path) {
    return text(path == null ? null : path.toString());
  }

  /** Numbers of 8 bytes, and a zero. */
  long words(long... words) {
    long made = allocate(8L * words.length + 8);
    if (words.length > 0) Library.view(made, 8 * words.length).asLongBuffer().put(words);
    return made;
  }

  /** A list that ends with NULL; 0 for no names. */
  long names(List<String> names) {
    if (names.isEmpty()) return 0;
    return words(names.stream().mapToLong(name -> {
      if (name == null) throw OndineException.mismatch("a name is null");
      return text(name);
    }).toArray());
  }

  long options(Options options) {
    return options == null ? 0 : options.list(this);
  }
}
