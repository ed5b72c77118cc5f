#!/usr/bin/env python3
"""Ask one peer package the question of this benchmark. Usage: peer.py PEER EPSILON0 USERS DELTA

Prints the answer and the CPU seconds of the call alone, without start-up and imports.
PEER is one of the keys of PEERS. `numericalanalysis` has two accuracy settings, the width `step` of the intervals it
sums over and the `num_iterations` of its bisection. Each package is asked with its own defaults, and once more with
step 1, the finest there is.
"""
import sys
import time


def random_allocation_numerical(epsilon0, users, delta, step=None, num_iterations=10):
    from random_allocation.external_sources.shuffle_external import numericalanalysis
    from random_allocation.other_schemes.shuffle import _effective_shuffle_step
    step = step or _effective_shuffle_step(users, -1.0)  # the default: sqrt(users / 2)
    return numericalanalysis(users, epsilon0, delta, num_iterations, step, True)


def random_allocation_fine(epsilon0, users, delta):
    return random_allocation_numerical(epsilon0, users, delta, step=1, num_iterations=30)


def random_allocation_closed_form(epsilon0, users, delta):
    from random_allocation.external_sources.shuffle_external import closedformanalysis
    return closedformanalysis(users, epsilon0, delta)


def hierarchical_numerical(epsilon0, users, delta):
    from hierarchical_mechanism_LDP.computeamplification import numericalanalysis
    return numericalanalysis(users, epsilon0, delta, 10, 100, True)  # the defaults of get_privacy


def hierarchical_closed_form(epsilon0, users, delta):
    from hierarchical_mechanism_LDP.computeamplification import closedformanalysis
    return closedformanalysis(users, epsilon0, delta)


PEERS = {
    "random-allocation numerical": random_allocation_numerical,
    "random-allocation numerical, step 1": random_allocation_fine,
    "random-allocation closed form": random_allocation_closed_form,
    "LDP-hierarchical-mechanism numerical": hierarchical_numerical,
    "LDP-hierarchical-mechanism closed form": hierarchical_closed_form,
}

if __name__ == "__main__":
    name, epsilon0, users, delta = sys.argv[1:]
    PEERS[name](1, 2, 0.5)  # imports the package
    start = time.process_time()
    print(PEERS[name](float(epsilon0), int(float(users)), float(delta)), time.process_time() - start)
