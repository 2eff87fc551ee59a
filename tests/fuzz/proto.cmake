# SPDX-License-Identifier: Apache-2.0
lp_fuzz_target(message LIBS lp_proto)
