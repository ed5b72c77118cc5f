#!/usr/bin/env python3
"""Epsilon of 1-out-of-n random allocation of the Gaussian mechanism. Usage: allocation_reference.py SIGMA STEPS DELTA [CELL]

W is the mean of n independent lognormal variables of mean 1. Remove: delta(epsilon) = E max(W - e^epsilon, 0); add:
delta(epsilon) = E max(1 - e^epsilon W, 0). The law of the sum by FFT, each variable rounded to the nearest multiple of
CELL; prints epsilon for remove and for add. Ordinary floating point, no certificate: for (1, 1000, 1e-6) cells of 0.002
and 0.001 agree to 3e-9 for remove and 2e-8 for add. Other questions may need another CELL or REACH.
"""
import sys

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

REACH = 8192  # the sum stays below


def allocation_epsilons(sigma, steps, delta, cell):
    points = round(REACH / cell)
    edges = np.r_[1e-300, (np.arange(points) + 0.5) * cell]
    z = sigma * np.log(edges) + 0.5 / sigma
    mass = np.where(z[:-1] < 0, np.diff(ndtr(z)), -np.diff(ndtr(-z)))
    law = np.fft.irfft(np.fft.rfft(mass / mass.sum()) ** steps, points)
    mean = np.arange(points) * cell / steps

    def remove(epsilon):
        return np.dot(law, np.maximum(mean - np.exp(epsilon), 0)) - delta

    def add(epsilon):
        return np.dot(law, np.maximum(1 - np.exp(epsilon) * mean, 0)) - delta

    return [brentq(excess, 1e-6, 1, xtol=1e-13) for excess in (remove, add)]


if __name__ == "__main__":
    sigma, steps, delta = map(float, sys.argv[1:4])
    print(*allocation_epsilons(sigma, int(steps), delta, float((sys.argv[4:] or ["0.001"])[0])))
