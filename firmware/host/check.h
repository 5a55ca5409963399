// A test is a function that checks; the first check that fails ends the program and says where.
#pragma once

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      printf("%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);        \
      exit(1);                                                                \
    }                                                                         \
  } while (0)

#define CHECK_EQUAL(actual, expected)                                                                             \
  do {                                                                                                            \
    const long actual_ = long(actual), expected_ = long(expected);                                                \
    if (actual_ != expected_) {                                                                                   \
      printf("%s:%d: %s is %ld, must be %ld\n", __FILE__, __LINE__, #actual, actual_, expected_);                 \
      exit(1);                                                                                                    \
    }                                                                                                             \
  } while (0)
