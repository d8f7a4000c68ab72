/* Around the declarations that libedgeps offers: C linkage in C++, and a name among the symbols of
 * the shared library, which hides all others. */
#ifndef EDGEPS_BASE_API_H
#define EDGEPS_BASE_API_H

/* clang-format takes the braces for a block. */
/* clang-format off */
#ifdef __cplusplus
#define EDGEPS_API_BEGIN _Pragma("GCC visibility push(default)") extern "C" {
#define EDGEPS_API_END } _Pragma("GCC visibility pop")
#else
#define EDGEPS_API_BEGIN _Pragma("GCC visibility push(default)")
#define EDGEPS_API_END _Pragma("GCC visibility pop")
#endif
/* clang-format on */

#endif
