// SPDX-License-Identifier: MIT
//! The rows of operations by tokio's tasks. With one CPU they run on the
//! runtime for one kernel thread, else on that with a worker for each CPU.

#[path = "../measure.rs"]
mod measure;

use measure::Run;
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Mutex, Notify, Semaphore};
use tokio::task::yield_now;

fn runtime() -> Arc<Runtime> {
    let workers = measure::workers();
    let made = if workers == 1 {
        Builder::new_current_thread().build()
    } else {
        Builder::new_multi_thread().worker_threads(workers).build()
    };
    Arc::new(made.expect("a runtime"))
}

/// Runs `work(me, operations)` in `count` tasks at once.
fn crew<W, F>(count: usize, work: W) -> Run
where
    W: Fn(usize, usize) -> F + Clone + Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let runtime = runtime();
    Box::new(move |n| {
        let each = n / count + 1;
        let work = work.clone();
        runtime.block_on(async move {
            let tasks: Vec<_> =
                (0..count).map(|me| tokio::spawn(work(me, each))).collect();
            for task in tasks {
                task.await.expect("a task");
            }
        });
        each * count
    })
}

fn yields(count: usize) -> Run {
    crew(count, |_, n| async move {
        for _ in 0..n {
            yield_now().await;
        }
    })
}

fn create_join(count: usize) -> Run {
    let runtime = runtime();
    Box::new(move |n| {
        let batches = n / count + 1;
        // Runs in a task, as block_on itself is not a worker.
        let work = async move {
            let mut tasks = Vec::with_capacity(count);
            for _ in 0..batches {
                tasks.extend((0..count).map(|_| tokio::spawn(async {})));
                for task in tasks.drain(..) {
                    task.await.expect("a task");
                }
            }
        };
        runtime.block_on(async { tokio::spawn(work).await.expect("a task") });
        batches * count
    })
}

async fn acquire(semaphore: &Semaphore) {
    semaphore.acquire().await.expect("it is open").forget();
}

fn turns_sem() -> Run {
    let doors = Arc::new([Semaphore::new(1), Semaphore::new(0)]);
    crew(2, move |me, n| {
        let doors = doors.clone();
        async move {
            for _ in 0..n {
                acquire(&doors[me]).await;
                doors[1 - me].add_permits(1);
            }
        }
    })
}

/// tokio has no condition variable. A Notify acts as one if the waiter is
/// enabled before it unlocks the mutex.
fn turns_cond() -> Run {
    let shared = Arc::new((Mutex::new(0), Notify::new()));
    crew(2, move |me, n| {
        let shared = shared.clone();
        async move {
            let (mutex, changed) = &*shared;
            for _ in 0..n {
                let mut turn = mutex.lock().await;
                while *turn != me {
                    let waiter = changed.notified();
                    tokio::pin!(waiter);
                    waiter.as_mut().enable();
                    drop(turn);
                    waiter.await;
                    turn = mutex.lock().await;
                }
                *turn = 1 - me;
                changed.notify_one();
            }
        }
    })
}

/// Two tasks walk around a ring of three mutexes, one step behind each other.
fn turns_mutex() -> Run {
    let mutexes: Arc<[Arc<Mutex<()>>; 3]> = Arc::default();
    let held = Arc::new([0, 1].map(|place| {
        let guard = mutexes[place].clone().try_lock_owned();
        Mutex::new((place, guard.expect("nobody has it")))
    }));
    crew(2, move |me, n| {
        let (mutexes, held) = (mutexes.clone(), held.clone());
        async move {
            let mut mine = held[me].lock().await;
            for _ in 0..n {
                let next = (mine.0 + 1) % mutexes.len();
                *mine = (next, mutexes[next].clone().lock_owned().await);
            }
        }
    })
}

fn ring(count: usize) -> Run {
    let runtime = runtime();
    let gates: Arc<Vec<_>> =
        Arc::new((0..count).map(|_| Notify::new()).collect());
    let arrived = Arc::new(Notify::new());
    let hops = Arc::new(AtomicUsize::new(0));
    for me in 0..count {
        let (gates, arrived) = (gates.clone(), arrived.clone());
        let hops = hops.clone();
        runtime.spawn(async move {
            loop {
                gates[me].notified().await;
                // Only the task that has the token reads and writes it.
                let left = hops.load(Relaxed) - 1;
                hops.store(left, Relaxed);
                if left > 0 {
                    gates[(me + 1) % count].notify_one();
                } else {
                    arrived.notify_one();
                }
            }
        });
    }
    Box::new(move |n| {
        let n = (n / count + 1) * count;
        hops.store(n, Relaxed);
        gates[0].notify_one();
        runtime.block_on(arrived.notified());
        n
    })
}

fn find(row: &str, count: usize) -> Option<Run> {
    Some(match row {
        "yield" => yields(count),
        "create_join" => create_join(count),
        "ping_pong_sem" => turns_sem(),
        "ping_pong_cond" => turns_cond(),
        "turns_mutex" => turns_mutex(),
        "ring" => ring(count),
        _ => return None,
    })
}

fn main() {
    measure::main(find);
}
