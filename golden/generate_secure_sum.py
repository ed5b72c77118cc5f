"""Writes secure_sum.csv: delta at epsilon of one round in which only a noisy sum is seen, in 40 digits.

Each of K participants adds N(0, sigma^2) to a vector of norm at most 1; a = e^epsilon, q = k/n, mu = 2/(sigma sqrt k):

    forward  delta = sum_k P[K = k] q h(1 + (a-1)/q),             h(b) = Phi(mu/2 - ln(b)/mu) - b Phi(-mu/2 - ln(b)/mu)
    reverse  delta = sum over k of the integral of (Q - aP)_+ by its threshold, P = q N(mu, 1) + (1-q) N(0, 1), Q = N(0, 1)

K = n (everybody), m (sample), Bin(n, rate) (check-in), or hypergeometric (a sample of `sample` of `users`, `colluding` of
whom collude: n is then the number of honest users). Rows with `quadrature` = yes were also integrated numerically.

pip install mpmath;  python generate_secure_sum.py   (half a minute)
"""
import csv
import os
from mpmath import mp, mpf, erfc, sqrt, exp, log, binomial, quad, npdf, inf

mp.dps = 50
HERE = os.path.dirname(os.path.abspath(__file__))
phi_bar = lambda z: erfc(z / sqrt(mpf(2))) / 2


def h(mu, b):
    if b <= 0:
        return 1 - b
    return phi_bar(log(b) / mu - mu / 2) - b * phi_bar(log(b) / mu + mu / 2)


def reverse(mu, q, a):
    """Integral of (Q - aP)_+: Q > aP below the threshold where 1 = a (1 - q + q y), y = e^{mu z - mu^2/2}."""
    y = (1 / a - (1 - q)) / q
    if y <= 0:
        return mpf(0)
    z = log(y) / mu + mu / 2
    return phi_bar(-z) * (1 - a * (1 - q)) - a * q * phi_bar(mu - z)


def counts(users, sample, rate, colluding):
    honest = users - colluding
    if sample:
        for k in range(max(1, sample - colluding), min(sample, honest) + 1):
            yield k, binomial(honest, k) * binomial(colluding, sample - k) / binomial(users, sample)
    elif rate < 1:
        for k in range(1, honest + 1):
            yield k, binomial(honest, k) * rate ** k * (1 - rate) ** (honest - k)
    else:
        yield honest, mpf(1)


ROWS = [  # users, sample, rate, colluding, sigma, epsilon
    (2, 0, 1.0, 0, 1.0, 0.5), (2, 1, 1.0, 0, 1.0, 0.5), (2, 0, 0.5, 0, 2.0, 0.25), (3, 2, 1.0, 0, 0.5, 1.0),
    (1000, 0, 1.0, 0, 1.0, 0.25), (1000, 0, 1.0, 0, 0.1, 3.0), (1000000, 0, 1.0, 0, 0.01, 0.5),
    (1000, 100, 1.0, 0, 1.0, 0.1), (1000, 100, 1.0, 0, 1.0, 0.3), (1000, 500, 1.0, 100, 1.0, 0.2), (200, 20, 1.0, 150, 1.0, 0.3),
    (1000, 0, 0.1, 0, 1.0, 0.1), (1000, 0, 0.1, 100, 1.0, 0.1), (1000, 0, 0.1, 0, 1.0, 1.0), (1000, 0, 0.01, 0, 3.0, 0.02),
    (5000, 0, 0.5, 0, 0.2, 0.4), (60, 0, 0.9, 0, 0.86, 2.0), (60, 0, 0.02, 0, 0.86, 0.7), (1000, 0, 0.1, 0, 1e-3, 5.0),
]

with open(os.path.join(HERE, "secure_sum.csv"), "w", newline="") as file:
    file.write("# delta at epsilon of a noisy sum of vectors of norm at most 1; generate_secure_sum.py, 40 digits\n")
    out = csv.writer(file, lineterminator="\n")
    out.writerow("users sample rate colluding sigma epsilon forward reverse quadrature".split())
    for users, sample, rate, colluding, sigma, epsilon in ROWS:
        g, s, a = mpf(rate), mpf(sigma), exp(mpf(epsilon))
        honest = users - colluding
        forward = backward = check = mpf(0)
        few = users <= 3
        for k, p in counts(users, sample, g, colluding):
            q, mu = mpf(k) / honest, 2 / (s * sqrt(mpf(k)))
            forward += p * q * h(mu, 1 + (a - 1) / q)
            backward += p * reverse(mu, q, a)
            if few:
                excess = lambda z: max(q * npdf(z, mu) + (1 - q - a) * npdf(z), 0)
                edge = log(1 + (a - 1) / q) / mu + mu / 2
                check += p * quad(excess, [edge, edge + 2, edge + 8, edge + 30, inf])
        if few:
            assert abs(check / forward - 1) < mpf(10) ** -25, (users, check, forward)
        out.writerow([users, sample, rate, colluding, sigma, epsilon, mp.nstr(forward, 40), mp.nstr(backward, 40), "yes" if few else "no"])
