# SPDX-License-Identifier: Apache-2.0
lp_fuzz_target(config LIBS lp_config)
