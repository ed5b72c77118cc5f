"""Epsilon at delta after T rounds of the clone pair (Theorem S): the rows n = 100000 of composed.csv.

Counts (a, b) of the two clone atoms are enumerated, losses ln((E a + b)/(a + E b)) are split linearly (mass and E e^-loss kept) on a
lattice, and the distribution is raised to the T-th convolution power by FFT. Ordinary floating point: about seven digits.
Usage: python generate_composed.py   (numpy, scipy; about a minute)
"""
import numpy as np
from scipy.special import gammaln


def one_round(n, epsilon0, step, low=-0.2, high=0.2):
    ratio = np.exp(epsilon0)
    p = 1 / (ratio + 1)
    center, width = n * p, int(10.5 * np.sqrt(n * p))
    counts = np.arange(int(center) - width, int(center) + width + 1).astype(float)
    masses = np.zeros(int((high - low) / step) + 2)
    for a in counts:
        b = counts
        rest = n - a - b
        log_base = (gammaln(n + 1) - gammaln(a + 1) - gammaln(b + 1) - gammaln(rest + 1)
                    + (a + b) * np.log(p) + rest * np.log(1 - 2 * p))
        mass = np.exp(log_base) * (ratio * a + b) / n
        loss = np.log((ratio * a + b) / (a + ratio * b))
        cell = np.floor((loss - low) / step).astype(int)
        left = low + cell * step
        up = mass * (np.exp(-left) - np.exp(-loss)) / (np.exp(-left) - np.exp(-left - step))
        np.add.at(masses, cell, mass - up)
        np.add.at(masses, cell + 1, up)
    return masses, int(round(low / step))


def composed_epsilon(masses, first, step, rounds, delta):
    losses = (first + np.arange(len(masses))) * step
    mean = (masses * losses).sum()
    variance = (masses * (losses - mean) ** 2).sum()
    size = 1 << int(np.ceil(np.log2(max(24 * np.sqrt(rounds * variance) / step, len(masses)))))
    wrapped = np.zeros(size)
    np.add.at(wrapped, (first + np.arange(len(masses))) % size, masses)
    power = np.fft.irfft(np.fft.rfft(wrapped) ** rounds, size)
    index = int(round(rounds * mean / step)) - size // 2 + np.arange(size)
    losses, power = index * step, power[index % size]
    low, high = 0.0, losses[-1]
    for _ in range(60):
        middle = (low + high) / 2
        beyond = losses > middle
        over = np.sum(power[beyond] * -np.expm1(middle - losses[beyond])) > delta
        low, high = (middle, high) if over else (low, middle)
    return high


if __name__ == "__main__":
    step = 1e-5
    masses, first = one_round(100_000, 2.0, step)
    for rounds in (100, 1000, 10_000):
        print(rounds, composed_epsilon(masses, first, step, rounds, 1e-6))
