// SPDX-License-Identifier: MIT
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

/** Writers and readers of a bounded lock-free queue that back off by Thread.yield: Queue THREADS EVENTS. */
public class Queue {
	static final int SIZE = 256;
	static final AtomicLongArray sequence = new AtomicLongArray(SIZE);
	static final long[] events = new long[SIZE];
	static final AtomicLong head = new AtomicLong();
	static final AtomicLong tail = new AtomicLong();
	static final AtomicLong sum = new AtomicLong();

	/**
	 * Takes the slot with a sequence number of its position plus `ahead`;
	 * -1 if the slot has not come that far.
	 */
	static long claim(AtomicLong end, long ahead) {
		for (;;) {
			long at = end.get();
			long distance = sequence.get((int) (at % SIZE)) - (at + ahead);

			if (distance < 0)
				return -1;
			if (distance == 0 && end.compareAndSet(at, at + 1))
				return at;
		}
	}

	static long claimed(AtomicLong end, long ahead) {
		long at;

		while ((at = claim(end, ahead)) < 0)
			Thread.yield();
		return at;
	}

	static void write(long nr) {
		for (long i = 1; i <= nr; i++) {
			long at = claimed(tail, 0);

			events[(int) (at % SIZE)] = i;
			sequence.set((int) (at % SIZE), at + 1);
		}
	}

	static void read(long nr) {
		long mine = 0;

		for (long i = 0; i < nr; i++) {
			long at = claimed(head, 1);

			mine += events[(int) (at % SIZE)];
			sequence.set((int) (at % SIZE), at + SIZE);
		}
		sum.addAndGet(mine);
	}

	public static void main(String[] args) throws InterruptedException {
		int nrThreads = Integer.parseInt(args[0]);
		long nrEvents = Long.parseLong(args[1]);
		Thread[] threads = new Thread[2 * nrThreads];
		long startNs = System.nanoTime();

		for (int i = 0; i < SIZE; i++)
			sequence.set(i, i);
		for (int i = 0; i < threads.length; i++) {
			boolean writes = i % 2 == 0;

			threads[i] = new Thread(() -> {
				if (writes)
					write(nrEvents);
				else
					read(nrEvents);
			});
			threads[i].start();
		}
		for (Thread thread : threads)
			thread.join();
		if (sum.get() != nrThreads * (nrEvents * (nrEvents + 1) / 2))
			System.exit(1);
		System.out.printf("wall_ms %.3f%n", (System.nanoTime() - startNs) / 1e6);
	}
}
