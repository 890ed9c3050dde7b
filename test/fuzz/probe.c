/* SPDX-License-Identifier: MIT */
/* Tests whether clang can link a fuzzer. */
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	(void)data;
	(void)bytes;
	return 0;
}
