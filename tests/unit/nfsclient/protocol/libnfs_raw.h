// libnfs_raw: libnfs' raw headers, behind the one that defines what they need.
#ifndef NFSWALK_TESTS_UNIT_NFSCLIENT_PROTOCOL_LIBNFS_RAW_H_
#define NFSWALK_TESTS_UNIT_NFSCLIENT_PROTOCOL_LIBNFS_RAW_H_

// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-zdr.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-mount.h>
#include <nfsc/libnfs-raw-nfs.h>
#include <nfsc/libnfs-raw-nfs4.h>
// clang-format on

#endif  // NFSWALK_TESTS_UNIT_NFSCLIENT_PROTOCOL_LIBNFS_RAW_H_
