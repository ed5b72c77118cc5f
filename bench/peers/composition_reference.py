#!/usr/bin/env python3
"""Central epsilon of T composed rounds on the clone pair, without a grid. Usage: composition_reference.py EPSILON0 USERS DELTA ROUNDS

With L = log(P/Q), M(z) = sum P e^(zL) and any t > 0, delta(epsilon) is the integral over all real s of
M(z)^T e^(-z epsilon) / (z (z+1)) / (2 pi) at z = t + is. For T >= 100 it decays like a Gaussian and the midpoint rule has
about 10 digits; one round is a question for reference.py. Ordinary floating point, no certificate.
"""
import math
import sys

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from composition_peer import clone_pair

DEVIATIONS, NODES = 14, 700


def composed_epsilon(epsilon0, users, delta, rounds):
    _, _, log_p, log_q, _ = clone_pair(epsilon0, users, min(delta, 1e-20))
    loss, mass = log_p - log_q, np.exp(log_p)
    mass /= mass.sum()

    def log_mgf(t):
        return math.log(np.dot(mass, np.exp(t * loss)))

    def chernoff(t):  # the smallest epsilon + constant this t can prove: a good line to integrate along
        return (rounds * log_mgf(t) - math.log(delta)) / t

    best = minimize_scalar(chernoff, bounds=(0.01, 50), method="bounded")
    t = best.x
    tilted = mass * np.exp(t * loss - log_mgf(t))
    mean = np.dot(tilted, loss)
    step = DEVIATIONS / math.sqrt(rounds * np.dot(tilted, (loss - mean) ** 2)) / NODES
    s = (np.arange(NODES) + 0.5) * step
    power = rounds * np.log([np.dot(tilted, np.exp(1j * x * (loss - mean))) for x in s])
    z = t + 1j * s

    def log_excess(epsilon):
        integral = np.sum(np.exp(power + 1j * s * (rounds * mean - epsilon)) / (z * (z + 1))).real * step / math.pi
        return rounds * log_mgf(t) - t * epsilon + math.log(integral) - math.log(delta)

    return brentq(log_excess, 0.7 * best.fun, best.fun, xtol=1e-12, rtol=1e-12)


if __name__ == "__main__":
    epsilon0, users, delta, rounds = map(float, sys.argv[1:])
    print(composed_epsilon(epsilon0, int(users), delta, int(rounds)))
