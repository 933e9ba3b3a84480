// A library must not print: std::terminate() ends the process without the name of the exception. That text and the
// reader of mangled names it needs take 50 kB. Other C++ libraries than GCC's have no such function to replace.
#include <cstdlib>

namespace __gnu_cxx {
void __verbose_terminate_handler() { std::abort(); }
}  // namespace __gnu_cxx
