# SPDX-License-Identifier: Apache-2.0
lp_fuzz_target(npy LIBS lp_load)
lp_fuzz_target(npz LIBS lp_load)
lp_fuzz_target(safetensors LIBS lp_load)
lp_fuzz_target(lpk_file LIBS lp_load)
