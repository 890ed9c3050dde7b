// SPDX-License-Identifier: MIT
// The micro benchmarks' operations done by goroutines.
//
//	go_peer PERCENT ROW COUNT
//	go_peer echo
//
// The first prints a line "ROW_COUNT NS_PER_OPERATION" as the C programs do,
// measured in the same way: more and more operations until they take long
// enough. The second is an echo server.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
)

const usualTime = 200 * time.Millisecond

// A clock of elapsed time, or with BENCH_CLOCK=cpu of this process's CPU time.
func now() time.Duration {
	if os.Getenv("BENCH_CLOCK") != "cpu" {
		return time.Since(started)
	}
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

var started = time.Now()

// measure returns the nanoseconds of one operation. run does about that many
// and returns how many it did.
func measure(wanted time.Duration, run func(n int) int) float64 {
	for n := run(1); ; {
		start := now()
		n = run(n)
		took := now() - start + 1
		if took >= wanted {
			return float64(took) / float64(n)
		}
		grow := 1.2 * float64(wanted) / float64(took)
		if grow > 50 {
			grow = 50
		}
		n = int(float64(n)*grow) + 1
	}
}

// crew runs work in count goroutines at once.
func crew(count, n int, work func(me, n int)) int {
	var done sync.WaitGroup
	each := n/count + 1
	done.Add(count)
	for me := 0; me < count; me++ {
		go func(me int) {
			work(me, each)
			done.Done()
		}(me)
	}
	done.Wait()
	return each * count
}

func yield(count int) func(int) int {
	return func(n int) int {
		return crew(count, n, func(_, n int) {
			for i := 0; i < n; i++ {
				runtime.Gosched()
			}
		})
	}
}

func createJoin(count int) func(int) int {
	return func(n int) int {
		var done sync.WaitGroup
		batches := n/count + 1
		for b := 0; b < batches; b++ {
			done.Add(count)
			for i := 0; i < count; i++ {
				go done.Done()
			}
			done.Wait()
		}
		return batches * count
	}
}

func fib(n int) int {
	if n < 2 {
		return n
	}
	var left int
	var done sync.WaitGroup
	done.Add(1)
	go func() {
		left = fib(n - 1)
		done.Done()
	}()
	right := fib(n - 2)
	done.Wait()
	return left + right
}

func nrGoroutines(n int) int {
	if n < 2 {
		return 0
	}
	return 1 + nrGoroutines(n-1) + nrGoroutines(n-2)
}

func forkJoin(int) func(int) int {
	each := nrGoroutines(15)
	return func(n int) int {
		rounds := n/each + 1
		for i := 0; i < rounds; i++ {
			if fib(15) != 610 {
				panic("wrong")
			}
		}
		return rounds * each
	}
}

func pingPongCond(int) func(int) int {
	var mutex sync.Mutex
	changed := sync.NewCond(&mutex)
	turn := 0
	return func(n int) int {
		return crew(2, n, func(me, n int) {
			for i := 0; i < n; i++ {
				mutex.Lock()
				for turn != me {
					changed.Wait()
				}
				turn = 1 - me
				changed.Signal()
				mutex.Unlock()
			}
		})
	}
}

// A channel with room for one is Go's semaphore.
func pingPongSem(int) func(int) int {
	doors := [2]chan struct{}{make(chan struct{}, 1), make(chan struct{}, 1)}
	doors[0] <- struct{}{}
	return func(n int) int {
		return crew(2, n, func(me, n int) {
			for i := 0; i < n; i++ {
				<-doors[me]
				doors[1-me] <- struct{}{}
			}
		})
	}
}

// turnsMutex is turns_mutex.c with goroutines: two walk around a ring of three
// mutexes, one step behind each other. Go lets any goroutine unlock, so the
// caller takes the first locks before the goroutines exist.
func turnsMutex(int) func(int) int {
	var mutexes [3]sync.Mutex
	place := [2]int{0, 1}
	mutexes[0].Lock()
	mutexes[1].Lock()
	return func(n int) int {
		return crew(2, n, func(me, n int) {
			for i := 0; i < n; i++ {
				next := (place[me] + 1) % len(mutexes)
				mutexes[next].Lock()
				mutexes[place[me]].Unlock()
				place[me] = next
			}
		})
	}
}

func ring(count int) func(int) int {
	doors := make([]chan struct{}, count)
	arrived := make(chan struct{}, 1)
	hops := 0
	for i := range doors {
		doors[i] = make(chan struct{}, 1)
	}
	for i := range doors {
		go func(mine, next chan struct{}) {
			for range mine {
				hops--
				if hops > 0 {
					next <- struct{}{}
				} else {
					arrived <- struct{}{}
				}
			}
		}(doors[i], doors[(i+1)%count])
	}
	return func(n int) int {
		hops = (n/count + 1) * count
		n = hops
		doors[0] <- struct{}{}
		<-arrived
		return n
	}
}

var rows = map[string]func(count int) func(int) int{
	"yield":          yield,
	"create_join":    createJoin,
	"fork_join_fib":  forkJoin,
	"ping_pong_cond": pingPongCond,
	"ping_pong_sem":  pingPongSem,
	"turns_mutex":    turnsMutex,
	"ring":           ring,
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "echo" {
		echo()
	}
	if len(os.Args) != 4 || rows[os.Args[2]] == nil {
		fmt.Fprintln(os.Stderr, "usage: go_peer PERCENT ROW COUNT | echo")
		os.Exit(2)
	}
	percent, err := strconv.Atoi(os.Args[1])
	count, err2 := strconv.Atoi(os.Args[3])
	if err != nil || err2 != nil || percent < 1 || count < 1 {
		fmt.Fprintln(os.Stderr, "go_peer: not a number above 0")
		os.Exit(2)
	}
	wanted := usualTime * time.Duration(percent) / 100
	ns := measure(wanted, rows[os.Args[2]](count))
	fmt.Printf("%s_%d %.4g\n", os.Args[2], count, ns)
}
