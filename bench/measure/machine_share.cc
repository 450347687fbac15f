#include "bench/measure/machine_share.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include "bench/measure/team.h"

namespace nfswalk::bench {
namespace {

double TicksPerSecond() { return static_cast<double>(sysconf(_SC_CLK_TCK)); }

// 0 if there is no such process.
double CpuSecondsOf(pid_t process) {
  clockid_t clock;
  timespec used;
  if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &used) != 0) return 0;
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

}  // namespace

std::expected<double, std::string_view> UnusedSecondsIn(std::string_view proc_stat,
                                                        double ticks_per_s) {
  std::istringstream words{std::string(proc_stat.substr(0, proc_stat.find('\n')))};
  std::string name;
  double user, nice, system, idle, iowait, irq, softirq;
  if (words >> name >> user >> nice >> system >> idle >> iowait >> irq >> softirq &&
      name == "cpu") {
    return (idle + iowait + irq + softirq) / ticks_per_s;
  }
  return std::unexpected("/proc/stat does not begin with the times of all processors");
}

double ShareOfMachine(double seconds, size_t processors, double ours_s, double unused_s,
                      double tick_s) {
  const double all_s = seconds * static_cast<double>(processors);
  const double lost_s = std::max(0.0, all_s - ours_s - unused_s - tick_s);
  return all_s > 0 ? 1 - lost_s / all_s : 1;
}

MachineShare::MachineShare(pid_t server) : server_(server), start_(Take()) {}

MachineShare::Sample MachineShare::Take() const {
  const std::ifstream file("/proc/stat");
  std::ostringstream text;
  text << file.rdbuf();
  return {.at = std::chrono::steady_clock::now(),
          .own_s = CpuSecondsOf(getpid()),
          .server_s = server_ > 0 ? CpuSecondsOf(server_) : 0,
          .unused_s = UnusedSecondsIn(text.str(), TicksPerSecond()).value_or(0)};
}

double MachineShare::Share() const {
  Turn turn;
  AddTo(turn);
  return turn.share;
}

void MachineShare::AddTo(Turn& turn, double children_cpu_s) const {
  const Sample now = Take();
  const std::chrono::duration<double> took = now.at - start_.at;
  turn.own_cpu_s = now.own_s - start_.own_s + children_cpu_s;
  turn.server_cpu_s = now.server_s - start_.server_s;
  turn.share = ShareOfMachine(took.count(), Processors(), turn.own_cpu_s + turn.server_cpu_s,
                              now.unused_s - start_.unused_s, 1 / TicksPerSecond());
}

}  // namespace nfswalk::bench
