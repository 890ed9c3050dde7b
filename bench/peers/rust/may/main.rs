// SPDX-License-Identifier: MIT
//! The rows of operations by may's coroutines, which have stacks of their own,
//! on a worker for each CPU.

#[path = "../measure.rs"]
mod measure;

use may::coroutine::{self, JoinHandle};
use may::sync::{Condvar, Mutex, Semphore};
use measure::Run;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;

const STACK_WORDS: usize = 8192;

fn spawn(work: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    // Safe: no coroutine here relies on thread-local storage.
    unsafe { coroutine::spawn(work) }
}

/// Runs `work(me, operations)` in `count` coroutines at once.
fn crew<W>(count: usize, work: W) -> Run
where
    W: Fn(usize, usize) + Clone + Send + 'static,
{
    Box::new(move |n| {
        let each = n / count + 1;
        let members: Vec<_> = (0..count)
            .map(|me| {
                let work = work.clone();
                spawn(move || work(me, each))
            })
            .collect();
        for member in members {
            member.join().expect("a coroutine");
        }
        each * count
    })
}

fn yields(count: usize) -> Run {
    crew(count, |_, n| {
        for _ in 0..n {
            coroutine::yield_now();
        }
    })
}

fn create_join(count: usize) -> Run {
    Box::new(move |n| {
        let batches = n / count + 1;
        // Runs in a coroutine, as the main thread is not a worker.
        let all = spawn(move || {
            let mut members = Vec::with_capacity(count);
            for _ in 0..batches {
                members.extend((0..count).map(|_| spawn(|| {})));
                for member in members.drain(..) {
                    member.join().expect("a coroutine");
                }
            }
        });
        all.join().expect("a coroutine");
        batches * count
    })
}

fn turns_sem() -> Run {
    let doors = Arc::new([Semphore::new(1), Semphore::new(0)]);
    crew(2, move |me, n| {
        for _ in 0..n {
            doors[me].wait();
            doors[1 - me].post();
        }
    })
}

fn turns_cond() -> Run {
    let shared = Arc::new((Mutex::new(0), Condvar::new()));
    crew(2, move |me, n| {
        let (mutex, changed) = &*shared;
        for _ in 0..n {
            let mut turn = mutex.lock().unwrap();
            while *turn != me {
                turn = changed.wait(turn).unwrap();
            }
            *turn = 1 - me;
            changed.notify_one();
        }
    })
}

/// Two coroutines walk around a ring of three mutexes, one step behind each
/// other. The second one starts when the first has its place, and each gives
/// its mutex back at the end of a call.
fn turns_mutex() -> Run {
    Box::new(move |n| {
        let mutexes: Arc<[Mutex<()>; 3]> = Arc::default();
        let placed = Arc::new([Semphore::new(0), Semphore::new(0)]);
        let each = n / 2 + 1;
        let members = [0, 1].map(|me: usize| {
            let (mutexes, placed) = (mutexes.clone(), placed.clone());
            spawn(move || {
                let mut place = me;
                let mut guard = mutexes[place].lock().unwrap();
                placed[1 - me].post();
                placed[me].wait();
                for _ in 0..each {
                    place = (place + 1) % mutexes.len();
                    let next = mutexes[place].lock().unwrap();
                    guard = next;
                }
                drop(guard);
            })
        });
        for member in members {
            member.join().expect("a coroutine");
        }
        each * 2
    })
}

fn ring(count: usize) -> Run {
    let gates: Arc<Vec<_>> =
        Arc::new((0..count).map(|_| Semphore::new(0)).collect());
    let arrived = Arc::new(Semphore::new(0));
    let hops = Arc::new(AtomicUsize::new(0));
    for me in 0..count {
        let (gates, arrived) = (gates.clone(), arrived.clone());
        let hops = hops.clone();
        spawn(move || loop {
            gates[me].wait();
            // Only the coroutine that has the token reads and writes it.
            let left = hops.load(Relaxed) - 1;
            hops.store(left, Relaxed);
            if left > 0 {
                gates[(me + 1) % count].post();
            } else {
                arrived.post();
            }
        });
    }
    Box::new(move |n| {
        let n = (n / count + 1) * count;
        hops.store(n, Relaxed);
        gates[0].post();
        arrived.wait();
        n
    })
}

fn find(row: &str, count: usize) -> Option<Run> {
    may::config()
        .set_workers(measure::workers())
        .set_stack_size(STACK_WORDS);
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
