"""The times that the letters about the kernel's inode cache report, measured by their authors on
their machines, to compare ours with."""

from typing import NamedTuple

# Kernel 6.7-rc4 without and with the series: a sharded list, a lock for each hash chain. btrfs-svol
# has a subvolume for each thread.
VFS_SCALE = "the VFS scalability letter"
# XFS, 4 nodes, 64 processors, 128 GB: no list, the file system's own index. Nothing is cached at the
# start of each step.
ITERATION = "the superblock iteration letter"
# A virtual machine of 32 processors and 24 GB, 1000 directories of 1000 files a thread: the first
# lookup without the one hash lock. The totals vary by 1 to 2 s.
RCU_LOOKUP = "the RCU inode lookup letter"

WORKLOADS = ["create", "walk", "chmod", "unlink", "bulkstat", "fstree"]


class _Table(NamedTuple):
    letter: str
    filesystem: str
    files_per_thread: int
    times: dict  # {threads: [(before s, after s) or None for each of WORKLOADS]}


_TABLES = [
    _Table(VFS_SCALE, "xfs", 400_000, {
        1: [(11.217, 10.477), (11.621, 11.570), (14.980, 14.797), (18.314, 18.248)],
        2: [(12.313, 11.470), (11.673, 11.158), (15.271, 14.782), (19.413, 18.533)],
        4: [(14.130, 13.246), (9.665, 9.444), (14.794, 13.710), (19.582, 17.015)],
        8: [(16.654, 16.108), (10.622, 9.275), (15.854, 14.575), (20.679, 19.237)],
        16: [(17.587, 18.151), (12.148, 9.508), (16.655, 17.691), (26.044, 21.865)],
        32: [(20.833, 21.491), (20.518, 10.308), (23.614, 19.334), (42.572, 27.404)],
    }),
    _Table(VFS_SCALE, "ext4", 400_000, {
        1: [(9.344, 9.394), (7.691, 7.847), (9.188, 9.212), (11.340, 12.517)],
        2: [(10.445, 10.375), (7.923, 7.358), (10.158, 10.114), (14.366, 14.093)],
        4: [(11.008, 10.948), (8.152, 7.530), (11.140, 11.150), (18.093, 17.153)],
        8: [(23.348, 12.134), (13.090, 7.871), (15.437, 12.824), (30.806, 31.968)],
        16: [(17.343, 29.112), (24.602, 9.540), (31.034, 22.057), (60.538, 57.636)],
        32: [(40.125, 44.638), (49.536, 19.314), (63.183, 38.905), (138.688, 138.632)],
    }),
    _Table(VFS_SCALE, "bcachefs", 400_000, {
        1: [(16.999, 17.193), (6.546, 6.355), (13.973, 13.024), (28.890, 19.014)],
        2: [(20.133, 19.597), (8.003, 7.276), (22.042, 20.070), (28.959, 29.141)],
        4: [(22.836, 23.764), (9.097, 8.506), (58.827, 56.108), (38.955, 37.435)],
        8: [(27.932, 27.545), (11.752, 10.015), (192.802, 185.834), (64.402, 77.188)],
        16: [(32.389, 32.021), (24.614, 13.989), (409.873, 408.098), (243.757, 249.220)],
        32: [(39.809, 40.221), (49.179, 25.982), (879.721, 821.497), (501.357, 485.781)],
    }),
    _Table(VFS_SCALE, "btrfs", 400_000, {
        1: [(10.307, 10.228), (12.597, 12.104), (14.744, 14.030), (24.171, 24.273)],
        2: [(15.956, 14.018), (19.693, 17.180), (24.859, 20.872), (59.338, 48.725)],
        4: [(22.441, 20.951), (32.855, 29.013), (37.975, 33.575), (140.601, 125.305)],
        8: [(34.157, 32.693), (55.066, 56.726), (66.676, 64.661), (343.379, 325.816)],
        16: [(60.847, 59.123), (90.097, 89.340), (116.994, 114.280), (683.244, 681.953)],
        32: [(122.525, 118.510), (118.036, 125.761), (206.122, 212.102), (1612.940, 1629.689)],
    }),
    _Table(VFS_SCALE, "btrfs-svol", 400_000, {
        1: [(10.417, 9.830), (12.011, 12.154), (14.894, 14.913), (24.157, 23.447)],
        2: [(12.079, 11.681), (12.596, 12.208), (16.535, 15.310), (28.031, 26.412)],
        4: [(15.219, 15.074), (12.711, 10.735), (18.079, 16.948), (34.330, 31.949)],
        8: [(23.140, 21.307), (14.706, 10.934), (22.580, 21.907), (53.183, 52.129)],
        16: [(40.657, 40.226), (26.062, 11.471), (34.058, 33.333), (101.133, 99.504)],
        32: [(81.516, 79.412), (50.320, 12.406), (65.691, 58.229), (193.847, 200.050)],
    }),
    _Table(ITERATION, "xfs", 100_000, {
        4: [(4.269, 4.140), (3.225, 3.502), (4.557, 4.154), (7.316, 7.242), (1.306, 1.164)],
        8: [(4.844, 4.637), (3.227, 2.836), (4.702, 4.444), (7.905, 7.896), (1.908, 1.093)],
        16: [(6.286, 5.549), (3.296, 3.054), (5.592, 5.213), (8.838, 8.696), (4.392, 1.107)],
        32: [(8.912, 8.387), (5.681, 3.218), (8.505, 6.867), (11.724, 10.668), (7.085, 1.125)],
        64: [(15.344, 14.112), (11.144, 3.953), (14.162, 10.365), (18.604, 18.620), (15.494, 1.270)],
    }),
    _Table(RCU_LOOKUP, "ext4", 1_000_000, {20: [None] * 5 + [(46.118, 21.581)]}),
    _Table(RCU_LOOKUP, "btrfs", 1_000_000, {20: [None] * 5 + [(45.549, 37.932)]}),
]

# The system time of fstree in the RCU inode lookup letter, of all threads together: {filesystem:
# (before s, after s)}.
FSTREE_SYSTEM_S = {"ext4": (890.90, 397.73), "btrfs": (892.30, 738.66)}

# A longer run of bulkstat than that of the table, after the change, on 64 processors (superblock
# iteration letter).
LONG_BULKSTAT_THREADS = 64
LONG_BULKSTAT_PER_S = 32_000_000 / 4.4


def rows():
    """Every cell of the letters' tables, in their order."""
    return [{"letter": table.letter, "filesystem": table.filesystem, "workload": workload,
             "threads": threads, "files": threads * table.files_per_thread,
             "before_s": cell[0], "after_s": cell[1]}
            for table in _TABLES for threads, cells in table.times.items()
            for workload, cell in zip(WORKLOADS, cells) if cell]


def find(letter, filesystem, workload, threads):
    """(before s, after s), or None if there is no such figure."""
    for table in _TABLES:
        if (table.letter, table.filesystem) == (letter, filesystem) and workload in WORKLOADS:
            cells = table.times.get(threads, [])
            return dict(zip(WORKLOADS, cells)).get(workload)
    return None
