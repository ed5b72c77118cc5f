"""Ramps on spheres: moments of the density, and delta of one shuffled round of two users.

    python generate_directions.py > directions.csv

Density of a report at height c (the cosine) against the uniform law: low (1 + (E-1) rise(c)), rise 0 below c0,
1 above c1, linear in between; c0 = start/sqrt(d), c1 = min((start + 6)/sqrt(d), 1). Masses and moments of heights
are incomplete beta functions; delta is one integral of a stop-loss function that is known in closed form.
start = -1 stands for PrivUnit: c0 = c1 where the mean is longest, found here by a root of the derivative.
"""

from mpmath import beta, betainc, exp, findroot, mp, mpf, quad, sqrt

mp.dps = 30


class Heights:
    """Heights above c >= 0 of a uniformly random direction in d dimensions: mass, E c, E c^2."""

    def __init__(self, d):
        self.d, self.whole = d, beta(mpf(1) / 2, mpf(d - 1) / 2)

    def mass(self, c):
        return betainc(mpf(self.d - 1) / 2, mpf(1) / 2, 0, 1 - c * c, regularized=True) / 2

    def first(self, c):
        return (1 - c * c) ** (mpf(self.d - 1) / 2) / ((self.d - 1) * self.whole)

    def second(self, c):
        return (c * (1 - c * c) ** (mpf(self.d - 1) / 2) / self.whole + self.mass(c)) / self.d

    def density(self, c):
        return (1 - c * c) ** (mpf(self.d - 3) / 2) / self.whole


class Ramp:
    def __init__(self, d, epsilon0, start):
        self.h, self.d, self.growth = Heights(d), d, exp(mpf(epsilon0)) - 1
        if start < 0:
            # d/dc of first/(1 + growth mass) = 0: -c w (1 + growth mass) + growth first w = 0.
            f = lambda c: self.growth * self.h.first(c) - c * (1 + self.growth * self.h.mass(c))
            self.c0 = self.c1 = findroot(f, (mpf("0.01"), mpf("0.9")), solver="anderson", tol=1e-25)
        else:
            self.c0 = mpf(start) / sqrt(mpf(d))
            self.c1 = min((mpf(start) + 6) / sqrt(mpf(d)), mpf(1))
        self.low = 1 / (1 + self.growth * self.rise_above(mpf(0)))

    def above(self, c, power):
        return [self.h.mass, self.h.first, self.h.second][power](c)

    def between(self, s, power):
        """E c^power between max(s, c0) and c1."""
        s = max(s, self.c0)
        return self.above(s, power) - self.above(self.c1, power) if s < self.c1 else mpf(0)

    def rise_above(self, s):
        """E rise over heights above s >= 0."""
        top = self.above(max(s, self.c1), 0)
        if self.c1 == self.c0 or s >= self.c1:
            return top
        return (self.between(s, 1) - self.c0 * self.between(s, 0)) / (self.c1 - self.c0) + top

    def moments(self):
        lean, square = self.above(self.c1, 1), self.above(self.c1, 0)
        if self.c1 > self.c0:
            width = self.c1 - self.c0
            zero, one, two = (self.between(mpf(0), k) for k in range(3))
            lean += (two - self.c0 * one) / width
            square += (two - 2 * self.c0 * one + self.c0**2 * zero) / width**2
        length = self.low * self.growth * lean
        v = 2 * self.low * self.growth**2 * square
        return self.rise_above(mpf(0)), length, 4 * self.d * length**2 / v

    def height(self, rise):
        return self.c0 + rise * (self.c1 - self.c0)

    def part(self, s, flat, right, left):
        """Integral over heights above s of flat + right rise(c) + left rise(-c)."""
        if s >= 0:
            return flat * self.above(s, 0) + right * self.rise_above(s)
        mass = mpf(1) / 2 - self.above(-s, 0)
        rises = self.rise_above(mpf(0)) - self.rise_above(-s)
        return self.part(mpf(0), flat, right, left) + flat * mass + left * rises

    def upper(self, epsilon):
        """(1/2) E(X1 + X2)_+ by the blanket, opposite vectors."""
        a, g = exp(mpf(epsilon)), self.growth
        base = 1 - a

        def stop_loss(k):
            if k >= base:
                rise = (k - base) / g
                s = mpf(1) if rise >= 1 else self.height(rise)
            else:
                rise = (base - k) / (a * g)
                s = mpf(-1) if rise >= 1 else -self.height(rise)
            return self.part(s, base - k, g, -a * g)

        whole = 2 * (mpf(1) / 2 - self.above(self.c0, 0)) * stop_loss(-base)
        whole += self.above(self.c1, 0) * (stop_loss(-base - g) + stop_loss(-base + a * g))
        kinks = [base, base + g, base - a * g]
        for sign, slope in [(1, g), (-1, -a * g)]:
            rises = sorted({r for r in [(-k - base) / slope for k in kinks] if 0 < r < 1} | {mpf(0), mpf(1)})
            if self.c1 > self.c0:
                f = lambda c: self.h.density(c) * stop_loss(-base - slope * (c - self.c0) / (self.c1 - self.c0))
                whole += quad(f, [self.height(r) for r in rises])
        low = self.low
        return low * (1 - low) * stop_loss(mpf(0)) + low**2 * whole / 2

    def lower(self, epsilon):
        """All others (one) at the second vector: the larger direction."""
        a, g, low = exp(mpf(epsilon)), self.growth, self.low

        def stop_loss(k):
            """E_W (P - k)_+ over W = g(-c), P = g(c)/g(-c)."""
            if k >= 1:
                rise = (k - 1) / g
                s = mpf(1) if rise >= 1 else self.height(rise)
            elif k <= 0:
                s = mpf(-1)
            else:
                rise = (1 / k - 1) / g
                s = mpf(-1) if rise >= 1 else -self.height(rise)
            return low * self.part(s, 1 - k, g, -k * g)

        def both(k):
            """E (P1 + P2 - k)_+."""
            total = low * 2 * (mpf(1) / 2 - self.above(self.c0, 0)) * stop_loss(k - 1)
            e = 1 + g
            total += low * self.above(self.c1, 0) * (stop_loss(k - e) + e * stop_loss(k - 1 / e))
            if self.c1 > self.c0:
                kinks = [mpf(1), e, 1 / e, mpf(0)]
                up = sorted({r for r in [(k - x - 1) / g for x in kinks] if 0 < r < 1} | {mpf(0), mpf(1)})
                down = {(1 / (k - x) - 1) / g for x in kinks if k > x}
                down = sorted({r for r in down if 0 < r < 1} | {mpf(0), mpf(1)})
                odds = lambda c: 1 + g * (c - self.c0) / (self.c1 - self.c0)
                f = lambda c: self.h.density(c) * stop_loss(k - odds(c))
                h = lambda c: self.h.density(c) * odds(c) * stop_loss(k - 1 / odds(c))
                total += low * (quad(f, [self.height(r) for r in up]) + quad(h, [self.height(r) for r in down]))
            return total

        forward = both(2 * a) / 2
        reverse = a / 2 * (both(2 / a) + 2 / a - 2)
        return max(forward, reverse)


print("# made by generate_directions.py: mpmath, 30 digits; delta_upper and delta_lower are for two users")
print("d,epsilon0,start,c0,mean_rise,mean_length,efficiency,epsilon,delta_upper,delta_lower")
for d in [2, 3, 4, 10, 128, 1290]:
    for epsilon0, start in [(0.5, 0.125), (2.0, 0.0), (2.0, 0.5), (4.0, 1.0), (1.0, -1), (4.0, -1)]:
        ramp = Ramp(d, epsilon0, start)
        rise, length, efficiency = ramp.moments()
        for epsilon in [0.05, 0.4 * epsilon0]:
            cells = [ramp.c0, rise, length, efficiency, epsilon, ramp.upper(epsilon), ramp.lower(epsilon)]
            texts = [mp.nstr(x, 20) if not isinstance(x, float) else repr(x) for x in cells]
            print(",".join([str(d), repr(epsilon0), repr(start), *texts]))
