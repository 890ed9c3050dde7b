// SPDX-License-Identifier: MIT
//! Measures a row of operations, in the same way as the other peers: more and
//! more operations until they take long enough.
//!
//!     PROGRAM PERCENT ROW COUNT
//!
//! Prints a line "ROW_COUNT NS_PER_OPERATION".

use std::time::{Duration, Instant};

const USUAL_TIME: Duration = Duration::from_millis(200);
const MOST_GROWTH: f64 = 50.0;

/// Does about that many operations and returns how many it did.
pub type Run = Box<dyn FnMut(usize) -> usize>;

fn measure(wanted: Duration, mut run: Run) -> f64 {
    let mut n = run(1);
    loop {
        let start = Instant::now();
        n = run(n);
        let took = start.elapsed() + Duration::from_nanos(1);
        if took >= wanted {
            return took.as_nanos() as f64 / n as f64;
        }
        let grow = 1.2 * wanted.as_secs_f64() / took.as_secs_f64();
        n = (n as f64 * grow.min(MOST_GROWTH)) as usize + 1;
    }
}

/// `find` returns the function to measure for a row and a count.
pub fn main(find: fn(&str, usize) -> Option<Run>) {
    let args: Vec<String> = std::env::args().collect();
    let number = |nr: usize| args.get(nr).and_then(|word| word.parse().ok());
    let (percent, count) = match (number(1), number(3)) {
        (Some(percent), Some(count)) if percent > 0 && count > 0 => {
            (percent, count)
        }
        _ => usage(),
    };
    let row = &args[2];
    let wanted = USUAL_TIME * percent as u32 / 100;
    match find(row, count) {
        Some(run) => println!("{row}_{count} {:.4}", measure(wanted, run)),
        None => usage(),
    }
}

fn usage() -> ! {
    eprintln!("usage: PEER PERCENT ROW COUNT");
    std::process::exit(2);
}

/// One worker for each CPU allowed.
pub fn workers() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}
