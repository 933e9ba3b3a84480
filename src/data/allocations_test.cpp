#include "io/hostile_test.cpp"  // one counter of allocations, in both test programs
