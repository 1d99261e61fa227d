// SPDX-License-Identifier: Apache-2.0
// Marks functions that host and device code share. Host builds see nothing.
#pragma once

#if defined(__CUDACC__)
#define KVLAB_HD __host__ __device__
#else
#define KVLAB_HD
#endif
