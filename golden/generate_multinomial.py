"""Writes multinomial.csv: ln of multinomial probabilities, 40 significant digits.

The probabilities given are doubles, taken as exact; the last category has exactly what remains of 1. Sum of lgamma
differences in 600-bit ball arithmetic, checked against exact rational arithmetic for n <= 1000.

pip install mpmath python-flint;  python generate_multinomial.py    (1 second)
"""
import math
import os
from fractions import Fraction
import mpmath
from flint import arb, ctx

ctx.prec = 600
mpmath.mp.dps = 60
HERE = os.path.dirname(os.path.abspath(__file__))


def ln_pmf(counts, probs):
    out = arb(sum(counts) + 1).lgamma()
    for c, f in zip(counts, probs):
        out += c * (arb(f.numerator) / arb(f.denominator)).log() - arb(c + 1).lgamma()
    return out


def near(n, probs, shifts):
    """Counts `shifts` standard deviations from the mean; the last takes what is left."""
    counts = [max(0, round(n * p + s * math.sqrt(n * p * (1 - p)))) for p, s in zip(probs, shifts)]
    return counts + [n - sum(counts)]


LAWS = [[0.25, 0.5], [0.2689414213699951, 0.2689414213699951], [0.018, 0.018, 0.9], [0.001, 1e-6, 0.4], [0.1, 0.1, 0.3, 0.2]]
SHIFTS = [[0, 0, 0, 0], [1, -2.5, 0.3, 1], [-6, 3.5, 2, -1], [12, 6, -3, 2], [-12, 25, 1, -8], [25, -25, 12, 3]]


def main():
    cases = [([1, 0, 0], LAWS[0]), ([2, 1, 2], LAWS[1]), ([0, 0, 0, 7], LAWS[2]), ([1, 0, 3, 2], LAWS[3]), ([0, 5, 0, 0, 0], LAWS[4])]
    for i, n in enumerate([100, 1000, 10**4, 10**6, 10**8, 10**9, 10**12]):
        for j in range(3):
            law = LAWS[(i + 2 * j) % 5]
            counts = near(n, law, SHIFTS[(i + 2 * j) % 6 if n >= 10**4 else j % 3])
            cases.append((counts, law))
    rows = []
    for counts, law in cases:
        n, probs = sum(counts), [Fraction(p) for p in law]
        probs.append(1 - sum(probs))
        assert min(counts) >= 0 and probs[-1] > 0 and len(counts) == len(probs)
        v = ln_pmf(counts, probs)
        assert v.rad() < arb(10) ** -40 * (1 + abs(v))
        if n <= 1000:
            x = Fraction(math.factorial(n))
            for c, f in zip(counts, probs):
                x = x / math.factorial(c) * f ** c
            x = mpmath.log(mpmath.mpf(x.numerator)) - mpmath.log(mpmath.mpf(x.denominator))
            assert abs(x - mpmath.mpf(v.str(50, radius=False))) < mpmath.mpf(10) ** -40 * (1 + abs(x))
        rows.append(f"{n},{' '.join(map(str, counts))},{' '.join(map(repr, law))},{v.str(40, radius=False)}")
    with open(os.path.join(HERE, "multinomial.csv"), "w") as out:
        out.write("# Multinomial: ln Pr[counts]. counts and probs are separated by spaces; probs are doubles, taken as exact, one fewer\n"
                  "# than the counts: the last category has the exact remaining probability.\n"
                  "# Source: computed in 600-bit ball arithmetic by generate_multinomial.py, 40 significant digits.\n"
                  "n,counts,probs,ln_pmf\n" + "\n".join(rows) + "\n")
    print(len(rows), "rows")


main()
