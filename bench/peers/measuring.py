"""What `run`, `composition`, `allocation` and `gradients` share: building everybody, and the time and memory of one child process."""
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
VENV = HERE / ".venv"
PYTHON = VENV / "bin" / "python"
SHUFFLEDP = ROOT / "target" / "release" / "shuffledp"


def prepare():
    """Build the binary and install the pinned peers; their output goes to standard error."""
    if not PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True, stdout=sys.stderr)
    install = [PYTHON, "-m", "pip", "install", "--quiet", "--requirement", HERE / "requirements.txt"]
    subprocess.run(install, check=True, stdout=sys.stderr)
    build = ["cargo", "build", "--release", "-p", "shuffledp-cli"]
    subprocess.run(build, check=True, cwd=ROOT, stdout=sys.stderr)


def measure(command, seconds, threads=1):
    """Run to the end or to the time limit: (output or None, last line of errors, wall s, CPU s, peak MB)."""
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads), OPENBLAS_NUM_THREADS=str(threads))
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        start = time.perf_counter()
        child = subprocess.Popen(command, stdout=output, stderr=errors, env=environment)
        timer = threading.Timer(seconds, child.kill)
        timer.start()
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - start
        timer.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        text = output.read() if child.returncode == 0 else None
        complaint = (errors.read().strip().splitlines() or [""])[-1]
    return text, complaint, wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
