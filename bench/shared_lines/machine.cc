#include <cstdint>

#include "bench/shared_lines/recorder.h"

namespace nfswalk::rcu {
struct DeferHead;
}

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

// rcu::Defer(): its queue is one for the process. Not in every program.
using nfswalk::rcu::DeferHead;
[[gnu::weak]] void __real__ZN7nfswalk3rcu5DeferEPNS0_9DeferHeadEPFvS2_E(
    DeferHead* head, void (*callback)(DeferHead*));
void __wrap__ZN7nfswalk3rcu5DeferEPNS0_9DeferHeadEPFvS2_E(DeferHead* head,
                                                          void (*callback)(DeferHead*)) {
  using nfswalk::bench::Recorder;
  Recorder::OnCallback();
  const uint32_t thread = Recorder::Thread();
  Recorder::End();
  __real__ZN7nfswalk3rcu5DeferEPNS0_9DeferHeadEPFvS2_E(head, callback);
  Recorder::Begin(thread);
}

}  // extern "C"
