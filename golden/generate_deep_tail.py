"""Delta and epsilon of 100 rounds of shuffled 3-ary randomized response, two users, e^epsilon0 = 3, exactly: deep_tail.csv.

User 1 holds value 0 or 1, the other user value 2. In 25ths the six multisets of two reports have probabilities
P = {00: 3, 01: 4, 02: 10, 11: 1, 12: 4, 22: 3} and Q with 0 and 1 exchanged, so that a round's likelihood ratio is 3, 5/2, 1, 2/5 or 1/3. The composed
law is a polynomial with integer coefficients; only e^epsilon and the last sums are not integers, and have 80 digits.
Usage: python generate_deep_tail.py > deep_tail.csv   (mpmath; about a minute)
"""
from fractions import Fraction

from mpmath import mp, mpf, log, exp

mp.dps = 80
ROUNDS = 100
# (number of factors 3, of factors 5/2) of the ratio: 25 P
ONE = {(1, 0): 3, (0, 0): 4 + 3, (0, 1): 10, (-1, 0): 1, (0, -1): 4}


def product(left, right):
    total = {}
    for (a, b), p in left.items():
        for (c, d), q in right.items():
            total[a + c, b + d] = total.get((a + c, b + d), 0) + p * q
    return total


def composed():
    law = {(0, 0): 1}
    for _ in range(ROUNDS):
        law = product(law, ONE)
    assert sum(law.values()) == 25 ** ROUNDS
    total = mpf(25) ** ROUNDS
    return [(Fraction(3) ** i * Fraction(5, 2) ** j, mpf(p) / total) for (i, j), p in law.items()]


LAW = [(mpf(ratio.numerator) / ratio.denominator, p) for ratio, p in composed()]


def delta(epsilon):
    a = exp(epsilon)
    return sum(p * (1 - a / ratio) for ratio, p in LAW if ratio > a)


def epsilon_at(wanted):
    low, high = mpf(0), ROUNDS * log(3)
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if delta(middle) > wanted else (low, middle)
    return high


print("# 100 rounds of shuffled 3-RR, n = 2, e^epsilon0 = 3, the other user at a third value; exact arithmetic, see generate_deep_tail.py.")
print("delta,epsilon")
for exponent in (6, 20, 40):
    wanted = mpf(10) ** -exponent
    print(f"1e-{exponent},{mp.nstr(epsilon_at(wanted), 20)}")
