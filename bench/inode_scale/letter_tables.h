// letter_tables: the times that the letters about the kernel's inode cache report, for comparison
// (docs/letters.md). All of them were measured by the letters' authors on their machines.
#ifndef NFSWALK_BENCH_INODE_SCALE_LETTER_TABLES_H_
#define NFSWALK_BENCH_INODE_SCALE_LETTER_TABLES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace nfswalk::bench {

enum class Letter : uint8_t {
  kVfsScale,   // the VFS scalability letter of 2023: sharded list, a lock for each hash chain
  kIteration,  // the superblock iteration letter of 2024: no list, the file system's own index
  kRcuLookup,  // the RCU inode lookup letter: first lookup without the one hash lock
};
// "the superblock iteration letter".
std::string_view LetterSubject(Letter letter);

inline constexpr std::array<std::string_view, 6> kLetterWorkloads = {
    "create", "walk", "chmod", "unlink", "bulkstat", "fstree"};

// Wall-clock times; both 0 where a letter has none.
struct BeforeAfter {
  constexpr bool reported() const { return before_s != 0; }
  constexpr double Ratio() const { return before_s / after_s; }

  double before_s = 0;
  double after_s = 0;
};

struct LetterRow {
  size_t threads;
  BeforeAfter times[kLetterWorkloads.size()];  // in the order of kLetterWorkloads
};

namespace letter_rows {

// The VFS scalability letter, kernel 6.7-rc4 without and with the series; 400,000 files a thread.
inline constexpr LetterRow kVfsScaleXfs[] = {
    {1, {{11.217, 10.477}, {11.621, 11.570}, {14.980, 14.797}, {18.314, 18.248}}},
    {2, {{12.313, 11.470}, {11.673, 11.158}, {15.271, 14.782}, {19.413, 18.533}}},
    {4, {{14.130, 13.246}, {9.665, 9.444}, {14.794, 13.710}, {19.582, 17.015}}},
    {8, {{16.654, 16.108}, {10.622, 9.275}, {15.854, 14.575}, {20.679, 19.237}}},
    {16, {{17.587, 18.151}, {12.148, 9.508}, {16.655, 17.691}, {26.044, 21.865}}},
    {32, {{20.833, 21.491}, {20.518, 10.308}, {23.614, 19.334}, {42.572, 27.404}}},
};
inline constexpr LetterRow kVfsScaleExt4[] = {
    {1, {{9.344, 9.394}, {7.691, 7.847}, {9.188, 9.212}, {11.340, 12.517}}},
    {2, {{10.445, 10.375}, {7.923, 7.358}, {10.158, 10.114}, {14.366, 14.093}}},
    {4, {{11.008, 10.948}, {8.152, 7.530}, {11.140, 11.150}, {18.093, 17.153}}},
    {8, {{23.348, 12.134}, {13.090, 7.871}, {15.437, 12.824}, {30.806, 31.968}}},
    {16, {{17.343, 29.112}, {24.602, 9.540}, {31.034, 22.057}, {60.538, 57.636}}},
    {32, {{40.125, 44.638}, {49.536, 19.314}, {63.183, 38.905}, {138.688, 138.632}}},
};
inline constexpr LetterRow kVfsScaleBcachefs[] = {
    {1, {{16.999, 17.193}, {6.546, 6.355}, {13.973, 13.024}, {28.890, 19.014}}},
    {2, {{20.133, 19.597}, {8.003, 7.276}, {22.042, 20.070}, {28.959, 29.141}}},
    {4, {{22.836, 23.764}, {9.097, 8.506}, {58.827, 56.108}, {38.955, 37.435}}},
    {8, {{27.932, 27.545}, {11.752, 10.015}, {192.802, 185.834}, {64.402, 77.188}}},
    {16, {{32.389, 32.021}, {24.614, 13.989}, {409.873, 408.098}, {243.757, 249.220}}},
    {32, {{39.809, 40.221}, {49.179, 25.982}, {879.721, 821.497}, {501.357, 485.781}}},
};
inline constexpr LetterRow kVfsScaleBtrfs[] = {
    {1, {{10.307, 10.228}, {12.597, 12.104}, {14.744, 14.030}, {24.171, 24.273}}},
    {2, {{15.956, 14.018}, {19.693, 17.180}, {24.859, 20.872}, {59.338, 48.725}}},
    {4, {{22.441, 20.951}, {32.855, 29.013}, {37.975, 33.575}, {140.601, 125.305}}},
    {8, {{34.157, 32.693}, {55.066, 56.726}, {66.676, 64.661}, {343.379, 325.816}}},
    {16, {{60.847, 59.123}, {90.097, 89.340}, {116.994, 114.280}, {683.244, 681.953}}},
    {32, {{122.525, 118.510}, {118.036, 125.761}, {206.122, 212.102}, {1612.940, 1629.689}}},
};
// A subvolume for each thread.
inline constexpr LetterRow kVfsScaleBtrfsSubvolumes[] = {
    {1, {{10.417, 9.830}, {12.011, 12.154}, {14.894, 14.913}, {24.157, 23.447}}},
    {2, {{12.079, 11.681}, {12.596, 12.208}, {16.535, 15.310}, {28.031, 26.412}}},
    {4, {{15.219, 15.074}, {12.711, 10.735}, {18.079, 16.948}, {34.330, 31.949}}},
    {8, {{23.140, 21.307}, {14.706, 10.934}, {22.580, 21.907}, {53.183, 52.129}}},
    {16, {{40.657, 40.226}, {26.062, 11.471}, {34.058, 33.333}, {101.133, 99.504}}},
    {32, {{81.516, 79.412}, {50.320, 12.406}, {65.691, 58.229}, {193.847, 200.050}}},
};
// The superblock iteration letter, XFS, a machine of 4 nodes and 64 processors, 128 GB; 100,000
// files a thread, nothing cached at the start of each step.
inline constexpr LetterRow kIterationXfs[] = {
    {4, {{4.269, 4.140}, {3.225, 3.502}, {4.557, 4.154}, {7.316, 7.242}, {1.306, 1.164}}},
    {8, {{4.844, 4.637}, {3.227, 2.836}, {4.702, 4.444}, {7.905, 7.896}, {1.908, 1.093}}},
    {16, {{6.286, 5.549}, {3.296, 3.054}, {5.592, 5.213}, {8.838, 8.696}, {4.392, 1.107}}},
    {32, {{8.912, 8.387}, {5.681, 3.218}, {8.505, 6.867}, {11.724, 10.668}, {7.085, 1.125}}},
    {64, {{15.344, 14.112}, {11.144, 3.953}, {14.162, 10.365}, {18.604, 18.620}, {15.494, 1.270}}},
};
// The RCU inode lookup letter, a virtual machine of 32 processors and 24 GB; 1000 directories of
// 1000 files a thread. The totals vary by 1 to 2 s.
inline constexpr LetterRow kRcuLookupExt4[] = {{20, {{}, {}, {}, {}, {}, {46.118, 21.581}}}};
inline constexpr LetterRow kRcuLookupBtrfs[] = {{20, {{}, {}, {}, {}, {}, {45.549, 37.932}}}};

}  // namespace letter_rows

struct LetterTable {
  Letter letter;
  std::string_view filesystem;
  uint64_t files_per_thread;
  std::span<const LetterRow> rows;
};

inline constexpr LetterTable kLetterTables[] = {
    {Letter::kVfsScale, "xfs", 400'000, letter_rows::kVfsScaleXfs},
    {Letter::kVfsScale, "ext4", 400'000, letter_rows::kVfsScaleExt4},
    {Letter::kVfsScale, "bcachefs", 400'000, letter_rows::kVfsScaleBcachefs},
    {Letter::kVfsScale, "btrfs", 400'000, letter_rows::kVfsScaleBtrfs},
    {Letter::kVfsScale, "btrfs-svol", 400'000, letter_rows::kVfsScaleBtrfsSubvolumes},
    {Letter::kIteration, "xfs", 100'000, letter_rows::kIterationXfs},
    {Letter::kRcuLookup, "ext4", 1'000'000, letter_rows::kRcuLookupExt4},
    {Letter::kRcuLookup, "btrfs", 1'000'000, letter_rows::kRcuLookupBtrfs},
};

// Where the time of fstree went, in the RCU inode lookup letter; of all threads together.
struct FstreeTimes {
  std::string_view filesystem;
  BeforeAfter user;
  BeforeAfter system;
};
inline constexpr FstreeTimes kFstreeTimes[] = {
    {"ext4", {3.77, 3.24}, {890.90, 397.73}},
    {"btrfs", {3.54, 3.28}, {892.30, 738.66}},
};

// The longer bulkstat run that the superblock iteration letter tells of, after its change, on the
// 64 processors: about 7.2 million inodes a second.
struct StreamedInodes {
  constexpr double PerSecond() const { return static_cast<double>(inodes) / seconds; }

  size_t threads;
  uint64_t inodes;
  double seconds;
};
inline constexpr StreamedInodes kLongBulkstat = {64, 32'000'000, 4.4};

// One cell of a letter's table.
struct LetterFigure {
  constexpr double Ratio() const { return times.Ratio(); }

  Letter letter;
  std::string_view filesystem;
  size_t threads;
  uint64_t files;  // of all threads together
  BeforeAfter times;
};

// What the letters report of a workload (a name of kLetterWorkloads) with that many threads, in the
// order of kLetterTables. Empty if they report nothing.
std::vector<LetterFigure> LetterFigures(std::string_view workload, size_t threads);
std::optional<LetterFigure> FindLetterFigure(Letter letter, std::string_view filesystem,
                                             std::string_view workload, size_t threads);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_INODE_SCALE_LETTER_TABLES_H_
