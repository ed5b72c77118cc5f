#!/usr/bin/env python3
"""Print the tables of docs/peers.md: what each peer answers on ordinary and on hard inputs.

Run with the Python of bench/peers/.venv. Usage: edge_cases.py [SECONDS_PER_CASE], 300 unless told.
"""
import contextlib
import io
import multiprocessing
import sys
import warnings

from peer import PEERS

NAN, INF = float("nan"), float("inf")
CASES = {  # input: (epsilon0, users, delta)
    "n=1e4, e0=4, delta=1e-6": (4, 10**4, 1e-6),
    "n=1e6, e0=4, delta=1e-8": (4, 10**6, 1e-8),
    "n=1, e0=1, delta=1e-6": (1, 1, 1e-6),
    "n=2, e0=1, delta=1e-6": (1, 2, 1e-6),
    "n=3, e0=1, delta=1e-6": (1, 3, 1e-6),
    "n=10, e0=1, delta=1e-6": (1, 10, 1e-6),
    "n=100, e0=1, delta=1e-6": (1, 100, 1e-6),
    "n=1e4, e0=1e-6, delta=1e-6": (1e-6, 10**4, 1e-6),
    "n=1e4, e0=50, delta=1e-6": (50, 10**4, 1e-6),
    "n=1e4, e0=4, delta=0.5": (4, 10**4, 0.5),
    "n=1e4, e0=4, delta=1e-15": (4, 10**4, 1e-15),
    "n=1e4, e0=4, delta=1e-16": (4, 10**4, 1e-16),
    "n=1e4, e0=4, delta=1e-300": (4, 10**4, 1e-300),
    "n=1e4, e0=4, delta=0": (4, 10**4, 0.0),
    "n=1e4, e0=4, delta=1": (4, 10**4, 1.0),
    "n=1e4, e0=4, delta=-1": (4, 10**4, -1.0),
    "n=NaN, e0=4, delta=1e-6": (4, NAN, 1e-6),
    "n=1e4, e0=NaN, delta=1e-6": (NAN, 10**4, 1e-6),
    "n=1e4, e0=4, delta=NaN": (4, 10**4, NAN),
    "n=infinity, e0=4, delta=1e-6": (4, INF, 1e-6),
    "n=1e4, e0=infinity, delta=1e-6": (INF, 10**4, 1e-6),
    "n=1e4, e0=4, delta=infinity": (4, 10**4, INF),
    "n=-1e4, e0=4, delta=1e-6": (4, -(10**4), 1e-6),
    "n=10**6.5, e0=4, delta=1e-6": (4, 10**6.5, 1e-6),
    "n=1e9, e0=4, delta=1e-9": (4, 10**9, 1e-9),
    "n=1e12, e0=4, delta=1e-9": (4, 10**12, 1e-9),
}


def answer(peer, arguments, pipe):
    """Send the value, or the exception, and whatever the package printed."""
    warnings.simplefilter("ignore")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            result = repr(PEERS[peer](*arguments))
        except Exception as error:
            result = f"{type(error).__name__}: {error}"
    pipe.send(result + "".join(f"; prints `{line}`" for line in dict.fromkeys(printed.getvalue().splitlines())))


def ask(peer, arguments, seconds):
    processes = multiprocessing.get_context("fork")
    receiver, sender = processes.Pipe(duplex=False)
    child = processes.Process(target=answer, args=(peer, arguments, sender))
    child.start()
    result = receiver.recv() if receiver.poll(seconds) else f"no answer in {seconds:g} s"
    child.kill()
    child.join()
    return result


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 300
    peers = [name for name in PEERS if not name.endswith("step 1")]
    for name in peers:  # import once, here: the children inherit it
        with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
            PEERS[name](1, 2, 0.5)
    for name in peers:
        print(f"\n| input | {name} |\n|---|---|")
        for case, arguments in CASES.items():
            print(f"| {case} | {ask(name, arguments, seconds)} |", flush=True)


if __name__ == "__main__":
    main()
