# SPDX-License-Identifier: GPL-2.0-only
"""The guests of the bed: kernels, QEMU, one run, what its logs say."""
