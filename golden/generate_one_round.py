"""Writes one_round.csv (delta at epsilon) and one_round_epsilon.csv (epsilon at delta) for one shuffled round.

delta = H_a = (1/n) E( X_1 + ... + X_m + (n-m)(1-a) )_+ , a = e^epsilon, X = P - a Q for a random atom (weight, P, Q).
Doubles (epsilon0, epsilon, rate, delta as an input) are taken as exact; E = e^epsilon0 and a are evaluated in ball
arithmetic, as is everything else. Counts outside a window are dropped; the dropped part is bounded by (1 - probability
kept) * 2E, and window and precision grow until it and the ball's radius are below 1e-26 of delta.
Every row with m <= 10 is checked against plain enumeration of all multinomial counts with mpmath.

pip install mpmath python-flint;  python generate_one_round.py [delta | epsilon]   (1 minute, and 4 to 8)
"""
import itertools
import math
import os
import sys
import time
import mpmath
from flint import arb, ctx

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE_LIMIT = 1100


# ---- the laws ----------------------------------------------------------------------------------------------------

def atoms(kind, E, k, rate):
    """[(weight, P, Q)], the table of atoms; E and rate in any exact-enough number type."""
    if kind in ("ldp", "ldp-adaptive"):
        w, f = (1 / (E + 1), 1) if kind == "ldp" else (1 / (2 * E), 2 * E / (E + 1))
        out = [(w, f * E, f), (w, f, f * E), (1 - 2 * w, 0 * E, 0 * E)]
    elif kind == "krr-upper":
        p = 1 / (E + k - 1)
        out = [(p, E, 1), (p, 1, E), ((k - 2) * p, 1, 1), ((E - 1) * p, 0 * E, 0 * E)]
    elif kind == "krr-lower":
        p = 1 / (E + k - 1)
        out = [(p, E, 1), (p, 1, E), (E * p, 1 / E, 1 / E), ((k - 3) * p, 1, 1)]
    elif kind == "rr-lower":
        out = [(E / (E + 1), 1, 1 / E), (1 / (E + 1), 1, E)]
    elif kind == "rr-lower-reverse":
        out = [(E / (E + 1), 1 / E, 1), (1 / (E + 1), E, 1)]
    if rate != 1:
        out = [(rate * w, P, Q) for w, P, Q in out] + [(1 - rate, 1, 1)]
    return out


def brute(kind, n, m, eps0, k, rate, eps):
    """Plain enumeration with mpmath."""
    mpmath.mp.dps = 80
    E, a, g = mpmath.exp(mpmath.mpf(eps0)), mpmath.exp(mpmath.mpf(eps)), mpmath.mpf(rate)
    law = [t for t in atoms(kind, E, k, g) if t[0] != 0]
    total = mpmath.mpf(0)
    for cut in itertools.combinations(range(m + len(law) - 1), len(law) - 1):
        ends = (-1,) + cut + (m + len(law) - 1,)
        counts = [ends[i + 1] - ends[i] - 1 for i in range(len(law))]
        v = (n - m) * (1 - a) + sum(c * (P - a * Q) for c, (_, P, Q) in zip(counts, law))
        if v > 0:
            w = mpmath.mpf(math.factorial(m))
            for c, t in zip(counts, law):
                w *= mpmath.mpf(t[0]) ** c / math.factorial(c)
            total += w * v
    return total / n


# ---- binomial weights --------------------------------------------------------------------------------------------

def window(n, p, cut):
    """Counts of Binomial(n, p) outside which the probability is far below e^-cut."""
    mean, p = n * float(p), float(p)
    half = math.sqrt(2 * cut * mean * (1 - p)) + cut + 2
    return max(0, int(mean - half)), min(n, int(mean + half) + 1)


def weights(n, p, q, lo, hi):
    """Pr[Bin(n, p) = lo..hi] for p + q = 1."""
    if n == 0:
        return [arb(1)]
    t = (arb(n + 1).lgamma() - arb(lo + 1).lgamma() - arb(n - lo + 1).lgamma() + lo * p.log() + (n - lo) * q.log()).exp()
    odds, out = p / q, [t]
    for j in range(lo, hi):
        t = t * odds * (n - j) / (j + 1)
        out.append(t)
    return out


_tails = {}


def tail_counts(s):
    """[ sum_{j >= c} C(s, j) for c in 0 .. s+1 ]"""
    if s not in _tails:
        out, b = [0], 1
        for j in range(s, -1, -1):
            out.append(out[-1] + b)
            b = b * j // (s - j + 1)
        _tails[s] = out[::-1]
    return _tails[s]


# ---- (E X)_+ -----------------------------------------------------------------------------------------------------

def mirrored(n, m, a, E, law, cut):
    """Laws with atoms (w; fE; f), (w; f; fE) and one or two others with P = Q: s = the count of the pair, z = the count
    of the first of the others, and A | s ~ Bin(s, 1/2) by its exact tail."""
    w, f = law[0][0], law[0][2]
    rest = {}                                                    # merge equal P = Q
    for t, P, _ in law[2:]:
        if t != 0:
            key = str(P)
            rest[key] = (rest[key][0] + t, P) if key in rest else (t, arb(P))
    rest = sorted(rest.values(), key=lambda t: float(t[0]))
    (wz, vz), (wr, vr) = rest if len(rest) == 2 else [(arb(0), arb(0)), rest[0]]
    vz, vr = vz * (1 - a), vr * (1 - a)
    slope = f * (1 + a) * (E - 1)
    o0, os, oz = m * vr + (n - m) * (1 - a), f * (1 - a * E) - vr, vz - vr      # sum = slope A + o0 + os s + oz z
    fixed = lambda x: int((-x / slope * arb(2) ** ctx.prec).mid().floor().unique_fmpz())
    i0, is_, iz = fixed(o0), fixed(os), fixed(oz)
    lo, hi = window(m, 2 * w, cut)
    ws = weights(m, 2 * w, 1 - 2 * w, lo, hi)
    total, kept = arb(0), arb(0)
    if wz == 0 and hi > TABLE_LIMIT:                             # walk along (s, c(s)), c the threshold of A
        here = None
        for s, ps in zip(range(lo, hi + 1), ws):
            kept += ps
            c = ((i0 + is_ * s) >> ctx.prec) + 1
            off = o0 + os * s
            if c < 1 or c > s:
                here = None
                if c < 1:
                    total += ps * (slope * s / 2 + off)
                continue
            if here is None:
                pm = (arb(s + 1).lgamma() - arb(c + 1).lgamma() - arb(s - c + 1).lgamma()).exp() * arb(2) ** -s
                tail, t, j, tiny = arb(0), pm, c, pm * arb(2) ** -ctx.prec
                while j <= s and not t < tiny:
                    tail += t
                    t = t * (s - j) / (j + 1)
                    j += 1
                tail += arb(0, (2 * t * s).upper())               # radius: what is left of the tail
            else:
                c0 = here
                tail += pm * c0 / (2 * (s - c0))                  # s-1 -> s at the old c
                pm = pm * s / (2 * (s - c0))
                while c0 < c:
                    tail -= pm
                    pm = pm * (s - c0) / (c0 + 1)
                    c0 += 1
                while c0 > c:
                    pm = pm * c0 / (s - c0 + 1)
                    tail += pm
                    c0 -= 1
            here = c if c < s else None
            total += ps * ((slope * s / 2 + off) * tail + slope * c / 2 * pm)
    else:
        for s, ps in zip(range(lo, hi + 1), ws):
            M = m - s
            tz = wz / (wz + wr)
            zlo, zhi = window(M, tz, cut) if wz != 0 else (0, 0)
            wzs = weights(M, tz, wr / (wz + wr), zlo, zhi) if wz != 0 else [arb(1)]
            F, F1 = tail_counts(s), tail_counts(s - 1) if s else [0]
            part, full = arb(0), arb(0)
            for z, pz in zip(range(zlo, zhi + 1), wzs):
                full += pz
                c = ((i0 + is_ * s + iz * z) >> ctx.prec) + 1
                if c <= s:
                    c = max(c, 0)
                    g = F1[max(c - 1, 0)] * s
                    part += pz * (slope * g + (o0 + os * s + oz * z) * F[c])
            total += ps * part * arb(2) ** -s
            kept += ps * full
    return total / n, kept


def binary(n, m, a, E, law, cut):
    """Two atoms, and (1; 1) with weight 1 - rate: z absent users, b users on the second atom."""
    rate = 1 - law[2][0] if len(law) == 3 else arb(1)
    q = law[1][0] / rate
    x0, x1 = law[0][1] - a * law[0][2], law[1][1] - a * law[1][2]
    zlo, zhi = window(m, 1 - rate, cut) if len(law) == 3 else (0, 0)
    wz = weights(m, 1 - rate, rate, zlo, zhi) if len(law) == 3 else [arb(1)]
    total, kept = arb(0), arb(0)
    for z, pz in zip(range(zlo, zhi + 1), wz):
        M = m - z
        lo, hi = window(M, q, cut)
        part, full, base = arb(0), arb(0), M * x0 + (n - M) * (1 - a)
        for b, pb in zip(range(lo, hi + 1), weights(M, q, 1 - q, lo, hi)):
            full += pb
            v = base + b * (x1 - x0)
            if v > 0:
                part += pb * v
        total += pz * part
        kept += pz * full
    return total / n, kept


def delta(kind, n, m, eps0, k, rate, eps, digits=26):
    cut, extra = 90, 0
    while True:
        ctx.prec = 256 + int(1.6 * cut) + extra
        E, a, g = arb(eps0).exp(), arb(eps).exp(), arb(rate)
        law = atoms(kind, E, k, g if rate != 1 else 1)
        d, kept = (binary if kind.startswith("rr") else mirrored)(n, m, a, E, law, cut)
        if not m * max(P - a * Q for w, P, Q in law if w != 0) + (n - m) * (1 - a) > 0:
            return arb(0)                                        # beyond the largest loss
        if not d > 0:
            cut *= 2
            continue
        lost = (1 - kept) * 2 * E
        small = d * arb(10) ** -digits
        if not d.rad() < small:
            extra += 400
        elif abs(lost) < small:
            return d
        else:
            cut = max(cut + 60, int(-float(d.log())) + 90)


# ---- one_round.csv -----------------------------------------------------------------------------------------------

KINDS = ["ldp", "ldp-adaptive", "krr-upper", "krr-lower", "rr-lower", "rr-lower-reverse"]


def for_target(kind, n, eps0, k, target):
    """An epsilon of four digits with delta about target, or None."""
    want = math.sqrt(-math.log(target))
    lo, hi = 0.0, None                                           # sqrt(-ln delta) is nearly linear in epsilon
    f = lambda e: math.sqrt(-float(delta(kind, n, n, eps0, k, 1, e, 3).log()))
    flo, e = f(0.0), min(0.5 * eps0, 2 * want / math.sqrt(n))
    if flo > want:
        return None
    for _ in range(12):
        e = float(f"{e:.4g}")
        v = f(e)
        if abs(v * v - want * want) < 1.5:
            return e
        if v > want:
            hi, fhi = e, v
        else:
            lo, flo = e, v
        if hi is None:
            e = min(lo + (want - flo) * (e / max(v - f(0.0), 1e-3)) * 1.1, (e + eps0) / 2)
        else:
            e = lo + (hi - lo) * (want - flo) / (fhi - flo)
        if e > 0.999 * eps0:
            return None
    return None


def cases():
    turn, all_eps0, fractions = 0, [1e-6, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 20.0, 50.0], [0, 0.01, 0.1, 0.3, 0.6, 0.9, 0.99]
    for n in [2, 3, 5, 10, 30, 100, 1000]:
        for i, kind in enumerate(KINDS):
            for j in range(4):
                eps0, fr = all_eps0[turn % 9], fractions[(turn + turn // 9) % 7]
                k = ([3, 4, 10, 2] if kind == "krr-upper" else [3, 4, 10, 5])[j] if kind.startswith("krr") else 0
                turn += 1 if j < 3 else 2
                yield kind, n, n, eps0, k, 1, fr * eps0
            k = [3, 5][n % 2] if kind.startswith("krr") else 0
            if n in (3, 10, 100, 1000):
                eps0 = [0.5, 1.0, 2.0, 4.0, 8.0][(turn + i) % 5]
                yield kind, n, n, eps0, k, [0.5, 0.1, 0.01, 0.9][turn % 4], [0.1, 0.3, 0.02, 0.6][(turn // 3) % 4] * eps0
            if n in (5, 10, 100, 1000):
                eps0, m = [1.0, 2.0, 4.0][(turn + i) % 3], max(1, n // [2, 5, 10][turn % 3])
                top = math.log1p(m / n * math.expm1(eps0 if kind != "rr-lower" else min(eps0, 0.1 + eps0 / 10)))
                yield kind, n, m, eps0, k, 1, float(f"{[0, 0.1, 0.3, 0.5][turn % 4] * top:.6g}")
    yield "ldp", 10, 2, 1.0, 0, 1, 0.5                              # beyond the largest loss: delta = 0
    yield "rr-lower", 10, 2, 1.0, 0, 1, 0.5
    big = [("ldp", 0), ("ldp-adaptive", 0), ("krr-lower", 3), ("rr-lower", 0), ("rr-lower-reverse", 0)]
    for n, eps0s in [(10**4, [1.0, 2.0, 0.1, 4.0, 0.5]), (10**5, [4.0, 1.0, 2.0, 1.0, 2.0]), (10**6, [2.0, 4.0, 1.0, 0.5, 4.0])]:
        for (kind, k), eps0 in zip(big, eps0s):
            for target in [1e-2, 1e-6, 1e-10, 1e-40, 1e-150, 1e-290]:
                eps = for_target(kind, n, eps0, k, target)
                if eps is not None:
                    yield kind, n, n, eps0, k, 1, eps
    for kind, n, eps0, k, rate, eps in [("ldp", 10**4, 2.0, 0, 0.01, 0.004), ("ldp", 10**4, 2.0, 0, 0.1, 0.02), ("ldp-adaptive", 10**4, 4.0, 0, 0.01, 0.03),
                                        ("krr-lower", 10**4, 2.0, 3, 0.05, 0.01), ("ldp", 10**6, 20.0, 0, 1, 5.0), ("ldp-adaptive", 10**6, 20.0, 0, 1, 5.0),
                                        ("krr-lower", 10**6, 20.0, 3, 1, 5.0), ("rr-lower", 10**6, 20.0, 0, 1, 0.1)]:
        yield kind, n, n, eps0, k, rate, eps


def write_delta():
    start, rows, seen, checked, dropped = time.time(), [], set(), 0, 0
    for case in cases():
        if case in seen:
            continue
        seen.add(case)
        d = delta(*case)
        if d != 0 and d < arb(10) ** -300:
            dropped += 1
            continue
        if case[2] <= 10:
            b = brute(*case)
            assert abs(b - mpmath.mpf(d.str(60, radius=False))) <= mpmath.mpf(10) ** -25 * b, (case, b, d)
            checked += 1
        kind, n, m, eps0, k, rate, eps = case
        rows.append(f"{kind},{n},{m},{eps0!r},{k},{rate!r},{float(eps)!r},{'0' if d == 0 else d.str(25, radius=False)}")
    write("one_round.csv", "# One shuffled round: the hockey-stick divergence delta at epsilon (replacement adjacency, others as `kind` says).\n"
          "# n users, m of them sampled (m = n: all); k: the domain of k-RR (0: not used); rate: check-in rate.\n"
          "# Doubles are taken as exact. delta = 0 where epsilon is beyond the largest possible loss.\n", "kind,n,m,epsilon0,k,rate,epsilon,delta", rows)
    print(f"one_round.csv: {len(rows)} rows, {checked} checked by enumeration, {dropped} below 1e-300 left out, {time.time() - start:.0f} s", file=sys.stderr)


# ---- one_round_epsilon.csv ---------------------------------------------------------------------------------------

def epsilon(kind, n, m, eps0, k, rate, target):
    """The root of delta(epsilon) = target, bracketed to 1e-20 relative."""
    f = lambda e, digits=26: (delta(kind, n, m, eps0, k, rate, e, digits) / arb(target)).log()
    lo, hi = 0.0, eps0
    for _ in range(14):                                             # coarse bisection in doubles
        mid = (lo + hi) / 2 if lo > 0 else hi / 8
        d = delta(kind, n, m, eps0, k, rate, mid, 3)
        lo, hi = (mid, hi) if d > arb(target) else (lo, mid)
    e0, e1 = arb(lo), arb(hi)
    f0, f1 = f(e0), f(e1) if hi < eps0 else arb(-10)
    for _ in range(12):
        e2 = arb((e1 - f1 * (e1 - e0) / (f1 - f0)).mid())
        e0, f0, e1, f1 = e1, f1, e2, f(e2)
        if abs(f1) < arb(10) ** -24:
            break
    step = 1 + arb(10) ** -20
    assert f(arb((e1 / step).mid())) > 0 and f(arb((e1 * step).mid())) < 0, (kind, n, e1)
    return e1


def write_epsilon():
    start, rows, plan = time.time(), [], []
    for n, e0, d in [(10**4, 4.0, 1e-6), (10**5, 2.0, 1e-6), (10**6, 4.0, 1e-8), (10**6, 1.0, 1e-8), (10**7, 4.0, 1e-9)]:
        for kind, k in [("ldp", 0), ("ldp-adaptive", 0), ("krr-lower", 3), ("rr-lower", 0), ("rr-lower-reverse", 0)]:
            plan.append((kind, n, n, e0, k, 1, d))
    plan += [("ldp", 10**4, 10**4, 2.0, 0, r, 1e-4) for r in (0.01, 0.1)]
    plan += [("ldp", 10**4, 100, 3.0, 0, 1, 1e-6), ("krr-upper", 1000, 1000, math.log(13), 4, 1, 1e-6)]
    plan += [(kind, n, n, 3.0, 10, 1, 1e-6) for n in (100, 1000) for kind in ("krr-upper", "krr-lower")]
    best = None
    for case in plan:
        kind, n, m, eps0, k, rate, d = case
        e = epsilon(*case)
        put = lambda name, e: rows.append(f"{name},{n},{m},{eps0!r},{k},{rate!r},{d!r},{e.str(20, radius=False)}")
        put(kind, e)
        if kind == "rr-lower":
            best = e
        if kind == "rr-lower-reverse":
            put("rr-lower-max", max(best, e))
        print(rows[-1], f"{time.time() - start:.0f} s", file=sys.stderr)
    write("one_round_epsilon.csv", "# One shuffled round: epsilon with delta(epsilon) = delta; columns as in one_round.csv. rr-lower-max: the larger of both directions.\n",
          "kind,n,m,epsilon0,k,rate,delta,epsilon", rows)
    print(f"one_round_epsilon.csv: {len(rows)} rows, {time.time() - start:.0f} s", file=sys.stderr)


def write(name, comment, header, rows):
    with open(os.path.join(HERE, name), "w") as out:
        out.write(comment + "# Source: computed in ball arithmetic, error below 1e-19 relative, by generate_one_round.py.\n" + header + "\n" + "\n".join(rows) + "\n")


if __name__ == "__main__":
    what = sys.argv[1:] or ["delta", "epsilon"]
    if "delta" in what:
        write_delta()
    if "epsilon" in what:
        write_epsilon()
