#!/usr/bin/env python3
"""Plain numpy/scipy evaluation of the clone bound: central epsilon of one shuffled round.

With E = e^epsilon0, a = e^epsilon, each of n users draws one of two clones with probability p = 1/(E+1) each:

    delta(epsilon) = 1/n * sum_c Bin(n, 2p)(c) * c/2 * [(E-a) Pr[B >= t-1] - (aE-1) Pr[B >= t]],   B ~ Bin(c-1, 1/2),

where t - 1 = c - ceil(c (E-a) / ((E-1)(a+1))). Only the O(sqrt n) values of c inside a Bernstein window count.
Ordinary floating point, no certificate: about 10 digits up to n = 1e9; at 1e12 minutes of work and, by errors of 1e-6 in
scipy's binomial tails, 7 digits. Usage: reference.py EPSILON0 USERS DELTA
Prints the answer and the CPU seconds of the call alone, without start-up and imports.
"""
import math
import sys
import time

import numpy as np
from scipy.optimize import brentq
from scipy.special import betainc
from scipy.stats import binom

DROPPED = math.exp(-23)  # what lies outside the window, relative to delta
CHUNK = 1 << 16  # values of c evaluated at once: keeps the temporaries in cache


def clone_counts(users, rate, delta):
    """All c that matter, with their probability under Bin(users, rate).

    By Bernstein's inequality less than 4 * DROPPED * delta / E is missing, so the ratios of neighboring terms, summed
    and normalized, give the probabilities without any large logarithm of a factorial.
    """
    mean, log_tail = users * rate, -math.log(DROPPED * delta * rate)
    half_width = math.sqrt(2 * mean * (1 - rate) * log_tail) + log_tail
    c = np.arange(max(0, math.floor(mean - half_width)), min(users, math.ceil(mean + half_width)) + 1, dtype=float)
    log_mass = np.cumsum(np.log(np.r_[1.0, (users - c[:-1]) / (c[:-1] + 1) * (rate / (1 - rate))]))
    mass = np.exp(log_mass - log_mass.max())
    mass /= mass.sum()
    return c[c > 0], mass[c > 0]


def positive_part(c, E, a):
    """E(sum of c clone terms)_+ for each c. Written with one tail and one point mass: no 1 - cdf, little cancellation."""
    t = c + 1 - np.ceil(c * ((E - a) / ((E - 1) * (a + 1))))
    tail = np.where(t < c, betainc(np.minimum(t, c), np.maximum(c - t, 1), 0.5), 0.0)  # Pr[B >= t]
    point = binom.pmf(t - 1, c - 1, 0.5)  # Pr[B = t-1]
    return np.maximum(c / 2 * ((E - a) * point - (a - 1) * (E + 1) * tail), 0.0)


def clone_epsilon(epsilon0, users, delta):
    """The epsilon at which delta(epsilon) = delta, to about 10 digits."""
    E = math.exp(epsilon0)
    counts, mass = clone_counts(users, 2 / (E + 1), delta)

    def log_excess(epsilon):
        a, total = math.exp(epsilon), 0.0
        for start in range(0, len(counts), CHUNK):
            part = slice(start, start + CHUNK)
            total += float(np.dot(mass[part], positive_part(counts[part], E, a)))
        return math.log(max(total / users, sys.float_info.min)) - math.log(delta)

    if log_excess(0.0) <= 0:
        return 0.0
    high = min(epsilon0, 2 * math.sinh(epsilon0 / 2) * math.sqrt(4 * math.log(1 / delta) / users))
    while high < epsilon0 and log_excess(high) > 0:
        high = min(epsilon0, 2 * high)
    return brentq(log_excess, 0.0, high, xtol=1e-11 * high, rtol=1e-11)


if __name__ == "__main__":
    start = time.process_time()
    print(clone_epsilon(float(sys.argv[1]), int(float(sys.argv[2])), float(sys.argv[3])), time.process_time() - start)
