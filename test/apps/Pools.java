// SPDX-License-Identifier: MIT
/*
 * A virtual machine that has threads of its own, for compilers and garbage
 * collectors.
 */
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;

public class Pools {
	static int counter;

	static void executor() throws Exception {
		ExecutorService pool = Executors.newFixedThreadPool(16);
		List<Future<Long>> results = new ArrayList<>();
		long total = 0;

		for (int i = 0; i < 200; i++) {
			final int n = i;
			results.add(pool.submit(() -> {
				long sum = 0;
				for (int j = 0; j < 100000; j++)
					sum += j * n % 7;
				Thread.sleep(1);
				return sum;
			}));
		}
		for (Future<Long> result : results)
			total += result.get();
		pool.shutdown();
		System.out.println("executor " + total + " " +
				   pool.awaitTermination(60, TimeUnit.SECONDS));
	}

	static void monitors() throws Exception {
		Object lock = new Object();
		Thread[] threads = new Thread[50];

		for (int i = 0; i < threads.length; i++) {
			threads[i] = new Thread(() -> {
				for (int j = 0; j < 1000; j++)
					synchronized (lock) {
						counter++;
					}
			});
			threads[i].start();
		}
		for (Thread thread : threads)
			thread.join();
		System.out.println("monitors " + counter);
	}

	/* Makes garbage, so that the collector often stops all threads. */
	static void garbage() {
		long bytes = 0;

		for (int i = 0; i < 20; i++) {
			byte[][] blocks = new byte[1000][];
			for (int j = 0; j < blocks.length; j++)
				blocks[j] = new byte[10000];
			bytes += blocks.length * blocks[i].length;
		}
		System.gc();
		System.out.println("garbage " + bytes);
	}

	static void handOver() throws Exception {
		SynchronousQueue<Integer> queue = new SynchronousQueue<>();
		Thread producer = new Thread(() -> {
			try {
				for (int i = 0; i < 2000; i++)
					queue.put(i);
			} catch (InterruptedException e) {
				System.out.println("interrupted: producer");
			}
		});
		long sum = 0;

		producer.start();
		for (int i = 0; i < 2000; i++)
			sum += queue.take();
		producer.join();
		System.out.println("hand over " + sum);
	}

	static void interruption() throws Exception {
		Thread sleeper = new Thread(() -> {
			try {
				Thread.sleep(3600000);
			} catch (InterruptedException e) {
				System.out.println("interrupted");
			}
		});

		sleeper.start();
		Thread.sleep(10);
		sleeper.interrupt();
		sleeper.join();
	}

	public static void main(String[] args) throws Exception {
		executor();
		monitors();
		garbage();
		handOver();
		interruption();
		System.out.println("parallel " +
				   LongStream.range(0, 1000000).parallel().sum());
	}
}
