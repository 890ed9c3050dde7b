/* SPDX-License-Identifier: MIT */
/* Can clang link a fuzzer here? */
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	(void)data;
	(void)bytes;
	return 0;
}
