#!/usr/bin/env python3
"""Reference values of published differential-privacy bounds in the shuffle model.

Prints a CSV to stdout.  The values were computed for the tests of this project, independently of its code: every
formula is evaluated by the most direct route, slowly, with mpmath at 60 digits, and no value passes through double
precision.  (numpy appears in one place: to find out which terms of a large sum are above 1e-36 of it.)

The formulas of girgis-2021-*, shuffle-gaussian, strong-adversary-printed and distributed-check-in were read in the
papers (girgis-2021-upper and -lower as quoted in a later one).  Those of erlingsson-2019, balle-2019-*, feldman-*,
chen-2024, wang-2019 and kov were taken from this project's own notes and not compared with the papers: these rows test the
evaluation of a formula, not its transcription.

    pip install mpmath numpy
    python3 generate_bounds.py > bounds.csv        (two to three minutes on one core)

Conventions
    Columns     name,n,m,rate,epsilon0,sigma,k,order,delta,value; empty where not used.  Lines with '#' are comments.
    Parameters  A printed parameter stands for the nearest double, and the value belongs to exactly that double.  The one
                exception: where m is given the sampling rate is the exact fraction m/n.
    Value       20 significant digits; an epsilon, except for strong-adversary-*, where it is a delta.
    Letters     E = e^epsilon0, a = e^epsilon, l = order, g = a rate or a blanket's mass.

Rows
    erlingsson-2019          Erlingsson et al., SODA 2019: 12 epsilon0 sqrt(log(1/delta)/n)
    balle-2019-hoeffding     Balle, Bell, Gascon, Nissim, CRYPTO 2019; the smallest epsilon at which the bound on delta is
    balle-2019-bennett         delta.  k empty: any LDP randomizer; k set: k-ary randomized response
    feldman-2021             Feldman, McMillan, Talwar, FOCS 2021, Theorem 3.1 (closed form)
    feldman-2023             the same authors, SODA 2023 (closed form)
    chen-2024                Chen et al., AAAI 2024: epsilon at delta of mu-GDP, mu = sqrt(2 (1 + E)/((n-1)(1 - delta0))); delta0 is
                               in the column 'rate'
    girgis-2021-upper, -lower             Girgis et al., CCS 2021 (Renyi divergence of order l)
    girgis-2021-subsampled-upper, -lower  Girgis et al., NeurIPS 2021, Theorems 1 and 2 (m of n)
    wang-2019                Wang, Balle, Kasiviswanathan, AISTATS 2019, Theorem 9 (m of n) on girgis-2021-upper at m users
    atoms-rdp-*              (1/(l-1)) log((1/n) E[A^l B^(1-l)]), A = sum P, B = sum Q over n draws of an atom (pi; P; Q);
                               m set: m draws, and n-m added to A and to B; rate set: every pi times the rate, and
                               one more atom (1-rate; 1; 1).  The atoms are in the function ATOMS below
    shuffle-gaussian         Liew, Takahashi, "Shuffle Gaussian mechanism", Theorem 1; with m: m of n sampled; with rate:
                               each user present with this probability (both for the same pair of datasets)
    shuffle-gaussian-reverse the divergence in the other direction, (1/(l-1)) log E[(mean Y)^(1-l)]
    kov                      Kairouz, Oh, Viswanath 2015: total epsilon of n rounds of epsilon0-DP at total delta
    strong-adversary-printed delta of k-RR as printed in Koskela et al., "Numerical accounting in the shuffle model",
                               Theorem 13 (independent counts): Pr[N1 >= a N2]
    strong-adversary-tight     and as it should be, (1-g) E(1 - a N2/N1)_+, with jointly multinomial counts.  Both:
                               epsilon is in the column 'order', g in the column 'rate'; epsilon0 follows from g and k
    distributed-check-in     Liew et al., "Shuffled check-in", Theorem 4, with its missing term for nobody present
"""

import itertools
import sys
import time
from functools import lru_cache

import numpy as np
from mpmath import (binomial, cosh, erfc, exp, expm1, fac, floor, fsum, gamma, log, log1p, mp, mpf, nstr, pi, sqrt)

mp.dps = 60
COLUMNS = ("name", "n", "m", "rate", "epsilon0", "sigma", "k", "order", "delta", "value")
ROWS = []


def emit(name, value, **parameters):
    """Record one row.  Parameters are Python ints or floats, printed so that they read back as the same number."""
    cells = {key: repr(x) for key, x in parameters.items() if x is not None}
    ROWS.append(dict(cells, name=name, value=nstr(value, 20, strip_zeros=False)))
    return value


def agree(what, x, y, tolerance=1e-30):
    """Internal consistency: stop rather than print a table that contradicts itself."""
    x, y = mpf(x), mpf(y)
    if abs(x - y) > tolerance * max(abs(x), abs(y)):
        raise AssertionError(f"{what}: {nstr(x, 25)} against {nstr(y, 25)}")


def ordered(what, *values):
    """Internal consistency: values must not decrease (beyond the working precision)."""
    for x, y in zip(values, values[1:]):
        if x > y * (1 + mpf(10) ** -40):
            raise AssertionError(f"{what}: {[nstr(v, 12) for v in values]}")


# ---------------------------------------------------------------------------------------------------------------------
# 1-5. Closed forms and tail bounds for (epsilon, delta)
# ---------------------------------------------------------------------------------------------------------------------

def erlingsson_2019(n, e0, delta):
    return 12 * mpf(e0) * sqrt(log(1 / mpf(delta)) / n)


def hoeffding_delta(n, g, b, a):
    A = a - 1
    return b ** 2 / (4 * A * g * n) * exp(n * log1p(g * expm1(-2 * A ** 2 / b ** 2)))


def bennett_delta(n, g, b_plus, c, a):
    A = a - 1
    u = A * b_plus / c
    t = c / b_plus ** 2 * ((1 + u) * log1p(u) - u)
    return b_plus / (g * n * log1p(u)) * ((1 - g + g * exp(-t)) ** n - (1 - g) ** n)


def balle_delta(kind, n, e0, k, epsilon):
    """Bound on delta at epsilon from the privacy blanket of any LDP randomizer (k None) or of k-ary randomized response."""
    E, a = exp(mpf(e0)), exp(epsilon)
    if k is None:
        g = 1 / E
        width, top = (a + 1) * (E - 1 / E), E - a / E
        mean, bottom = 1 - a, 1 / E - a * E
        variance = (top - mean) * (mean - bottom)
    else:
        g = k / (E + k - 1)
        width, top = (1 - g) * k * (a + 1), g * (1 - a) + (1 - g) * k
        variance = (1 - g) ** 2 * (k * (1 + a ** 2) - (1 - a) ** 2)
    if kind == "hoeffding":
        return hoeffding_delta(n, g, width, a)
    return bennett_delta(n, g, top, variance, a)


def balle_2019(kind, n, e0, k, delta):
    """Smallest epsilon <= epsilon0 at which the bound is delta: scan upwards from 0, where it is infinite, then bisect."""
    low, high, steps = mpf(10) ** -7, mpf(e0), 600
    previous = low
    for i in range(steps + 1):
        point = low * (high / low) ** (mpf(i) / steps)
        if balle_delta(kind, n, e0, k, point) < delta:
            break
        previous = point
    else:
        raise ValueError(f"no epsilon <= epsilon0: {kind} {n} {e0} {k} {delta}")
    for _ in range(190):
        middle = (previous + point) / 2
        if balle_delta(kind, n, e0, k, middle) < delta:
            point = middle
        else:
            previous = middle
    return point


def feldman_2021(n, e0, delta):
    E, delta = exp(mpf(e0)), mpf(delta)
    assert mpf(e0) <= log(n / (16 * log(2 / delta)))
    return log1p((E - 1) / (E + 1) * (8 * sqrt(E * log(4 / delta)) / sqrt(mpf(n)) + 8 * E / n))


def feldman_2023(n, e0, delta):
    E, delta = exp(mpf(e0)), mpf(delta)
    assert mpf(e0) <= log(n / (8 * log(2 / delta)) - 1)
    return log1p((E - 1) * (4 * sqrt(2 * log(4 / delta)) / sqrt((E + 1) * n) + mpf(4) / n))


def gdp_delta(mu, epsilon):
    """The profile of mu-GDP (Balle, Wang 2018)."""
    tail = lambda z: erfc(z / sqrt(mpf(2))) / 2
    return tail(epsilon / mu - mu / 2) - exp(epsilon) * tail(epsilon / mu + mu / 2)


def chen_2024(n, e0, delta0, delta):
    mu = sqrt(2 * (1 + exp(mpf(e0))) / ((n - 1) * (1 - mpf(delta0))))
    low, high = mpf(0), mpf(1)
    while gdp_delta(mu, high) > delta:
        low, high = high, 2 * high
    for _ in range(190):
        middle = (low + high) / 2
        if gdp_delta(mu, middle) > delta:
            low = middle
        else:
            high = middle
    return high


def write_closed_forms():
    for n, e0, delta0, delta in ((1000, 4.0, 0.0, 1e-6), (2, 1.0, 0.0, 1e-4), (10**4, 2.0, 0.0, 1e-8), (10**6, 0.5, 0.0, 1e-10),
                                 (10**4, 1.0, 0.25, 1e-6)):
        emit("chen-2024", chen_2024(n, e0, delta0, delta), n=n, rate=delta0, epsilon0=e0, delta=delta)
    for n, e0, delta in ((1000, 0.25, 1e-4), (10**4, 0.5, 1e-6), (10**4, 0.25, 1e-10), (10**6, 0.5, 1e-8), (10**6, 0.3, 1e-5)):
        emit("erlingsson-2019", erlingsson_2019(n, e0, delta), n=n, epsilon0=e0, delta=delta)
    points = ((1000, 0.5, None, 1e-4), (10**4, 0.25, None, 1e-10), (10**4, 1.0, None, 1e-6), (10**6, 2.0, None, 1e-8),
              (10**6, 3.0, None, 1e-5), (10**6, 0.25, None, 1e-4),
              (1000, 1.0, 2, 1e-4), (1000, 2.0, 10, 1e-5), (10**4, 2.0, 4, 1e-6), (10**4, 3.0, 100, 1e-8),
              (10**6, 4.0, 3, 1e-10), (10**6, 6.0, 50, 1e-6))
    for kind in ("hoeffding", "bennett"):
        for n, e0, k, delta in points:
            value = balle_2019(kind, n, e0, k, delta)
            agree("balle root", balle_delta(kind, n, e0, k, value), delta)
            emit(f"balle-2019-{kind}", value, n=n, epsilon0=e0, k=k, delta=delta)
    for n, e0, delta in ((1000, 0.5, 1e-4), (2000, 0.25, 1e-10), (10**4, 1.0, 1e-6), (10**4, 3.0, 1e-8), (10**6, 4.0, 1e-10),
                         (10**6, 6.0, 1e-6)):
        old = emit("feldman-2021", feldman_2021(n, e0, delta), n=n, epsilon0=e0, delta=delta)
        new = emit("feldman-2023", feldman_2023(n, e0, delta), n=n, epsilon0=e0, delta=delta)
        ordered("feldman 2023 <= 2021", new, old)


# ---------------------------------------------------------------------------------------------------------------------
# 6-8. Renyi bounds for any LDP randomizer
# ---------------------------------------------------------------------------------------------------------------------

def girgis_upper(n, e0, order):
    E = exp(mpf(e0))
    n_bar = floor((n - 1) / (2 * E)) + 1
    return log(exp(order ** 2 * (E - 1) ** 2 / n_bar) + exp(mpf(e0) * order - (n - 1) / (8 * E))) / (order - 1)


def girgis_lower(n, e0, order):
    E = exp(mpf(e0))
    return log1p(binomial(order, 2) * (E - 1) ** 2 / (n * E)) / (order - 1)


def girgis_subsampled_upper(n, m, e0, order):
    E, rate = exp(mpf(e0)), mpf(m) / n
    m_bar = floor((m - 1) / (2 * E)) + 1
    s = (E ** 2 - 1) / E
    total = 4 * binomial(order, 2) * rate ** 2 * (E - 1) ** 2 / (m_bar * E)
    total += fsum(binomial(order, j) * rate ** j * j * gamma(mpf(j) / 2) * (2 * s ** 2 / m_bar) ** (mpf(j) / 2)
                  for j in range(3, order + 1))
    total += ((1 + rate * s) ** order - 1 - order * rate * s) * exp(-(m - 1) / (8 * E))
    return log1p(total) / (order - 1)


@lru_cache(maxsize=None)
def binomial_weights(m, p):
    """Probabilities of Bin(m, p), exactly, by the ratio of neighbors."""
    weights = [(1 - p) ** m]
    for i in range(m):
        weights.append(weights[-1] * (m - i) * p / ((i + 1) * (1 - p)))
    return weights


def girgis_subsampled_lower(n, m, e0, order):
    E, rate = exp(mpf(e0)), mpf(m) / n
    p = 1 / (E + 1)
    scale = rate * (E ** 2 - 1) / (m * E)
    deviations = [i - m * p for i in range(m + 1)]
    products = list(binomial_weights(m, p))
    central = {}
    for j in range(order + 1):
        central[j] = fsum(products)
        products = [w * d for w, d in zip(products, deviations)]
    total = binomial(order, 2) * rate ** 2 * (E - 1) ** 2 / (m * E)
    total += fsum(binomial(order, j) * scale ** j * central[j] for j in range(3, order + 1))
    return log1p(total) / (order - 1)


def wang_2019(n, m, e0, order):
    rate = mpf(m) / n
    top = expm1(mpf(e0))                                     # e^eps(infinity) - 1
    at_two = girgis_upper(m, e0, 2)
    total = rate ** 2 * binomial(order, 2) * min(4 * expm1(at_two), exp(at_two) * min(2, top ** 2))
    total += fsum(rate ** j * binomial(order, j) * exp((j - 1) * girgis_upper(m, e0, j)) * min(2, top ** j)
                  for j in range(3, order + 1))
    return log1p(total) / (order - 1)


def write_renyi_bounds():
    for n, e0 in ((20, 0.25), (1000, 1.0), (10**4, 4.0), (10**6, 2.0), (10**6, 6.0)):
        for order in (2, 3, 8, 64, 500):
            low = emit("girgis-2021-lower", girgis_lower(n, e0, order), n=n, epsilon0=e0, order=order)
            high = emit("girgis-2021-upper", girgis_upper(n, e0, order), n=n, epsilon0=e0, order=order)
            ordered("girgis", low, high)
    for n, m, e0 in ((30, 7, 0.5), (10**4, 500, 1.0), (10**6, 1000, 2.0), (10**6, 3000, 4.0), (10**5, 2000, 0.25)):
        for order in (2, 3, 8, 64):
            low = emit("girgis-2021-subsampled-lower", girgis_subsampled_lower(n, m, e0, order), n=n, m=m, epsilon0=e0, order=order)
            high = emit("girgis-2021-subsampled-upper", girgis_subsampled_upper(n, m, e0, order), n=n, m=m, epsilon0=e0, order=order)
            ordered("girgis subsampled", low, high)
            if order == 2:                                   # at order 2, m = n, the two lower bounds are one
                agree("lower", girgis_subsampled_lower(m, m, e0, 2), girgis_lower(m, e0, 2))
    for n, m, e0 in ((50, 10, 0.25), (10**4, 1000, 0.5), (10**6, 1000, 2.0), (10**6, 10**4, 3.0), (10**6, 10**5, 1.0)):
        for order in (2, 3, 8, 64, 500):
            emit("wang-2019", wang_2019(n, m, e0, order), n=n, m=m, epsilon0=e0, order=order)


# ---------------------------------------------------------------------------------------------------------------------
# 9. Renyi divergence of a finite law of atoms
# ---------------------------------------------------------------------------------------------------------------------

def ATOMS(which, e0, k=None):
    """Atoms (pi, P, Q) of one user's report."""
    E = exp(mpf(e0))
    if which == "ldp":                                       # any epsilon0-LDP randomizer
        atoms = [(1 / (E + 1), E, 1), (1 / (E + 1), 1, E), ((E - 1) / (E + 1), 0, 0)]
    elif which == "adaptive":                                # Feldman, McMillan, Talwar 2021
        x = 2 * E / (E + 1)
        atoms = [(1 / (2 * E), E * x, x), (1 / (2 * E), x, E * x), (1 - 1 / E, 0, 0)]
    elif which == "krr":                                     # blanket of k-ary randomized response
        p = 1 / (E + k - 1)
        atoms = [(p, E, 1), (p, 1, E), ((k - 2) * p, 1, 1), ((E - 1) * p, 0, 0)]
    elif which == "3rr":                                     # three values, all others at the third
        p = 1 / (E + 2)
        atoms = [(p, E, 1), (p, 1, E), (E * p, 1 / E, 1 / E)]
    elif which == "rr-forward":                              # two values, all others at the first
        atoms = [(E / (E + 1), 1, 1 / E), (1 / (E + 1), 1, E)]
    elif which == "rr-reverse":
        atoms = [(E / (E + 1), 1 / E, 1), (1 / (E + 1), E, 1)]
    else:
        raise KeyError(which)
    atoms = [tuple(map(mpf, atom)) for atom in atoms if atom[0] > 0]
    for column in zip(*[(w, w * P, w * Q) for w, P, Q in atoms]):
        agree("atoms", fsum(column), 1, 1e-50)
    return atoms


def relevant_counts(atoms, draws, constant, users, orders):
    """Vectors of counts of all atoms but the last whose terms can matter, and how many.

    Every vector if there are few.  Else a search in double precision for the terms above e^-85 of the largest one, for
    some order.  The search is over a box: a term is at most (its marginal binomial probability) * max(P, 1) * max(P/Q)^(l-1),
    and the whole sum is at least 1, so a count is out of the question where this product is below e^-100.
    """
    free = len(atoms) - 1
    if binomial(draws + free, free) <= 60_000:
        for cut in itertools.combinations(range(1, draws + free + 1), free):
            edges = (0,) + cut
            yield tuple(y - x - 1 for x, y in zip(edges, cut))
        return
    weight, P, Q = (np.array([float(x) for x in column]) for column in zip(*atoms))
    log_factorial = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, draws + 1)))))
    counts = np.arange(draws + 1)
    largest_ratio = max([1.0] + [p / q for p, q in zip(P, Q) if q > 0])
    allowance = 100 + np.log(max(1.0, P.max())) + (max(orders) - 1) * np.log(largest_ratio)
    axes = []
    for w in weight[:-1]:
        marginal = (log_factorial[-1] - log_factorial - log_factorial[::-1] + counts * np.log(w)
                    + (draws - counts) * np.log1p(-w))
        axes.append(counts[marginal > -allowance])
    best = np.full(len(orders), -np.inf)
    kept = []
    for first in axes[0]:                                    # one slab of the box at a time
        grid = np.meshgrid(np.array([first]), *axes[1:], indexing="ij")
        grid = [axis.ravel() for axis in grid]
        inside = sum(grid) <= draws
        grid = [axis[inside] for axis in grid]
        if grid[0].size == 0:
            continue
        grid.append(draws - sum(grid))
        A = constant + sum(p * axis for p, axis in zip(P, grid))
        B = constant + sum(q * axis for q, axis in zip(Q, grid))
        base = log_factorial[-1] + sum(axis * np.log(w) - log_factorial[axis] for w, axis in zip(weight, grid)) - np.log(users)
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.array([np.where(A > 0, base + l * np.log(A) + (1 - l) * np.log(B), -np.inf) for l in orders])
        best = np.maximum(best, terms.max(axis=1))
        keep = (terms > best[:, None] - 85).any(axis=0)
        kept.append((np.stack([axis[keep] for axis in grid[:-1]]), terms[:, keep]))
    for indices, terms in kept:
        keep = (terms > best[:, None] - 85).any(axis=0)
        yield from zip(*indices[:, keep].tolist())


def atoms_rdp(atoms, users, orders, m=None, rate=None):
    """(1/(l-1)) log((1/n) E[A^l B^(1-l)]) for every order l, by summation over the counts of the atoms."""
    if rate is not None:
        rate = mpf(rate)
        merged = [(rate * w, P, Q) for w, P, Q in atoms]
        same = [i for i, atom in enumerate(merged) if atom[1:] == (1, 1)]
        if same:
            merged[same[0]] = (merged[same[0]][0] + 1 - rate, mpf(1), mpf(1))
        else:
            merged.append((1 - rate, mpf(1), mpf(1)))
        atoms = merged
    atoms = sorted(atoms)                                    # the most probable atom last: its count is implied
    draws = users if m is None else m
    constant = users - draws
    tables = []
    for w, _, _ in atoms:                                    # w^c / c!
        table = [mpf(1)]
        for c in range(1, draws + 1):
            table.append(table[-1] * w / c)
        tables.append(table)
    sums = {order: mpf(0) for order in orders}
    for counts in relevant_counts(atoms, draws, constant, users, orders):
        counts = counts + (draws - sum(counts),)
        term, A, B = mpf(1), mpf(constant), mpf(constant)
        for c, table, (_, P, Q) in zip(counts, tables, atoms):
            if c:
                term *= table[c]
                A += c * P
                B += c * Q
        if A == 0:
            continue                                         # only left-overs: no mass under either law
        term *= B
        ratio = A / B
        for order in orders:
            sums[order] += term * ratio ** order
    return {order: log(total * fac(draws) / users) / (order - 1) for order, total in sums.items()}


def write_atoms():
    table = {}

    def rows(which, n, e0, orders, k=None, m=None, rate=None):
        values = atoms_rdp(ATOMS(which, e0, k), n, orders, m, rate)
        for order, value in values.items():
            emit(f"atoms-rdp-{which}", value, n=n, m=m, rate=rate, epsilon0=e0, k=k, order=order)
            table[which, n, e0, order, k, m, rate] = value
        return values

    many = (1.5, 2, 3, 8, 64, 500)
    for which in ("ldp", "adaptive", "3rr", "rr-forward", "rr-reverse"):
        k = 3 if which == "3rr" else None
        for n, e0 in ((2, 1.0), (5, 6.0), (12, 0.25), (40, 3.0)):
            rows(which, n, e0, many, k)
        rows(which, 1000, 4.0 if which != "3rr" else 2.0, (2, 8, 64), k)
    for n, e0, k in ((2, 1.0, 3), (5, 4.0, 10), (12, 0.25, 3), (40, 3.0, 5)):
        rows("krr", n, e0, many, k)
    rows("krr", 200, 2.0, (2, 8, 64), 10)
    rows("krr", 1000, 4.0, (2, 8), 10)
    for which in ("ldp", "adaptive", "3rr", "rr-forward", "rr-reverse", "krr"):          # m of n
        k = {"3rr": 3, "krr": 4}.get(which)
        for n, m, e0 in ((10, 1, 1.0), (40, 15, 2.0), (1000, 30, 4.0)):
            rows(which, n, e0, (2, 3, 8, 64), k, m=m)
    for which in ("ldp", "adaptive", "3rr", "rr-forward", "rr-reverse", "krr"):          # check-in
        k = {"3rr": 3, "krr": 4}.get(which)
        for n, rate, e0 in ((3, 0.5, 5.0), (20, 0.1, 2.0)):
            rows(which, n, e0, (2, 3, 8, 64), k, rate=rate)
    rows("ldp", 1000, 3.0, (2, 8), rate=0.01)
    rows("rr-reverse", 10**4, 2.0, (2, 8, 64), rate=0.1)
    rows("rr-forward", 10**4, 2.0, (2, 8, 64))
    rows("rr-reverse", 10**4, 2.0, (2, 8, 64))
    large = rows("ldp", 10**4, 4.0, (2, 4, 16, 64))
    for order, known in ((2, "0.0103613707"), (4, "0.0207269594"), (16, "0.0832984864"), (64, "1.11905942")):
        agree("n=1e4", large[order], known, 5e-9)

    # The families against each other and against the published bounds.
    for (which, n, e0, order, k, m, rate), value in table.items():
        other = lambda name, kk=None: table.get((name, n, e0, order, kk, m, rate))
        if which == "ldp":
            parts = [other("3rr", 3), value, other("adaptive")]
            ordered("3rr <= ldp <= adaptive", *[x for x in parts if x is not None])
            for name in ("rr-forward", "rr-reverse"):
                if other(name) is not None:
                    ordered("rr <= ldp", other(name), value)
            if m is None and rate is None and order != 1.5:
                ordered("girgis bracket", girgis_lower(n, e0, order), value, girgis_upper(n, e0, order))
            if m is not None:
                ordered("wang above atoms", value, wang_2019(n, m, e0, order))
                ordered("subsampled above atoms", value, girgis_subsampled_upper(n, m, e0, order))
        if which == "3rr" and other("krr", 3) is not None:
            ordered("3rr <= krr", value, other("krr", 3))
        if which == "rr-reverse" and m is not None:          # Theorem 2 of Girgis et al. is exact for this pair
            agree("subsampled lower", value, girgis_subsampled_lower(n, m, e0, order))
        if which == "rr-reverse" and m is None and rate is None and order == 2:
            agree("lower, order 2", value, girgis_lower(n, e0, 2))
    for order, value in atoms_rdp(ATOMS("krr", 1.5, 2), 7, (2, 9)).items():
        agree("krr at k=2", value, atoms_rdp(ATOMS("ldp", 1.5), 7, (order,))[order])
    for order, value in atoms_rdp(ATOMS("krr", 2.0, 4), 6, (2, 9), rate=0.3).items():     # check-in is a mixture over m
        mixture = fsum(w * exp((order - 1) * (atoms_rdp(ATOMS("krr", 2.0, 4), 6, (order,), m=present)[order] if present else 0))
                       for present, w in enumerate(binomial_weights(6, mpf(0.3))))
        agree("check-in", value, log(mixture) / (order - 1))
    agree("direct 3-RR shuffle", brute_force_three(4, 1.25, 3), atoms_rdp(ATOMS("3rr", 1.25), 4, (3,))[3])


def brute_force_three(n, e0, order):
    """Divergence of the shuffled 3-RR pair (0,2,2,..) and (1,2,2,..) from the two laws of the histogram themselves."""
    E = exp(mpf(e0))
    law = lambda x: [(E if y == x else mpf(1)) / (E + 2) for y in range(3)]
    result = []
    for first in (0, 1):
        histogram = {(0, 0, 0): mpf(1)}
        for x in [first] + [2] * (n - 1):
            step = {}
            for counts, w in histogram.items():
                for y, p in enumerate(law(x)):
                    key = tuple(c + (i == y) for i, c in enumerate(counts))
                    step[key] = step.get(key, mpf(0)) + w * p
            histogram = step
        result.append(histogram)
    return log(fsum(result[0][key] ** order * result[1][key] ** (1 - order) for key in result[0])) / (order - 1)


# ---------------------------------------------------------------------------------------------------------------------
# 10. The shuffled Gaussian
# ---------------------------------------------------------------------------------------------------------------------

def partitions(total, largest=None):
    """Partitions of a number as dictionaries {part: multiplicity}."""
    if largest is None:
        largest = total
    if total == 0:
        yield {}
        return
    for part in range(min(total, largest), 0, -1):
        for rest in partitions(total - part, part):
            yield {**rest, part: rest.get(part, 0) + 1}


@lru_cache(maxsize=None)
def power_of_sum(n, sigma, order):
    """E[(Y_1 + ... + Y_n)^order], log Y ~ N(-1/(2 sigma^2), 1/sigma^2), as in Theorem 1: a multinomial sum over k_1 + ... +
    k_n = order, with the vectors (k_i) that are permutations of each other taken together."""
    terms = []
    for parts in partitions(order):
        zeros = n - sum(parts.values())
        if zeros < 0:
            continue
        vectors, multinomial, square = 1, fac(order), 0
        for i in range(zeros + 1, n + 1):                    # n! / zeros!
            vectors *= i
        for part, times in parts.items():
            vectors //= int(fac(times))
            multinomial /= fac(part) ** times
            square += times * part ** 2
        terms.append(vectors * multinomial * exp((square - order) / (2 * mpf(sigma) ** 2)))
    return fsum(terms)


def shuffle_gaussian(n, sigma, order):
    return log(power_of_sum(n, sigma, order) / mpf(n) ** order) / (order - 1)


def sampled_moment(n, m, sigma, order):
    """E[((n-m) + Y_1 + ... + Y_m)^order] / n^order."""
    return fsum(binomial(order, j) * mpf(n - m) ** (order - j) * (power_of_sum(m, sigma, j) if j else 1)
                for j in range(order + 1)) / mpf(n) ** order


def shuffle_gaussian_sampled(n, m, sigma, order):
    return log(sampled_moment(n, m, sigma, order)) / (order - 1)


def shuffle_gaussian_check_in(n, rate, sigma, order):
    moment = fsum(w * (sampled_moment(n, present, sigma, order) if present else 1)
                  for present, w in enumerate(binomial_weights(n, mpf(rate))))
    return log(moment) / (order - 1)


def shuffle_gaussian_by_compositions(n, sigma, order):
    """Theorem 1 read literally, over all vectors (k_1, ..., k_n)."""
    total = mpf(0)
    for vector in itertools.product(range(order + 1), repeat=n):
        if sum(vector) == order:
            term = fac(order)
            for part in vector:
                term /= fac(part)
            total += term * exp(mpf(sum(part ** 2 for part in vector)) / (2 * mpf(sigma) ** 2))
    return log(total * exp(-order / (2 * mpf(sigma) ** 2)) / mpf(n) ** order) / (order - 1)


def shuffle_gaussian_reverse(n, sigma, orders, step):
    """(1/(l-1)) log E[(mean Y)^(1-l)] for n = 1, 2, 3.

    Y_i = exp(z_i/sigma - 1/(2 sigma^2)), z standard normal.  Write z_i = z-bar + d_i.  z-bar ~ N(0, 1/n) is independent of
    d and comes out as a factor; what remains is an integral over n-1 dimensions of a function that is at most 1 times
    the normal density.  It is analytic, so that the trapezoidal rule converges exponentially."""
    s = mpf(sigma)
    reach = int(11 / step) + 1
    nodes = [i * mpf(step) for i in range(-reach, reach + 1)]
    normal = [exp(-x ** 2 / 2) * mpf(step) / sqrt(2 * pi) for x in nodes]
    pairs = []                                               # (weight, log of mean exp(d_i/sigma))
    if n == 1:
        pairs.append((mpf(1), mpf(0)))
    elif n == 2:
        pairs += [(w, log(cosh(x / (sqrt(mpf(2)) * s)))) for x, w in zip(nodes, normal)]
    else:
        across = [exp(x / (sqrt(mpf(2)) * s)) for x in nodes]
        across = [y + 1 / y for y in across]
        for x, w in zip(nodes, normal):
            up = exp(x / (sqrt(mpf(6)) * s)) / 3
            down = exp(-2 * x / (sqrt(mpf(6)) * s)) / 3
            # symmetric in the first coordinate: its positive half, doubled
            for i in range(reach, 2 * reach + 1):
                pairs.append((w * normal[i] * (1 if i == reach else 2), log(up * across[i] + down)))
    values = {}
    for order in orders:
        l = mpf(order)
        integral = fsum(w * exp((1 - l) * y) for w, y in pairs)
        values[order] = (log(integral) + (l - 1) ** 2 / (2 * n * s ** 2) + (l - 1) / (2 * s ** 2)) / (l - 1)
    return values


def write_shuffle_gaussian():
    for n in range(1, 7):
        for sigma in (0.5, 1.0, 4.0):
            for order in range(2, 13):
                emit("shuffle-gaussian", shuffle_gaussian(n, sigma, order), n=n, sigma=sigma, order=order)
    agree("Theorem 1 literally", shuffle_gaussian_by_compositions(4, 0.5, 8), shuffle_gaussian(4, 0.5, 8))
    agree("n=1", shuffle_gaussian(1, 4.0, 12), mpf(12) / 32)
    for n, sigma, order, known in ((60000, 9.48, 30, None), (10**4, 1.0, 16, "1.37641862866e-3"), (10**9, 10.0, 2, "1.00501671e-11")):
        value = emit("shuffle-gaussian", shuffle_gaussian(n, sigma, order), n=n, sigma=sigma, order=order)
        if known:
            agree("known value", value, known, 5e-9)
    agree("order 2", shuffle_gaussian(10**9, 10.0, 2), log1p(expm1(mpf("0.01")) / 10**9))
    for n, m, sigma in ((5, 2, 1.0), (10, 3, 0.5), (40, 8, 4.0), (10**6, 1000, 1.0)):
        for order in (2, 3, 8, 12):
            emit("shuffle-gaussian", shuffle_gaussian_sampled(n, m, sigma, order), n=n, m=m, sigma=sigma, order=order)
    for n, rate, sigma in ((4, 0.1, 1.0), (6, 0.5, 0.5), (30, 0.25, 4.0)):
        for order in (2, 3, 8, 12):
            emit("shuffle-gaussian", shuffle_gaussian_check_in(n, rate, sigma, order), n=n, rate=rate, sigma=sigma, order=order)
    agree("all sampled", shuffle_gaussian_sampled(5, 5, 1.0, 7), shuffle_gaussian(5, 1.0, 7))
    agree("all checked in", shuffle_gaussian_check_in(5, 1.0 - 2.0 ** -53, 1.0, 7), shuffle_gaussian(5, 1.0, 7), 1e-13)
    agree("n=4, rate .1, order 12", shuffle_gaussian_check_in(4, 0.1, 1.0, 12), "4.404", 2e-4)
    for n in (1, 2, 3):
        for sigma in (0.5, 1.0, 4.0):
            step = {0.5: 0.1, 1.0: 0.15, 4.0: 0.25}[sigma]
            values = shuffle_gaussian_reverse(n, sigma, (2, 3.5, 12), step)
            finer = shuffle_gaussian_reverse(n, sigma, (2, 3.5, 12), step / 2) if n < 3 else values
            for order, value in values.items():
                agree("step", value, finer[order], 1e-21)
                emit("shuffle-gaussian-reverse", value, n=n, sigma=sigma, order=order)
                if n == 1:
                    agree("n=1, reverse", value, mpf(order) / (2 * mpf(sigma) ** 2))
                elif order != 3.5:
                    ordered("reverse is smaller", value, shuffle_gaussian(n, sigma, order))
    agree("step, n=3", shuffle_gaussian_reverse(3, 0.5, (12,), 0.1)[12], shuffle_gaussian_reverse(3, 0.5, (12,), 0.07)[12], 1e-21)
    # n = 2 once more, over the plane, without the reduction to one dimension
    nodes = [i * mpf(0.2) for i in range(-70, 71)]
    y = [exp(z - mpf(1) / 2) for z in nodes]
    w = [exp(-z ** 2 / 2) * mpf(0.2) / sqrt(2 * pi) for z in nodes]
    plane = fsum(w[i] * w[j] * 2 / (y[i] + y[j]) for i in range(141) for j in range(141))
    agree("n=2 over the plane", log(plane), shuffle_gaussian_reverse(2, 1.0, (2,), 0.15)[2], 1e-21)


# ---------------------------------------------------------------------------------------------------------------------
# 11-13. Composition, the strong adversary, distributed check-in
# ---------------------------------------------------------------------------------------------------------------------

def kov_delta(rounds, e0, epsilon):
    """Hockey stick of the T-fold product of binary randomized response: loss (2i - T) epsilon0 with i ~ Bin(T, E/(E+1))."""
    e0 = mpf(e0)
    p = exp(e0) / (exp(e0) + 1)
    return fsum(w * (1 - exp(epsilon - (2 * i - rounds) * e0))
                for i, w in enumerate(binomial_weights(rounds, p)) if (2 * i - rounds) * e0 > epsilon)


def kov(rounds, e0, delta):
    """Its inverse.  Between two neighboring losses delta is affine in e^epsilon: find the interval, solve."""
    e0, delta = mpf(e0), mpf(delta)
    p = exp(e0) / (exp(e0) + 1)
    weights = binomial_weights(rounds, p)
    tail_p = tail_q = mpf(0)
    for i in range(rounds, -1, -1):                          # losses from the largest down
        loss = (2 * i - rounds) * e0
        tail_p += weights[i]
        tail_q += weights[i] * exp(-loss)
        below = loss - 2 * e0
        if tail_p - exp(below) * tail_q > delta:             # delta(below) > delta >= delta(loss)
            return log((tail_p - delta) / tail_q)
    raise ValueError("delta too large")


def strong_adversary_printed(n, g, k, epsilon):
    a, p = exp(mpf(epsilon)), mpf(g) / k
    weights = binomial_weights(n - 1, p)
    tails = list(itertools.accumulate(reversed(weights)))[::-1]          # tails[i] = Pr[Bin >= i]
    total = mpf(0)
    for j, w in enumerate(weights):                          # N2 = j; 1 + Bin >= a j
        need = max(0, int(mp.ceil(a * j)) - 1)
        if need < n:
            total += w * tails[need]
    return total


def strong_adversary_tight(n, g, k, epsilon):
    a, p = exp(mpf(epsilon)), mpf(g) / k
    total = mpf(0)
    for i, w in enumerate(binomial_weights(n - 1, p)):       # N1 = i + 1; N2 given N1 is Bin(n-1-i, p/(1-p))
        if w < mpf(10) ** -50:
            continue
        rest = n - 1 - i
        weight = (1 - p / (1 - p)) ** rest
        for j in range(rest + 1):
            if a * j >= i + 1:
                break
            total += w * weight * (1 - a * j / (i + 1))
            weight *= (rest - j) * p / ((j + 1) * (1 - 2 * p))
    return (1 - mpf(g)) * total


def distributed_check_in(n, rate, sigma, order):
    s2 = mpf(sigma) ** 2

    def moment(m):                                           # e^((l-1) eps_m)
        x = exp(4 / (m * s2))
        total = 1 + (mpf(m) / n) ** 2 * binomial(order, 2) * min(4 * (x - 1), 2 * x)
        return total + fsum(2 * (mpf(m) / n) ** j * binomial(order, j) * exp(2 * j * (j - 1) / (m * s2)) for j in range(3, order + 1))

    return log(fsum(w * (moment(present) if present else 1)
                    for present, w in enumerate(binomial_weights(n, mpf(rate))))) / (order - 1)


def write_the_rest():
    for rounds, e0, delta in ((1, 1.0, 1e-4), (2, 3.0, 1e-6), (10, 0.25, 1e-6), (100, 0.1, 1e-10), (1000, 0.05, 1e-5), (30, 2.0, 1e-8)):
        value = emit("kov", kov(rounds, e0, delta), n=rounds, epsilon0=e0, delta=delta)
        agree("kov", kov_delta(rounds, e0, value), delta)
        if rounds == 1:
            agree("kov, one round", value, log(exp(mpf(e0)) - mpf(delta) * (exp(mpf(e0)) + 1)))
    for n, k, g, epsilons in ((3, 2, 0.5, (0.1, 1.0)), (20, 4, 0.25, (0.05, 0.5)), (50, 10, 0.75, (0.25, 2.0)), (1000, 4, 0.25, (0.05, 0.5))):
        e0 = float(log1p(k * (1 - mpf(g)) / mpf(g)))
        for epsilon in epsilons:
            printed = emit("strong-adversary-printed", strong_adversary_printed(n, g, k, epsilon), n=n, rate=g, epsilon0=e0, k=k, order=epsilon)
            tight = emit("strong-adversary-tight", strong_adversary_tight(n, g, k, epsilon), n=n, rate=g, epsilon0=e0, k=k, order=epsilon)
            ordered("strong adversary", tight, printed)
            print(f"strong adversary n={n} k={k} g={g} eps={epsilon}: printed/tight = {nstr(printed / tight, 6)}", file=sys.stderr)
    for n, rate, sigma in ((10, 0.3, 1.0), (50, 0.1, 4.0), (200, 0.1, 1.0), (200, 0.5, 2.0), (100, 0.02, 0.5)):
        for order in (2, 3, 8, 64):
            emit("distributed-check-in", distributed_check_in(n, rate, sigma, order), n=n, rate=rate, sigma=sigma, order=order)


def main():
    for part in (write_closed_forms, write_renyi_bounds, write_shuffle_gaussian, write_the_rest, write_atoms):
        start = time.time()
        part()
        print(f"{part.__name__}: {time.time() - start:.1f} s", file=sys.stderr)
    keys = [tuple(row.get(column, "") for column in COLUMNS[:-1]) for row in ROWS]
    assert len(set(keys)) == len(keys), "a row twice"
    print("# Reference values of published bounds; written by generate_bounds.py, which explains the rows.")
    print("# A printed parameter stands for the nearest double.  Value: 20 significant digits.")
    print(",".join(COLUMNS))
    for row in sorted(ROWS, key=lambda row: row["name"]):
        print(",".join(row.get(column, "") for column in COLUMNS))


if __name__ == "__main__":
    main()
