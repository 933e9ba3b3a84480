// The shared library brings what it needs of fmt, so that a host needs no package of it. Part of the shared library
// alone: programs link fmt as the system has it.

// No text is formatted by the user's locale ({:L}); fmt's code for it would bring all of the C++ library's locales.
#define FMT_STATIC_THOUSANDS_SEPARATOR ','
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {
template thousands_sep_result<char> thousands_sep_impl(locale_ref);
template char decimal_point_impl(locale_ref);
}

FMT_END_NAMESPACE
