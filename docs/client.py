"""A client of the wire format in Python: pip install pyhpke==0.6.5. It shares no code with the project.

    python client.py send TASK.json URL REPORT...      seals reports, given as hexadecimal digits, and sends them
    python client.py read TASK.json KEY.json BATCH     prints the reports of a batch, with the analyzer's key

It shows the bytes of docs/wire.md. It draws no report and keeps no ledger: a device of a person needs the
randomizer of the task with exact coins, and a ledger that survives crashes, as `shuffledp report` has them.
"""

import hashlib
import json
import secrets
import struct
import sys
import urllib.request

from pyhpke import AEADId, CipherSuite, KDFId, KEMId
from pyhpke.exceptions import PyHPKEError

SUITE = CipherSuite.new(KEMId.DHKEM_X25519_HKDF_SHA256, KDFId.HKDF_SHA256, AEADId.CHACHA20_POLY1305)
OUTER = b"shuffledp/1 outer\x01\x02"
INNER = b"shuffledp/1 inner\x01\x03"
NOTHING = bytes(32)  # the context, where devices were sent nothing
ENC, TAG, BATCH_HEADER = 32, 16, 81


def seal(public_key, info, aad, plain):
    enc, context = SUITE.create_sender_context(SUITE.kem.deserialize_public_key(bytes.fromhex(public_key)), info)
    return enc + context.seal(plain, aad)


def envelope(task_id, task, shuffler_key, window, report):
    inner_aad = task_id + struct.pack(">Q", window) + NOTHING
    inner = seal(task["analyzer_key"], INNER, inner_aad, report)
    header = struct.pack(">BB", 1, shuffler_key["number"]) + task_id + struct.pack(">Q", window)
    plain = b"\x00" + secrets.token_bytes(16) + NOTHING + inner
    return header + seal(shuffler_key["key"], OUTER, header, plain)


def send(task_file, url, reports):
    served = json.load(urllib.request.urlopen(f"{url}/v1/tasks/{task_file['id']}"))
    if served["task"]["id"] != task_file["id"]:
        raise SystemExit("the shuffler serves another task")
    if "tokens" in task_file["task"] or "second_shuffler" in task_file["task"]:
        raise SystemExit("this client makes neither tokens nor middle layers")
    task_id, window = bytes.fromhex(task_file["id"]), served["windows"]["last"]
    for report in reports:
        body = envelope(task_id, task_file["task"], served["shuffler_key"], window, bytes.fromhex(report))
        request = urllib.request.Request(f"{url}/v1/tasks/{task_file['id']}/reports", body, method="POST")
        request.add_header("Content-Type", "application/octet-stream")
        with urllib.request.urlopen(request) as answer:
            print(answer.status)


def read(task_file, key_file, batch):
    secret = SUITE.kem.deserialize_private_key(bytes.fromhex(key_file["secret"]))
    if len(batch) < BATCH_HEADER:
        raise SystemExit("too short for a batch")
    version, task_id, window, context, number = struct.unpack(">B32sQ32sQ", batch[:BATCH_HEADER])
    if version != 1 or task_id.hex() != task_file["id"] or number < task_file["task"]["round"]["users"]:
        raise SystemExit("not a batch of this task")
    length, rest = divmod(len(batch) - BATCH_HEADER, number)
    if rest or length <= ENC + TAG:
        raise SystemExit("a batch that is not as long as it says")
    rows = [batch[BATCH_HEADER + place * length:][:length] for place in range(number)]
    if len({row[:ENC] for row in rows}) < number:
        raise SystemExit("a batch that holds a report twice: it would be recognized")
    aad = task_id + struct.pack(">Q", window) + context
    reports, unreadable = [], 0
    for row in rows:
        try:
            recipient = SUITE.create_recipient_context(row[:ENC], secret, INNER)
            reports.append(recipient.open(row[ENC:], aad).hex())
        except PyHPKEError:
            unreadable += 1
    print(*reports, sep="\n")
    if unreadable:
        print(f"{unreadable} of {number} reports cannot be opened: they are made up, and hide nobody", file=sys.stderr)


if __name__ == "__main__":
    what, path, *rest = sys.argv[1:]
    with open(path) as file:
        task_file = json.load(file)
    if what == "send":
        send(task_file, rest[0], rest[1:])
    else:
        with open(rest[0]) as key, open(rest[1], "rb") as batch:
            read(task_file, json.load(key), batch.read())
