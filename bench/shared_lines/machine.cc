#include <cstdint>

#include "bench/shared_lines/recorder.h"

struct rcu_head;

namespace nfswalk::bench {

namespace {
unsigned processors_here = 0;  // 0: those of the real machine
}  // namespace

void Recorder::SetProcessors(unsigned processors) { processors_here = processors; }

}  // namespace nfswalk::bench

// The names are those that the linker knows.
extern "C" {

// std::thread::hardware_concurrency()
unsigned __real__ZNSt6thread20hardware_concurrencyEv();
unsigned __wrap__ZNSt6thread20hardware_concurrencyEv() {
  using nfswalk::bench::processors_here;
  return processors_here != 0 ? processors_here : __real__ZNSt6thread20hardware_concurrencyEv();
}

// rcu::CpuCount() and rcu::CpuIndex(): a processor for each thread.
uint32_t __wrap__ZN7nfswalk3rcu8CpuCountEv() { return nfswalk::bench::processors_here; }
uint32_t __wrap__ZN7nfswalk3rcu8CpuIndexEv() { return nfswalk::bench::Recorder::Thread(); }

// arc4random(3)
uint32_t __wrap_arc4random() { return 0x9e3779b9; }

void __real_urcu_memb_call_rcu(rcu_head* head, void (*callback)(rcu_head*));
void __wrap_urcu_memb_call_rcu(rcu_head* head, void (*callback)(rcu_head*)) {
  nfswalk::bench::Recorder::OnCallback();
  __real_urcu_memb_call_rcu(head, callback);
}

}  // extern "C"
