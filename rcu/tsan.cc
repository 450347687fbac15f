#include "rcu/tsan.h"

#ifdef NFSWALK_TSAN
// liburcu's resizable table hands work to a thread of its own and frees it there, in an order that
// the sanitizer cannot see as the library is not built with it. Only what the library itself does
// is passed over, not what it calls.
extern "C" const char* __tsan_default_suppressions() { return "called_from_lib:liburcu-cds.so"; }
#endif
