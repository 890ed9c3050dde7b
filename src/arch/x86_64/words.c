/* SPDX-License-Identifier: MIT */
/*
 * Compares words of an array with their old values, 64 at a time, with the
 * widest vectors that the CPU has. The same loop is compiled once for each
 * instruction set.
 */
#include "arch/words.h"

#include <immintrin.h>
#include <sys/platform/x86.h>

#include "base/compiler.h"

#define AVX2 __attribute__((target("avx2")))
#define AVX512 __attribute__((target("avx512f,avx512bw")))

/*
 * Returns a bit for each word that has not changed: its state or its difference
 * is 0. Other threads write the words meanwhile, so each word is read as a
 * whole.
 */
WF_INLINE uint64_t unused_sse2(const uint8_t *states)
{
	uint64_t bits = 0;

	for (int i = 0; i < WF_ARCH_GROUP; i += 16) {
		__m128i s = _mm_load_si128((const __m128i *)(states + i));
		__m128i eq = _mm_cmpeq_epi8(s, _mm_setzero_si128());

		bits |= (uint64_t)(uint32_t)_mm_movemask_epi8(eq) << i;
	}
	return bits;
}

WF_INLINE uint64_t same_sse2(const uint32_t *words, const uint32_t *old)
{
	uint64_t bits = 0;

	for (int i = 0; i < WF_ARCH_GROUP; i += 4) {
		__m128i w = _mm_load_si128((const __m128i *)(words + i));
		__m128i o = _mm_load_si128((const __m128i *)(old + i));
		__m128i eq = _mm_cmpeq_epi32(w, o);

		bits |= (uint64_t)_mm_movemask_ps(_mm_castsi128_ps(eq)) << i;
	}
	return bits;
}

AVX2 WF_INLINE uint64_t unused_avx2(const uint8_t *states)
{
	__m256i low = _mm256_load_si256((const __m256i *)states);
	__m256i high = _mm256_load_si256((const __m256i *)(states + 32));
	__m256i zero = _mm256_setzero_si256();

	low = _mm256_cmpeq_epi8(low, zero);
	high = _mm256_cmpeq_epi8(high, zero);
	return (uint32_t)_mm256_movemask_epi8(low) |
	       (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32;
}

AVX2 WF_INLINE uint64_t same_avx2(const uint32_t *words, const uint32_t *old)
{
	uint64_t bits = 0;

	for (int i = 0; i < WF_ARCH_GROUP; i += 8) {
		__m256i w = _mm256_load_si256((const __m256i *)(words + i));
		__m256i o = _mm256_load_si256((const __m256i *)(old + i));
		__m256i eq = _mm256_cmpeq_epi32(w, o);
		uint32_t eight =
			(uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(eq));

		bits |= (uint64_t)eight << i;
	}
	return bits;
}

AVX512 WF_INLINE uint64_t unused_avx512(const uint8_t *states)
{
	__m512i s = _mm512_load_si512(states);

	return _mm512_testn_epi8_mask(s, s);
}

AVX512 WF_INLINE uint64_t same_16(const uint32_t *words, const uint32_t *old)
{
	return _mm512_cmpeq_epi32_mask(_mm512_load_si512(words),
				       _mm512_load_si512(old));
}

AVX512 WF_INLINE uint64_t same_avx512(const uint32_t *words,
				      const uint32_t *old)
{
	return same_16(words, old) | same_16(words + 16, old + 16) << 16 |
	       same_16(words + 32, old + 32) << 32 |
	       same_16(words + 48, old + 48) << 48;
}

/* Defines the loop for one instruction set, which the compiler may then use. */
#define FIND(name, TARGET)                                                \
	TARGET static uint64_t find_##name(const uint32_t *words,         \
					   const uint32_t *old,           \
					   const uint8_t *states,         \
					   uint32_t *group, uint32_t end) \
	{                                                                 \
		__asm__ volatile("" ::: "memory");                        \
		for (uint32_t g = *group; g < end; g++) {                 \
			size_t n = (size_t)g * WF_ARCH_GROUP;             \
			uint64_t bits = ~unused_##name(states + n);       \
                                                                          \
			if (bits == 0)                                    \
				continue;                                 \
			bits &= ~same_##name(words + n, old + n);         \
			if (bits != 0) {                                  \
				*group = g;                               \
				return bits;                              \
			}                                                 \
		}                                                         \
		return 0;                                                 \
	}

FIND(sse2, )
FIND(avx2, AVX2)
FIND(avx512, AVX512)

/*
 * ld.so has read the CPU's features. The compiler's __builtin_cpu_supports
 * would execute cpuid at the start of each program, and on virtual machines
 * that takes 8 us each time.
 */
wf_arch_find_fn *wf_arch_find_nth(size_t n)
{
	wf_arch_find_fn *all[4] = { find_sse2 };
	size_t nr = 1;

	if (CPU_FEATURE_ACTIVE(AVX2))
		all[nr++] = find_avx2;
	if (CPU_FEATURE_ACTIVE(AVX512F) && CPU_FEATURE_ACTIVE(AVX512BW))
		all[nr++] = find_avx512;
	return n < nr ? all[n] : NULL;
}

wf_arch_find_fn *wf_arch_find_choose(void)
{
	size_t n = 0;

	while (wf_arch_find_nth(n + 1) != NULL)
		n++;
	return wf_arch_find_nth(n);
}

extern const char wf_arch_slots_load[] __attribute__((visibility("hidden")));
extern const char wf_arch_slots_faulted[] __attribute__((visibility("hidden")));

bool wf_arch_slots_fixup(ucontext_t *uc)
{
	greg_t *pc = &uc->uc_mcontext.gregs[REG_RIP];

	if (*pc != (greg_t)(uintptr_t)wf_arch_slots_load)
		return false;
	*pc = (greg_t)(uintptr_t)wf_arch_slots_faulted;
	return true;
}
