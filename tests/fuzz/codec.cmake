# SPDX-License-Identifier: Apache-2.0
lp_fuzz_target(table LIBS lp_codec)
lp_fuzz_target(lpk LIBS lp_codec)
lp_fuzz_target(ibp LIBS lp_codec)
lp_fuzz_target(lane LIBS lp_codec)
lp_fuzz_target(dict LIBS lp_codec)
lp_fuzz_target(sparse LIBS lp_codec)
