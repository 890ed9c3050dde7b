// SPDX-License-Identifier: MIT
// Threads that wait in a generic function, which a method of a trait calls, and
// that a function with a name beyond ASCII.
use std::fmt::Debug;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

type Gate = Arc<(Mutex<bool>, Condvar)>;

struct Till<T>(T);

trait Sell {
    fn sell(&self, gate: &Gate);
}

fn wait<const N: usize, T: Debug>(gate: &Gate, items: &[T; N]) {
    let mut is_open = gate.0.lock().unwrap();
    while !*is_open {
        is_open = gate.1.wait(is_open).unwrap();
    }
    drop(is_open);
    println!("{:?}", items);
}

impl<T: Debug> Sell for Till<T> {
    fn sell(&self, gate: &Gate) {
        wait(gate, &[&self.0; 3]);
    }
}

fn öffne(till: &dyn Sell, gate: &Gate) {
    till.sell(gate);
}

fn main() {
    let gate = Gate::new((Mutex::new(false), Condvar::new()));
    let threads: Vec<_> = (0..3u8)
        .map(|me| {
            let gate = Gate::clone(&gate);
            thread::spawn(move || öffne(&Till(vec![me]), &gate))
        })
        .collect();
    println!("ready");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    *gate.0.lock().unwrap() = true;
    gate.1.notify_all();
    threads.into_iter().for_each(|t| t.join().unwrap());
}
