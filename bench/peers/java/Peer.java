// SPDX-License-Identifier: MIT
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The rows of operations by Java's virtual threads, which Java has from version
 * 21 on. An older compiler can translate this class, because it finds them by
 * reflection.
 *
 * <pre>java Peer PERCENT ROW COUNT</pre>
 *
 * Prints a line "ROW_COUNT NS_PER_OPERATION", measured as by the other peers:
 * more and more operations until they take long enough. Before that it runs
 * five times as long, or half a second, so that the operations are compiled.
 */
final class Peer {
    private static final long USUAL_NS = 200_000_000;
    private static final long LEAST_WARM_UP_NS = 500_000_000;
    private static final int WARM_UP = 5;
    private static final int MOST_GROWTH = 50;

    /** Does about that many operations and returns how many it did. */
    private interface Run {
        int apply(int n) throws InterruptedException;
    }

    /** The work of one member of a crew. */
    private interface Work {
        void apply(int me, int n) throws InterruptedException;
    }

    private interface Step {
        void apply() throws InterruptedException;
    }

    private static final ThreadFactory FACTORY = factory();

    private static ThreadFactory factory() {
        try {
            Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
            return (ThreadFactory) Class.forName("java.lang.Thread$Builder")
                .getMethod("factory").invoke(builder);
        } catch (ReflectiveOperationException error) {
            return null;
        }
    }

    private static Thread start(Step step) {
        Thread thread = FACTORY.newThread(() -> {
            try {
                step.apply();
            } catch (InterruptedException error) {
                throw new IllegalStateException(error);
            }
        });
        thread.start();
        return thread;
    }

    private static Run crew(int count, Work work) {
        Thread[] members = new Thread[count];
        return n -> {
            int each = n / count + 1;
            for (int i = 0; i < count; i++) {
                int me = i;
                members[i] = start(() -> work.apply(me, each));
            }
            for (Thread member : members) {
                member.join();
            }
            return each * count;
        };
    }

    private static Run yields(int count) {
        return crew(count, (me, n) -> {
            for (int i = 0; i < n; i++) {
                Thread.yield();
            }
        });
    }

    /** Runs in a virtual thread: the main thread is a kernel thread. */
    private static Run createJoin(int count) {
        Thread[] threads = new Thread[count];
        return n -> {
            int batches = n / count + 1;
            start(() -> {
                for (int b = 0; b < batches; b++) {
                    for (int i = 0; i < count; i++) {
                        threads[i] = start(() -> { });
                    }
                    for (Thread thread : threads) {
                        thread.join();
                    }
                }
            }).join();
            return batches * count;
        };
    }

    private static Run turnsSemaphore() {
        Semaphore[] doors = {new Semaphore(1), new Semaphore(0)};
        return crew(2, (me, n) -> {
            for (int i = 0; i < n; i++) {
                doors[me].acquire();
                doors[1 - me].release();
            }
        });
    }

    private static Run turnsCondition() {
        ReentrantLock lock = new ReentrantLock();
        Condition changed = lock.newCondition();
        int[] turn = {0};
        return crew(2, (me, n) -> {
            for (int i = 0; i < n; i++) {
                lock.lock();
                while (turn[0] != me) {
                    changed.await();
                }
                turn[0] = 1 - me;
                changed.signal();
                lock.unlock();
            }
        });
    }

    /**
     * Two threads walk around a ring of three locks, one step behind each
     * other. Only its owner can unlock a lock, so each call places the threads
     * again.
     */
    private static Run turnsMutex() {
        ReentrantLock[] locks = {new ReentrantLock(), new ReentrantLock(),
            new ReentrantLock()};
        Semaphore[] placed = {new Semaphore(0), new Semaphore(0)};
        return crew(2, (me, n) -> {
            int place = me;
            locks[place].lock();
            placed[1 - me].release();
            placed[me].acquire();
            for (int i = 0; i < n; i++) {
                int next = (place + 1) % locks.length;
                locks[next].lock();
                locks[place].unlock();
                place = next;
            }
            locks[place].unlock();
        });
    }

    private static Run ring(int count) {
        Semaphore[] gates = new Semaphore[count];
        Semaphore arrived = new Semaphore(0);
        int[] hops = {0};
        for (int i = 0; i < count; i++) {
            gates[i] = new Semaphore(0);
        }
        for (int i = 0; i < count; i++) {
            Semaphore mine = gates[i];
            Semaphore next = gates[(i + 1) % count];
            start(() -> {
                while (true) {
                    mine.acquire();
                    (--hops[0] > 0 ? next : arrived).release();
                }
            });
        }
        return n -> {
            int all = (n / count + 1) * count;
            hops[0] = all;
            gates[0].release();
            arrived.acquire();
            return all;
        };
    }

    private static Run find(String row, int count) {
        switch (row) {
            case "yield": return yields(count);
            case "create_join": return createJoin(count);
            case "ping_pong_sem": return turnsSemaphore();
            case "ping_pong_cond": return turnsCondition();
            case "turns_mutex": return turnsMutex();
            case "ring": return ring(count);
            default: return null;
        }
    }

    private static double measure(long wanted, Run run)
            throws InterruptedException {
        long begin = System.nanoTime();
        long warmUp = Math.max(LEAST_WARM_UP_NS, WARM_UP * wanted);
        int n = run.apply(1);
        while (true) {
            long start = System.nanoTime();
            n = run.apply(n);
            long end = System.nanoTime();
            long took = end - start + 1;
            boolean isWarm = start - begin >= warmUp;
            if (took >= wanted && isWarm) {
                return (double) took / n;
            }
            double grow = Math.min(1.2 * wanted / took, MOST_GROWTH);
            n = (int) Math.min(n * grow + 1, Integer.MAX_VALUE / 2);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        int percent = args.length == 3 ? Integer.parseInt(args[0]) : 0;
        int count = args.length == 3 ? Integer.parseInt(args[2]) : 0;
        if (percent < 1 || count < 1) {
            System.err.println("usage: java Peer PERCENT ROW COUNT");
            System.exit(2);
        }
        if (FACTORY == null) {
            System.out.println("impossible: no virtual threads in this Java");
            System.exit(77);
        }
        Run run = find(args[1], count);
        if (run == null) {
            System.err.println("Peer: there is no row " + args[1]);
            System.exit(2);
        }
        System.out.printf("%s_%d %.4f%n", args[1], count,
            measure(USUAL_NS * percent / 100, run));
        System.exit(0);
    }
}
