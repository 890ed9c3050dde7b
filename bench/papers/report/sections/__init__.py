# SPDX-License-Identifier: MIT
"""The page's section on each experiment: one function each, which uses the
cells that exist. It is called with Cells and with the class of the result.
"""

from bench.papers.report.sections import (arch, decode, locks, nptl, peers,
                                           power, priorities, ptl_n, ring,
                                           tsp)

# The sections in the papers' order.
SECTIONS = {"ptl-n": ptl_n.section, "decode": decode.section,
            "priorities": priorities.section, "locks": locks.section,
            "tsp": tsp.section, "nptl": nptl.section, "arch": arch.section,
            "ring": ring.section, "power": power.section,
            "peers": peers.section}
