package org.ondine;

import java.nio.ByteBuffer;
import java.util.List;

/** The entries of a row, which the caller fills. They are zeros before. */
public final class Row {
  /** Fills a row. The same row must have the same entries whenever it is read. */
  public interface Reader {
    void read(long index, Row row) throws Exception;
  }

  record Source(Reader reader, List<Column> columns, int[] sizes) {
    boolean read(long index, long entries) throws Exception {
      Row row = new Row(this, entries);
      try {
        reader.read(index, row);
      } finally {
        row.entries = 0;
      }
      return true;
    }
  }

  private final Source source;
  private long entries; // 0: the row is gone

  private Row(Source source, long entries) {
    this.source = source;
    this.entries = entries;
  }

  private ByteBuffer entry(int column) {
    if (entries == 0) throw OndineException.mismatch("the row is filled when its reader returns");
    if (column < 0 || column >= source.sizes.length) {
      throw OndineException.mismatch("there is no column " + column + " of " + source.sizes.length);
    }
    int size = source.sizes[column];
    if (size == 0) return ByteBuffer.allocate(0);
    long address = Library.view(entries + 8L * column, 8).getLong(0);
    return Library.view(address, size);
  }

  private ByteBuffer entry(int column, int count, DType... dtypes) {
    ByteBuffer made = entry(column);
    Column about = source.columns.get(column);
    if (!List.of(dtypes).contains(about.dtype())) {
      throw OndineException.mismatch("column '" + about.name() + "' has elements of type "
          + about.dtype() + ", not " + dtypes[0]);
    }
    int elements = made.capacity() / Value.widthOf(dtypes[0]);
    if (elements != count) {
      throw OndineException.mismatch("the entry of column '" + about.name() + "' has " + elements
          + " elements, not " + count);
    }
    return made;
  }

  public void set(int column, float... elements) {
    entry(column, elements.length, DType.FLOAT32).asFloatBuffer().put(elements);
  }

  public void set(int column, double... elements) {
    entry(column, elements.length, DType.FLOAT64).asDoubleBuffer().put(elements);
  }

  public void set(int column, long... elements) {
    entry(column, elements.length, DType.INT64, DType.UINT64).asLongBuffer().put(elements);
  }

  public void set(int column, int... elements) {
    entry(column, elements.length, DType.INT32, DType.UINT32).asIntBuffer().put(elements);
  }

  /** The bytes of the elements, whatever their type, in the order of this machine. */
  public void setBytes(int column, byte... bytes) {
    ByteBuffer made = entry(column);
    if (made.capacity() != bytes.length) {
      throw OndineException.mismatch("the entry of column '" + source.columns.get(column).name()
          + "' has " + made.capacity() + " bytes, not " + bytes.length);
    }
    made.put(bytes);
  }
}
