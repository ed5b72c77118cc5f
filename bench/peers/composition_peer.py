#!/usr/bin/env python3
"""Compose shuffled rounds with dp-accounting. Usage: composition_peer.py VARIANT EPSILON0 USERS DELTA ROUNDS

Prints the answer, the CPU seconds of enumerating the pair and building its privacy-loss distribution, and those of
composing and asking; start-up and imports are in neither. VARIANT is one of the keys of VARIANTS. All are pessimistic
with the package's discretization 1e-4.

The pair: each of n users draws one of two clones with probability p = 1/(E+1) each, E = e^epsilon0; a and b count them;
P = base * (E a + b) / n and Q = base * (a + E b) / n. Swapping a and b swaps P and Q, so one direction is enough.
"""
import math
import sys
import time

import numpy as np
from dp_accounting.pld import pld_pmf, privacy_loss_distribution as pld
from scipy.special import gammaln
from scipy.stats import binom

STEP = 1e-4  # the package's default


def clone_pair(epsilon0, users, delta):
    """Counts a, b, log P, log Q inside a window, and a bound on the P-mass outside, which counts as infinite loss.

    10 standard deviations leave out about 1e-19; for deltas below rounding errors 16 leave out about 1e-43.
    """
    E = math.exp(epsilon0)
    p = 1 / (E + 1)
    half_width = (10 if delta > 1e-12 else 16) * math.sqrt(users * p * (1 - p))
    low, high = max(0, math.floor(users * p - half_width)), math.ceil(users * p + half_width)
    a, b = (grid.ravel() for grid in np.meshgrid(*2 * [np.arange(low, high + 1)]))
    a, b = a[a + b > 0], b[a + b > 0]
    rest = users - a - b
    base = gammaln(users + 1) - gammaln(a + 1) - gammaln(b + 1) - gammaln(rest + 1)
    base += (a + b) * math.log(p) + rest * math.log1p(-2 * p)
    outside = 2 * (binom.cdf(low - 1, users - 1, p) + binom.sf(high - 1, users - 1, p))  # a - 1 <= Bin(n-1, p) <= a
    return a, b, base + np.log((E * a + b) / users), base + np.log((a + E * b) / users), float(outside)


def dictionaries(epsilon0, users, delta):
    """The package's constructor for two probability dictionaries: each loss is rounded up to the grid."""
    a, b, log_p, log_q, outside = clone_pair(epsilon0, users, delta)
    outcomes = list(zip(a.tolist(), b.tolist()))
    upper, lower = dict(zip(outcomes, log_p.tolist())), dict(zip(outcomes, log_q.tolist()))
    upper["outside"] = math.log(outside)
    return pld.from_two_probability_mass_functions(lower, upper)


def connect_the_dots(epsilon0, users, delta):
    """The package's connect-the-dots constructor, which wants delta(epsilon) at every point of the grid."""
    _, _, log_p, log_q, outside = clone_pair(epsilon0, users, delta)
    order = np.argsort(log_p - log_q)
    loss = (log_p - log_q)[order]
    # Long double: the constructor takes second differences and divides by the step, which enlarges rounding errors.
    masses = (np.exp(log[order].astype(np.longdouble))[::-1] for log in (log_p, log_q))
    tail_p, tail_q = (np.r_[np.cumsum(mass)[::-1], 0] for mass in masses)
    first, last = math.floor(loss[0] / STEP), math.ceil(loss[-1] / STEP)
    epsilons = np.arange(first, last + 1) * np.longdouble(STEP)
    above = np.searchsorted(loss, epsilons.astype(float), side="right")
    deltas = outside + np.maximum(tail_p[above] - np.exp(epsilons) * tail_q[above], 0.0)
    pmf = pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(STEP, first, last, deltas)
    return pld.PrivacyLossDistribution(pmf)


VARIANTS = {  # how to build, and what to pass to self_compose
    "dp-accounting, two dictionaries": (dictionaries, {}),
    "dp-accounting, connect the dots": (connect_the_dots, {}),
    "dp-accounting, connect the dots, tail_mass_truncation 1e-22": (connect_the_dots, {"tail_mass_truncation": 1e-22}),
}

if __name__ == "__main__":
    build, options = VARIANTS[sys.argv[1]]
    epsilon0, users, delta, rounds = map(float, sys.argv[2:])
    start = time.process_time()
    one_round = build(epsilon0, int(users), delta)
    built = time.process_time()
    answer = one_round.self_compose(int(rounds), **options).get_epsilon_for_delta(delta)
    print(answer, built - start, time.process_time() - built)
