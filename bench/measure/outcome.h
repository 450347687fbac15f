// outcome: success, or a sentence that says what failed.
#ifndef NFSWALK_BENCH_MEASURE_OUTCOME_H_
#define NFSWALK_BENCH_MEASURE_OUTCOME_H_

#include <expected>
#include <string>

namespace nfswalk::bench {

using Outcome = std::expected<void, std::string>;

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MEASURE_OUTCOME_H_
