package org.ondine;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;

/**
 * A report of the library, or a part of one: JSON. {@code docs/c.md} of the project names the
 * members; more may be added.
 */
public final class Report {
  private final String json;
  private final Object value; // a Map, List, String, Double, Boolean or null

  Report(String json) {
    this(json, json == null ? null : new Reader(json).all());
  }

  private Report(String json, Object value) {
    this.json = json;
    this.value = value;
  }

  /** A member, or a member of one; a report that is null where there is none. */
  public Report get(String... members) {
    Object found = value;
    for (String one : members) found = found instanceof Map<?, ?> map ? map.get(one) : null;
    return new Report(null, found);
  }

  public boolean isNull() {
    return value == null;
  }

  /** The elements of a list; none of anything else. */
  public List<Report> list() {
    List<Report> made = new ArrayList<>();
    if (value instanceof List<?> list) list.forEach(one -> made.add(new Report(null, one)));
    return made;
  }

  /** A number, also one that is not finite. */
  public OptionalDouble number() {
    if (value instanceof Double number) return OptionalDouble.of(number);
    if ("nan".equals(value)) return OptionalDouble.of(Double.NaN);
    if ("inf".equals(value)) return OptionalDouble.of(Double.POSITIVE_INFINITY);
    if ("-inf".equals(value)) return OptionalDouble.of(Double.NEGATIVE_INFINITY);
    return OptionalDouble.empty();
  }

  /** A text, or null. */
  public String text() {
    return value instanceof String text ? text : null;
  }

  /** Whether it is true. */
  public boolean isTrue() {
    return Boolean.TRUE.equals(value);
  }

  /** As JSON. */
  @Override
  public String toString() {
    if (json != null) return json;
    StringBuilder out = new StringBuilder();
    write(value, out);
    return out.toString();
  }

  private static void write(Object value, StringBuilder out) {
    if (value instanceof String text) {
      writeText(text, out);
    } else if (value instanceof Double number && number == Math.rint(number)
        && Math.abs(number) < 1e15) {
      out.append(number.longValue());
    } else if (value instanceof List<?> list) {
      String before = "[";
      for (Object one : list) {
        out.append(before);
        write(one, out);
        before = ",";
      }
      out.append(list.isEmpty() ? "[]" : "]");
    } else if (value instanceof Map<?, ?> map) {
      String before = "{";
      for (Map.Entry<?, ?> one : map.entrySet()) {
        out.append(before);
        writeText((String) one.getKey(), out);
        out.append(':');
        write(one.getValue(), out);
        before = ",";
      }
      out.append(map.isEmpty() ? "{}" : "}");
    } else {
      out.append(value);
    }
  }

  private static void writeText(String text, StringBuilder out) {
    out.append('"');
    for (char c : text.toCharArray()) {
      if (c == '"' || c == '\\') {
        out.append('\\').append(c);
      } else if (c < ' ') {
        out.append(String.format("\\u%04x", (int) c));
      } else {
        out.append(c);
      }
    }
    out.append('"');
  }

  private static final class Reader {
    private final String text;
    private int at;

    Reader(String text) {
      this.text = text;
    }

    Object all() {
      Object made = value();
      if (peek() != 0) throw bad();
      return made;
    }

    private IllegalArgumentException bad() {
      return new IllegalArgumentException("no JSON from character " + at + " on: " + text);
    }

    /** The next character that is no space, or 0. */
    private char peek() {
      while (at < text.length() && text.charAt(at) <= ' ') ++at;
      return at < text.length() ? text.charAt(at) : 0;
    }

    private boolean eat(String token) {
      peek();
      boolean found = text.startsWith(token, at);
      if (found) at += token.length();
      return found;
    }

    private void need(String token) {
      if (!eat(token)) throw bad();
    }

    private Object value() {
      if (eat("null")) return null;
      if (eat("true")) return true;
      if (eat("false")) return false;
      return switch (peek()) {
        case '{' -> object();
        case '[' -> list();
        case '"' -> string();
        default -> number();
      };
    }

    private Map<String, Object> object() {
      Map<String, Object> made = new LinkedHashMap<>();
      need("{");
      while (!eat("}")) {
        if (!made.isEmpty()) need(",");
        peek();
        String name = string();
        need(":");
        made.put(name, value());
      }
      return made;
    }

    private List<Object> list() {
      List<Object> made = new ArrayList<>();
      need("[");
      while (!eat("]")) {
        if (!made.isEmpty()) need(",");
        made.add(value());
      }
      return made;
    }

    private Double number() {
      int end = at;
      while (end < text.length() && "+-.eE0123456789".indexOf(text.charAt(end)) >= 0) ++end;
      try {
        Double made = Double.valueOf(text.substring(at, end));
        at = end;
        return made;
      } catch (NumberFormatException other) {
        throw bad();
      }
    }

    private String string() {
      need("\"");
      StringBuilder made = new StringBuilder();
      while (at < text.length()) {
        char c = text.charAt(at++);
        if (c == '"') return made.toString();
        made.append(c == '\\' ? escaped() : c);
      }
      throw bad();
    }

    private char escaped() {
      if (at == text.length()) throw bad();
      char c = text.charAt(at++);
      return switch (c) {
        case 'n' -> '\n';
        case 't' -> '\t';
        case 'r' -> '\r';
        case 'b' -> '\b';
        case 'f' -> '\f';
        case 'u' -> {
          if (at + 4 > text.length()) throw bad();
          at += 4;
          yield (char) Integer.parseInt(text, at - 4, at, 16);
        }
        default -> c;
      };
    }
  }
}
