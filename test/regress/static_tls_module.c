/* SPDX-License-Identifier: MIT */
/*
 * Loaded by static_tls_reuse.c: its variables lie in every thread's static TLS.
 */
#define STATIC_TLS __attribute__((tls_model("initial-exec")))

struct values {
	long zero, seven;
	const char *text;
};

static __thread long zero STATIC_TLS;
static __thread long seven STATIC_TLS = 7;
static __thread const char *text STATIC_TLS = "fresh";

void static_tls_get(struct values *ret)
{
	*ret = (struct values){ zero, seven, text };
}

void static_tls_change(long by)
{
	zero += by;
	seven += by;
	text = "changed";
}
