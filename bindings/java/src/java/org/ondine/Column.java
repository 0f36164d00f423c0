package org.ondine;

/** A column of rows that the caller makes: element type and dims of its entry in a row. */
public record Column(String name, DType dtype, long... dims) {}
