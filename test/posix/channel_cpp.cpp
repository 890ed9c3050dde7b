/* SPDX-License-Identifier: MIT */
/* channel.h from C++: structures in place, between std::threads. */
#include <memory>
#include <new>
#include <thread>
#include <unistd.h>

#include <weft/channel.h>

#include "check.h"

namespace
{
struct close_end {
	void operator()(weft_channel *c) const
	{
		CHECK_EQ(weft_channel_close(c), 0);
	}
};
using end = std::unique_ptr<weft_channel, close_end>;

end open_end(int fd, int which)
{
	weft_channel *c;

	CHECK_EQ(weft_channel_open(fd, which, &c), 0);
	return end(c);
}

struct point {
	long x, y;
};
}

TEST(structures_in_place)
{
	weft_channel_attr attr{};
	const void *message;
	std::size_t size;
	int fd;

	attr.message_size = sizeof(point);
	attr.messages = 4;
	CHECK_EQ(weft_channel_create(&attr, &fd), 0);
	end in = open_end(fd, WEFT_CHANNEL_RECEIVER);
	std::thread sender([fd] {
		end out = open_end(fd, WEFT_CHANNEL_SENDER);

		for (long i = 0; i < 1000; i++) {
			void *room;

			CHECK_EQ(weft_channel_reserve_until(out.get(), &room,
							    nullptr),
				 0);
			new (room) point{ i, -i };
			CHECK_EQ(weft_channel_commit(out.get(), sizeof(point)),
				 0);
		}
	});
	for (long i = 0; i < 1000; i++) {
		CHECK_EQ(weft_channel_peek_until(in.get(), &message, &size,
						 nullptr),
			 0);
		auto *p = static_cast<const point *>(message);
		CHECK(p->x == i && p->y == -i);
		CHECK_EQ(weft_channel_release(in.get()), 0);
	}
	CHECK_EQ(weft_channel_peek_until(in.get(), &message, &size, nullptr),
		 EPIPE);
	sender.join();
	close(fd);
}
