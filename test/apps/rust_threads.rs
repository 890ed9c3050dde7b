// SPDX-License-Identifier: MIT
// Every thread feature of Rust's standard library, in 200 threads. The program
// prints sums that do not depend on the threads' order.
use std::cell::RefCell;
use std::panic;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{mpsc, Arc, Barrier, Condvar, Mutex, Once, RwLock};
use std::thread;
use std::time::{Duration, Instant};

const THREADS: u64 = 200;
const ROUNDS: u64 = 100;

static DROPPED: AtomicUsize = AtomicUsize::new(0);
static ONCE: Once = Once::new();
static ONCE_CALLS: AtomicUsize = AtomicUsize::new(0);

struct Tracked(Vec<u64>);

impl Drop for Tracked {
    fn drop(&mut self) {
        DROPPED.fetch_add(1, Ordering::SeqCst);
    }
}

thread_local! {
    static TRACKED: RefCell<Tracked> = RefCell::new(Tracked(Vec::new()));
}

struct Shared {
    barrier: Barrier,
    sum: Mutex<u64>,
    writes: RwLock<u64>,
    gate: (Mutex<bool>, Condvar),
}

fn worker(me: u64, shared: &Shared, results: &mpsc::Sender<u64>) -> bool {
    shared.barrier.wait();
    for round in 0..ROUNDS {
        results.send(me * 1000 + round).unwrap();
        *shared.sum.lock().unwrap() += me;
        if round % 10 == 0 {
            *shared.writes.write().unwrap() += 1;
        } else {
            assert!(*shared.writes.read().unwrap() <= THREADS * ROUNDS);
        }
        if round % 25 == 0 {
            thread::sleep(Duration::from_micros(300));
        }
        TRACKED.with(|t| t.borrow_mut().0.push(me + round));
        ONCE.call_once(|| {
            thread::sleep(Duration::from_millis(1));
            ONCE_CALLS.fetch_add(1, Ordering::SeqCst);
        });
    }
    TRACKED.with(|t| assert_eq!(t.borrow().0.len() as u64, ROUNDS));
    let (lock, changed) = &shared.gate;
    let mut is_open = lock.lock().unwrap();
    while !*is_open {
        let wait = Duration::from_millis(500);
        is_open = changed.wait_timeout(is_open, wait).unwrap().0;
    }
    drop(is_open);
    // A panic unwinds through a lock and is caught.
    panic::catch_unwind(|| {
        if me % 7 == 0 {
            panic::panic_any(1u32);
        }
    })
    .is_err()
}

fn run_workers() {
    let shared = Arc::new(Shared {
        barrier: Barrier::new(THREADS as usize),
        sum: Mutex::new(0),
        writes: RwLock::new(0),
        gate: (Mutex::new(false), Condvar::new()),
    });
    let (sender, receiver) = mpsc::channel();
    let threads: Vec<_> = (0..THREADS)
        .map(|me| {
            let shared = Arc::clone(&shared);
            let sender = sender.clone();
            thread::Builder::new()
                .name(format!("worker {}", me))
                .spawn(move || worker(me, &shared, &sender))
                .unwrap()
        })
        .collect();
    drop(sender);
    let nr_expected = (THREADS * ROUNDS) as usize;
    let received: u64 = receiver.iter().take(nr_expected).sum();
    *shared.gate.0.lock().unwrap() = true;
    shared.gate.1.notify_all();
    let panicked = threads
        .into_iter()
        .map(|t| t.join().unwrap())
        .filter(|p| *p)
        .count();
    println!("received {}", received);
    println!("sum {}", *shared.sum.lock().unwrap());
    println!("writes {}", *shared.writes.read().unwrap());
    println!("panicked {}", panicked);
    println!("once {}", ONCE_CALLS.load(Ordering::SeqCst));
    println!("dropped {}", DROPPED.load(Ordering::SeqCst));
}

// Threads with references to their maker's stack.
fn run_scoped() {
    let numbers: Vec<u64> = (0..10_000).collect();
    let total = Mutex::new(0u64);
    thread::scope(|scope| {
        for chunk in numbers.chunks(100) {
            let total = &total;
            scope.spawn(move || {
                let part: u64 = chunk.iter().sum();
                thread::yield_now();
                *total.lock().unwrap() += part;
            });
        }
    });
    println!("scoped {}", total.into_inner().unwrap());
}

fn run_park() {
    let flags: Arc<Vec<AtomicBool>> =
        Arc::new((0..50).map(|_| AtomicBool::new(false)).collect());
    let threads: Vec<_> = (0..50)
        .map(|me: usize| {
            let flags = Arc::clone(&flags);
            thread::spawn(move || {
                while !flags[me].load(Ordering::SeqCst) {
                    thread::park();
                }
                me
            })
        })
        .collect();
    for (flag, thread) in flags.iter().zip(&threads) {
        flag.store(true, Ordering::SeqCst);
        thread.thread().unpark();
    }
    let sum: usize = threads.into_iter().map(|t| t.join().unwrap()).sum();
    println!("parked {}", sum);
    let start = Instant::now();
    thread::park_timeout(Duration::from_millis(20));
    assert!(start.elapsed() < Duration::from_secs(10));
}

// A channel without a buffer: each send meets a receive.
fn run_rendezvous() {
    let (sender, receiver) = mpsc::sync_channel::<u64>(0);
    let producer = thread::spawn(move || {
        for number in 0..2000 {
            sender.send(number).unwrap();
        }
    });
    let sum: u64 = receiver.iter().sum();
    producer.join().unwrap();
    println!("rendezvous {}", sum);
}

fn poison() {
    let lock = Arc::new(Mutex::new(1));
    let inner = Arc::clone(&lock);
    let result = thread::spawn(move || {
        let _guard = inner.lock().unwrap();
        panic!("on purpose");
    })
    .join();
    println!("poisoned {} {}", result.is_err(), lock.is_poisoned());
}

fn main() {
    panic::set_hook(Box::new(|_| {}));
    run_workers();
    run_scoped();
    run_park();
    run_rendezvous();
    poison();
}
