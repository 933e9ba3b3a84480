// The readers of gzip, PNG and JPEG as they are where no such library was found: libloom.so needs libc and libm alone,
// and says of such files that it cannot read them.
#include "data/gunzip.cpp"
#include "data/images/image_jpeg.cpp"
#include "data/images/image_png.cpp"
