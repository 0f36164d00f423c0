package org.ondine;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A tensor, sequence, map, optional or sparse tensor. Its elements do not change. What reads it takes
 * copies.
 */
public final class Value extends Handle {
  private static final int CHUNK = 1 << 30; // bytes that one buffer takes

  Value(long address) {
    super(address, made -> Library.CALLS.ondine_value_free(made));
  }

  /** Waits for what reads the elements. */
  @Override
  public synchronized void close() {
    super.close();
  }

  // ---- tensors ----

  /** A tensor of these elements, in row-major order; without dims it has one axis. */
  public static Value of(float[] elements, long... dims) {
    return filled(DType.FLOAT32, elements.length, 4, dims,
        (bytes, from, count) -> bytes.asFloatBuffer().put(elements, from, count));
  }

  public static Value of(double[] elements, long... dims) {
    return filled(DType.FLOAT64, elements.length, 8, dims,
        (bytes, from, count) -> bytes.asDoubleBuffer().put(elements, from, count));
  }

  public static Value of(long[] elements, long... dims) {
    return filled(DType.INT64, elements.length, 8, dims,
        (bytes, from, count) -> bytes.asLongBuffer().put(elements, from, count));
  }

  public static Value of(int[] elements, long... dims) {
    return filled(DType.INT32, elements.length, 4, dims,
        (bytes, from, count) -> bytes.asIntBuffer().put(elements, from, count));
  }

  public static Value of(short[] elements, long... dims) {
    return filled(DType.INT16, elements.length, 2, dims,
        (bytes, from, count) -> bytes.asShortBuffer().put(elements, from, count));
  }

  public static Value of(byte[] elements, long... dims) {
    return filled(DType.INT8, elements.length, 1, dims,
        (bytes, from, count) -> bytes.put(elements, from, count));
  }

  public static Value of(boolean[] elements, long... dims) {
    return filled(DType.BOOL, elements.length, 1, dims, (bytes, from, count) -> {
      for (int i = 0; i < count; ++i) bytes.put((byte) (elements[from + i] ? 1 : 0));
    });
  }

  /** A tensor of texts; without dims it has one axis. */
  public static Value of(String[] texts, long... dims) {
    long[] shape = shapeOf(texts.length, dims);
    try (Scope scope = new Scope()) {
      long[] pointers = new long[texts.length], lengths = new long[texts.length];
      for (int i = 0; i < texts.length; ++i) {
        if (texts[i] == null) throw OndineException.mismatch("text " + i + " is null");
        byte[] bytes = texts[i].getBytes(java.nio.charset.StandardCharsets.UTF_8);
        pointers[i] = scope.bytes(bytes);
        lengths[i] = bytes.length;
      }
      return new Value(Values.made((calls, out) -> calls.ondine_tensor_strings(shape.length,
          scope.words(shape), scope.words(pointers), scope.words(lengths), out)));
    }
  }

  /** A tensor of any type from the bytes of its elements; those below a byte take one each. */
  public static Value of(DType dtype, byte[] bytes, long... dims) {
    check(dims, bytes.length, widthOf(dtype));
    try (Scope scope = new Scope()) {
      long data = scope.bytes(bytes);
      return new Value(Values.made((calls, out) -> calls.ondine_tensor_new(
          dtype.number(), dims.length, scope.words(dims), data, out)));
    }
  }

  /**
   * A tensor whose elements stay in a direct buffer in the order of this machine, from its position
   * to its limit. They must not change while a call reads them.
   */
  public static Value wrap(DType dtype, ByteBuffer buffer, long... dims) {
    if (!buffer.isDirect()) throw OndineException.mismatch("the buffer is not direct");
    check(dims, buffer.remaining(), widthOf(dtype));
    ByteBuffer slice = buffer.slice();
    long user = Callbacks.keep(slice);
    try (Scope scope = new Scope()) {
      return new Value(Values.made((calls, out) -> calls.ondine_tensor_wrap(dtype.number(),
          dims.length, scope.words(dims), Library.BACKEND.address(slice),
          Callbacks.function(Callbacks.FORGET), user, out)));
    } catch (OndineException refused) {
      Callbacks.forget(user);
      throw refused;
    }
  }

  public static Value zeros(DType dtype, long... dims) {
    try (Scope scope = new Scope()) {
      return new Value(Values.made((calls, out) -> calls.ondine_tensor_new(
          dtype.number(), dims.length, scope.words(dims), 0, out)));
    }
  }

  /** A tensor of rank 0. */
  public static Value scalar(float element) {
    return scalar(DType.FLOAT32, ByteBuffer.allocate(4).order(ORDER).putFloat(element));
  }

  public static Value scalar(double element) {
    return scalar(DType.FLOAT64, ByteBuffer.allocate(8).order(ORDER).putDouble(element));
  }

  public static Value scalar(long element) {
    return scalar(DType.INT64, ByteBuffer.allocate(8).order(ORDER).putLong(element));
  }

  public static Value scalar(boolean element) {
    return scalar(DType.BOOL, ByteBuffer.allocate(1).put((byte) (element ? 1 : 0)));
  }

  private static final java.nio.ByteOrder ORDER = java.nio.ByteOrder.nativeOrder();

  private static Value scalar(DType dtype, ByteBuffer element) {
    return of(dtype, element.array());
  }

  private static final int[] WIDTHS = new int[DType.values().length];

  /** Bytes of an element, as the library says. */
  static int widthOf(DType dtype) {
    int known = WIDTHS[dtype.ordinal()];
    if (known > 0) return known;
    try (Value one = zeros(dtype, 1)) {
      return WIDTHS[dtype.ordinal()] = (int) one.info().bytes;
    }
  }

  private interface Filling {
    void put(ByteBuffer bytes, int from, int count);
  }

  private static Value filled(DType dtype, int count, int width, long[] dims, Filling filling) {
    long[] shape = shapeOf(count, dims);
    Value made = zeros(dtype, shape);
    long data = made.data();
    int most = CHUNK / width;
    for (int from = 0; from < count;) {
      int some = Math.min(most, count - from);
      filling.put(Library.view(data + (long) from * width, some * width), from, some);
      from += some;
    }
    return made;
  }

  private static long[] shapeOf(int count, long[] dims) {
    long[] shape = dims.length == 0 ? new long[] {count} : dims;
    check(shape, count, 1);
    return shape;
  }

  private static void check(long[] dims, long bytes, int width) {
    long product = width;
    try {
      for (long one : dims) {
        if (one < 0) {
          throw OndineException.mismatch(
              "dims of a tensor are from 0 on, not " + Arrays.toString(dims));
        }
        product = Math.multiplyExact(product, one);
      }
    } catch (ArithmeticException large) {
      throw OndineException.mismatch("a tensor of dims " + Arrays.toString(dims) + " is too large");
    }
    if (product != bytes) {
      throw OndineException.mismatch("a tensor of dims " + Arrays.toString(dims) + " has " + product
          + (width == 1 ? " elements; the array has " : " bytes; the bytes given are ") + bytes);
    }
  }

  // ---- other values ----

  public static Value sequence(Value... elements) {
    try (Scope scope = new Scope()) {
      long list = addresses(scope, elements);
      return new Value(Values.made((calls, out) -> calls.ondine_value_sequence(
          list, elements.length, out), (Object[]) elements));
    }
  }

  /** {@code keys}: a tensor of rank 1 of integers or strings, one for each element. */
  public static Value map(Value keys, Value... elements) {
    try (Scope scope = new Scope()) {
      long list = addresses(scope, elements);
      return new Value(Values.made((calls, out) -> calls.ondine_value_map(
          addressOf(keys), list, elements.length, out), keys, elements));
    }
  }

  /** Empty for null. */
  public static Value optional(Value element) {
    return new Value(
        Values.made((calls, out) -> calls.ondine_value_optional(addressOf(element), out), element));
  }

  /** Elements [nnz], indices [nnz] linear or [nnz, rank]; the dims are those of the whole. */
  public static Value sparse(Value elements, Value indices, long... dims) {
    try (Scope scope = new Scope()) {
      return new Value(Values.made((calls, out) -> calls.ondine_value_sparse(addressOf(elements),
          addressOf(indices), dims.length, scope.words(dims), out), elements, indices));
    }
  }

  private static long addresses(Scope scope, Value[] elements) {
    return scope.words(Arrays.stream(elements).mapToLong(Handle::addressOf).toArray());
  }

  // ---- reading ----

  private record Info(DType dtype, long[] dims, long elements, long bytes) {}

  private synchronized Info info() {
    try (Scope scope = new Scope()) {
      long out = scope.words(0, 0, 0, 0, 0);
      run(calls -> calls.ondine_tensor_info(
          address, out, out + 8, out + 16, out + 24, out + 32));
      ByteBuffer results = Library.view(out, 40);
      long[] dims = new long[(int) results.getLong(8)];
      if (dims.length > 0) {
        Library.view(results.getLong(16), 8 * dims.length).asLongBuffer().get(dims);
      }
      return new Info(
          DType.of(results.getInt(0)), dims, results.getLong(24), results.getLong(32));
    }
  }

  public Kind kind() {
    return Kind.of((int) get((calls, out) -> calls.ondine_value_kind(address, out)));
  }

  public DType dtype() {
    return info().dtype;
  }

  public long[] dims() {
    return info().dims;
  }

  long data() {
    return get((calls, out) -> calls.ondine_tensor_data(address, out));
  }

  /** Counts the elements, which must have one of the types and fit into an array. */
  private int count(DType... dtypes) {
    Info about = info();
    if (!List.of(dtypes).contains(about.dtype)) {
      throw OndineException.mismatch(
          "the tensor has elements of type " + about.dtype + ", not " + dtypes[0]);
    }
    return fitting(about.elements);
  }

  private static int fitting(long elements) {
    if (elements > Integer.MAX_VALUE - 8) {
      throw new OndineException(Code.LIMIT, elements + " elements do not fit into an array");
    }
    return (int) elements;
  }

  private synchronized void read(int count, int width, Filling filling) {
    long data = data();
    int most = CHUNK / width;
    for (int from = 0; from < count;) {
      int some = Math.min(most, count - from);
      filling.put(Library.view(data + (long) from * width, some * width), from, some);
      from += some;
    }
  }

  public float[] floats() {
    float[] made = new float[count(DType.FLOAT32)];
    read(made.length, 4, (bytes, from, count) -> bytes.asFloatBuffer().get(made, from, count));
    return made;
  }

  public double[] doubles() {
    double[] made = new double[count(DType.FLOAT64)];
    read(made.length, 8, (bytes, from, count) -> bytes.asDoubleBuffer().get(made, from, count));
    return made;
  }

  /** Elements of INT64, or the bits of UINT64. */
  public long[] longs() {
    long[] made = new long[count(DType.INT64, DType.UINT64)];
    read(made.length, 8, (bytes, from, count) -> bytes.asLongBuffer().get(made, from, count));
    return made;
  }

  /** Elements of INT32, or the bits of UINT32. */
  public int[] ints() {
    int[] made = new int[count(DType.INT32, DType.UINT32)];
    read(made.length, 4, (bytes, from, count) -> bytes.asIntBuffer().get(made, from, count));
    return made;
  }

  /** Elements of INT16, or the bits of a type of two bytes. */
  public short[] shorts() {
    short[] made =
        new short[count(DType.INT16, DType.UINT16, DType.FLOAT16, DType.BFLOAT16)];
    read(made.length, 2, (bytes, from, count) -> bytes.asShortBuffer().get(made, from, count));
    return made;
  }

  public boolean[] booleans() {
    boolean[] made = new boolean[count(DType.BOOL)];
    read(made.length, 1, (bytes, from, count) -> {
      for (int i = 0; i < count; ++i) made[from + i] = bytes.get(i) != 0;
    });
    return made;
  }

  /** The bytes of the elements, whatever their type. */
  public byte[] bytes() {
    byte[] made = new byte[fitting(info().bytes)];
    read(made.length, 1, (bytes, from, count) -> bytes.get(made, from, count));
    return made;
  }

  /** The texts of a tensor of strings. */
  public synchronized String[] texts() {
    String[] made = new String[count(DType.STRING)];
    try (Scope scope = new Scope()) {
      long text = scope.out(), length = scope.out();
      for (int i = 0; i < made.length; ++i) {
        long index = i;
        run(calls -> calls.ondine_tensor_string(address, index, text, length));
        made[i] = Library.text(Scope.at(text), Scope.at(length));
      }
    }
    return made;
  }

  /** Elements of a sequence, map or optional; the values of a sparse tensor are element 0. */
  public List<Value> elements() {
    long count = get((calls, out) -> calls.ondine_value_count(address, out));
    List<Value> made = new ArrayList<>();
    for (long i = 0; i < count; ++i) {
      long index = i;
      made.add(new Value(get((calls, out) -> calls.ondine_value_element(address, index, out))));
    }
    return made;
  }

  /** Keys of a map, indices of a sparse tensor. */
  public Value keys() {
    return new Value(get((calls, out) -> calls.ondine_value_keys(address, out)));
  }
}
