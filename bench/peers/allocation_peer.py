#!/usr/bin/env python3
"""Random allocation of the Gaussian mechanism with PLD_accounting. Usage: allocation_peer.py VARIANT SIGMA STEPS DELTA

Prints the lower bound (or "-" where the peer has none), the upper bound and the CPU seconds of the call; start-up and
imports are not counted. VARIANT is one of the keys of VARIANTS. Both directions, remove and add, are in the answer.
"""
import sys
import time

WITHOUT_NUMBA = "PLD_accounting without numba"
if sys.argv[1] == WITHOUT_NUMBA:
    sys.modules["numba"] = None  # importing it fails, as in an installation without the extra "performance"

import PLD_accounting as pld


def bracket(accuracy=-1.0):
    """The package's own search for a bracket; its default accuracy is upper / lower <= 1.1."""

    def ask(sigma, steps, delta):
        upper, lower = pld.gaussian_allocation_epsilon_range(
            delta=delta, sigma=sigma, num_steps=steps, epsilon_accuracy=accuracy
        )
        return lower, upper

    return ask


def fft(points, step):
    """The package's FFT route, which has an upper bound only; its defaults, 1e6 points and a step of 1e-2, answer 8.67."""

    def ask(sigma, steps, delta):
        config = pld.AllocationSchemeConfig(
            loss_discretization=step, max_grid_fft=points, convolution_method=pld.ConvolutionMethod.FFT
        )
        params = pld.PrivacyParams(sigma=sigma, num_steps=steps, delta=delta)
        return "-", pld.gaussian_allocation_epsilon_configurable(params=params, config=config)

    return ask


VARIANTS = {
    WITHOUT_NUMBA: bracket(),
    "PLD_accounting with numba, first run": bracket(),
    "PLD_accounting with numba": bracket(),
    "PLD_accounting with numba, accuracy 1e-3": bracket(1e-3),
    "PLD_accounting FFT, 1e9 points, step 1e-5": fft(10**9, 1e-5),
    "PLD_accounting FFT, 1e10 points, step 1e-6": fft(10**10, 1e-6),
}

if __name__ == "__main__":
    sigma, steps, delta = map(float, sys.argv[2:])
    start = time.process_time()
    lower, upper = VARIANTS[sys.argv[1]](sigma, int(steps), delta)
    call = time.process_time() - start
    if pld.has_numba() == (sys.argv[1] == WITHOUT_NUMBA):
        sys.exit("numba is missing")
    print(lower, upper, call)
