# SPDX-License-Identifier: MIT
"""Small results of the papers' experiments, in the form that each writes."""

from arch_results import ARCH


def side(elapsed_us, spin_us, notices=None):
    found = {"elapsed_us": elapsed_us, "spin_us": spin_us, "io_us": 100}
    return found if notices is None else {**found, "notices": notices}


def listed(medians):
    return {key: {name: [figure * 0.9, figure, figure * 1.1]
                  for name, figure in got.items()}
            for key, got in medians.items()}


def lock(lock_ns, unlock_ns, fences=0):
    return {"medians": {"lock": lock_ns, "unlock": unlock_ns,
                        "lock_fences": fences, "unlock_fences": 0},
            "samples": {"lock": [lock_ns - 1, lock_ns, lock_ns + 1],
                        "unlock": [unlock_ns]},
            "impossible": "", "error": ""}


LOCKS = {"suite": "papers/locks", "unit": "ns", "rows": {
    "libc mutex": lock(10, 8),
    "kernel semaphore": lock(320, 200),
    "plain variable": lock(4, 2),
    "Peterson, 2 threads": lock(8, 1, fences=1),
    "bakery, 8 threads": {"medians": {}, "samples": {},
                          "impossible": "no more than <2> threads"}}}


def cost(unit, nptl, linuxthreads, weft):
    samples = {"NPTL": nptl, "LinuxThreads": linuxthreads, "weft": weft}
    return {"unit": unit, "samples": samples,
            "medians": {name: sorted(each)[len(each) // 2]
                        for name, each in samples.items()}}


NPTL = {"suite": "papers/nptl", "rows": {
    "mutex call": cost("ns", [9, 10, 11, 12], [9, 10, 11, 12], [5, 5, 5, 5]),
    "create": cost("us", [10, 11, 12], [30, 31, 32], [1, 1, 1]),
    "join": {"unit": "us", "medians": {"NPTL": 5}, "samples": {},
             "errors": {"LinuxThreads": "status 1"}}},
    "calls": {"semaphore call": {"NPTL": 0.0, "LinuxThreads": 0.0},
              "semaphore that wakes": {"NPTL": 1.0},
              "switch by mutex": {"NPTL": 1.2, "LinuxThreads": 2.0,
                                  "weft": 0.0}},
    "calls_by_kind": {
        "semaphore call": {"NPTL": {}, "LinuxThreads": {}},
        "semaphore that wakes": {"NPTL": {"futex": 1.0}},
        "switch by mutex": {"NPTL": {"futex": 1.2}, "weft": {},
                            "LinuxThreads": {"kill": 1.0,
                                             "rt_sigsuspend": 1.0}}},
    "witness": {"rows": {"mutex call": {
        "unit": "ns", "samples": {"NPTL": [9, 10, 11]}, "medians": {"NPTL": 10},
        "impossible": {"dietlibc": "does not build: no <header>"},
        "errors": {}}},
                "calls": {"mutex call": {"NPTL": 0.0}}}}

TSP = {"suite": "papers/tsp", "cities": {
    "6": {"no threads": 0.1, "native": 0.4, "weft, 1 VP": 0.2,
          "weft, all VPs": 0.2},
    "11": {"no threads": 100, "native": 52, "weft, 1 VP": 101,
           "weft, all VPs": 51}},
    "locks": {"1": {"11": {"native": {"mutex": 60, "semaphore": 300},
                           "weft, 1 VP": {"plain": 100}}}},
    "lock_samples": {"1": {"11": {"native": {"mutex": [59, 60, 61]}}}},
    "impossible": {"native, plain": "right on one CPU only"},
    "failed": {"6, weft, all VPs": "status 2"}}


def ways(**latencies):
    medians = {way.replace("_", " "): {"latency": ns}
               for way, ns in latencies.items()}
    return {"medians": medians, "samples": listed(medians)}


RING = {"suite": "papers/ring", "go": None, "rings": {
    "1": {"5": ways(signals=2000, words=100, semaphores=50),
          "1000": {**ways(signals=4000, words=200),
                   "impossible": {"polling": "over 10 s a round"}}},
    "2": {"2": ways(signals=5000, polling=100),
          "3": ways(signals=5000, polling=2000000)}}}


def power(latency, cpu):
    return {"medians": {"latency": latency, "cpu": cpu},
            "samples": {"latency": [latency], "cpu": [cpu]}}


WORDS = {"0": power(9000, 0.3), "1": power(300, 0.9), "2": power(280, 1.8),
         "adaptive": power(310, 0.8)}
POWER = {"suite": "papers/power", "vps": {
    "2": {"a ring of 5 threads": WORDS,
          "a word every 15 us": {**WORDS, "2": {"error": "status 1"}}},
    "4": {"a word every 15 us": WORDS}}}

PEERS = {"suite": "papers/peers", "cpus": {
    "1 CPU": {
        "ring of 5": {"unit": "ns", "medians": {
            "native": 4000, "weft": 40, "Go": 120, "tokio": 60},
            "samples": {"weft": [39, 40, 41], "tokio": [59, 60, 61]},
            "impossible": {"may": "no 'cargo' is installed"}},
        "yield of 2": {"unit": "ns", "medians": {
            "native": 900, "weft": 30, "Go": 20}, "samples": {}}},
    "all CPUs": {
        "ring of 5": {"unit": "ns", "medians": {"native": 9000, "weft": 90},
                      "samples": {}, "errors": {"Go": "status 2"}}}}}

MISS = {"plain": side(10000, 0), "native": side(10100, 9000),
        "weft process favoured": side(12000, 9900, 160),
        "model favoured": side(11000, 9500), "model copies": side(15000, 9500),
        "model tells": side(12000, 9000)}
HIT = {"plain": side(200, 0), "native": side(400, 150),
       "weft process": side(500, 150, 0)}
PTL_N = {"suite": "papers/ptl-n", "rows": {
    "slow-read-miss": {"8": {
        "medians": MISS, "samples": listed(MISS),
        "usable": {"native": 0.95, "weft process favoured": 0.91},
        "failed": {"weft uring": "no io_uring"}}},
    "local-read-hit": {"64": {"medians": HIT}}}}

DECODE = {"suite": "papers/decode", "rows": {
    "slow, 64 KiB, decoding takes 1 of reading": {
        "medians": {name: {"elapsed_us": us, "decode_us": 900, "sum": 7}
                    for name, us in (("read only", 1000), ("decode only", 990),
                                     ("plain", 2000), ("native", 1100),
                                     ("weft process", 1050))},
        "samples": {"plain": {"elapsed_us": [1990, 2000, 2010]}},
        "hidden": {"native": 0.9, "weft process": 0.95, "weft uring": None},
        "failed": {"weft uring": "its samples differ"}}}}


def mixed(us, mb):
    medians = {"small_us": us, "small_p99_us": 9 * us, "turn_us": 2 * us,
               "read_mb": mb, "write_mb": mb, "compute": 0.5}
    return medians, {name: [figure] for name, figure in medians.items()}


PRIORITIES = {"suite": "papers/priorities", "rows": {"slow": {
    "medians": {"io-nice 0": mixed(400, 10)[0], "io-nice -5": mixed(300, 9)[0]},
    "samples": {"io-nice 0": mixed(400, 10)[1],
                "io-nice -5": mixed(300, 9)[1]},
    "failed": {"native": "status 1"}}}}

ALL = {"locks": LOCKS, "nptl": NPTL, "tsp": TSP, "ring": RING, "power": POWER,
       "peers": PEERS, "ptl-n": PTL_N, "decode": DECODE,
       "priorities": PRIORITIES, "arch": ARCH}
