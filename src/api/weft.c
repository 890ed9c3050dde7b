/* weft.h: the library's own names. */
#include <weft/weft.h>

#include "api/api.h"
#include "sched/vp.h"

WF_API(const char *, weft_version, void)
{
	return WEFT_VERSION;
}

WF_API(int, weft_is_active, void)
{
	return wf_is_started();
}
