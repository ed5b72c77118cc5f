"""Vectors of wire format 1, by a client that shares no code with the project: pip install pyhpke==0.6.5.

    python golden/generate_wire.py > golden/wire.json

The formulas are those of docs/wire.md. Ephemeral keys are derived from a counter, so that the file is always the
same. Defects are named for what is wrong with them. Tokens are signed by RSASSA-PSS written out, with salts and primes
from a counter: what a device gets by unblinding is such a signature.
"""

import hashlib
import json
import struct

from pyhpke import AEADId, CipherSuite, KDFId, KEMId

SUITE = CipherSuite.new(KEMId.DHKEM_X25519_HKDF_SHA256, KDFId.HKDF_SHA256, AEADId.CHACHA20_POLY1305)
OUTER = b"shuffledp/1 outer\x01\x02"
INNER = b"shuffledp/1 inner\x01\x03"
NOTHING = bytes(32)
counter = 0


def key_pair(seed):
    return SUITE.kem.derive_key_pair(hashlib.sha256(seed.encode()).digest())


def public(pair):
    return pair.public_key.to_public_bytes()


def text(value):
    encoded = value.encode()
    return struct.pack(">H", len(encoded)) + encoded


def encoding(task, report_length):
    fields = b""
    for name, value in sorted(task["round"].items()):
        fields += text(name)
        if isinstance(value, bool):
            fields += struct.pack(">BB", 3, value)
        elif isinstance(value, str):
            fields += b"\x02" + text(value)
        else:
            fields += struct.pack(">Bd", 1, value)
    labels = task["values"]["labels"]
    return b"".join([
        struct.pack(">H", 1),
        text(task["name"]),
        struct.pack(">H", len(task["round"])) + fields,
        struct.pack(">BI", 1, len(labels)) + b"".join(map(text, labels)),
        struct.pack(">I", report_length),
        struct.pack(">dd", task["epsilon"], task["delta"]),
        struct.pack(">Q", task["window_seconds"]),
        bytes.fromhex(task["analyzer_key"]),
        tokens(task["tokens"]) if "tokens" in task else b"",
        b"\x02" + bytes.fromhex(task["second_shuffler"]) if "second_shuffler" in task else b"",
    ])


def tokens(issuer):
    keys = issuer["keys"]
    return struct.pack(">BQI", 1, issuer["first_window"], len(keys)) + b"".join(map(bytes.fromhex, keys))


def sealed(to, info, aad, plain):
    global counter
    counter += 1
    enc, context = SUITE.create_sender_context(to.public_key, info, eks=key_pair(f"ephemeral {counter}"))
    return enc + context.seal(plain, aad)


def inner(report, window, context=NOTHING, to=None, id_=None):
    aad = (id_ or TASK_ID) + struct.pack(">Q", window) + context
    return sealed(to or ANALYZER, INNER, aad, report)


def envelope(report, window, *, kind=0, version=1, number=7, id_=None, inside=None, info=OUTER, to=None,
             signed_window=None, token=b"", nonce=None, context=NOTHING):
    header = struct.pack(">BB", version, number) + (id_ or TASK_ID) + struct.pack(">Q", window)
    signed = header[:34] + struct.pack(">Q", window if signed_window is None else signed_window)
    nonce = nonce or hashlib.sha256(b"nonce" + bytes([counter % 256])).digest()[:16]
    plain = bytes([kind]) + nonce + context + token + (inside or inner(report, window))
    return header + sealed(to or SHUFFLER, info, signed, plain)


def probably_prime(n):
    d, r = n - 1, 0
    while d % 2 == 0:
        d, r = d // 2, r + 1
    for base in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37):
        x = pow(base, d, n)
        if x not in (1, n - 1) and all((x := pow(x, 2, n)) != n - 1 for _ in range(r - 1)):
            return False
    return True


def rsa_key(seed):
    """Modulus and private exponent of 2048 bits, from two primes whose highest two bits are set."""
    primes, count = [], 0
    while len(primes) < 2:
        count += 1
        drawn = b"".join(hashlib.sha512(f"{seed} {count} {part}".encode()).digest() for part in "ab")
        prime = int.from_bytes(drawn, "big") | 3 << 1022 | 1
        if prime % 65537 != 1 and probably_prime(prime):
            primes.append(prime)
    p, q = primes
    return p * q, pow(65537, -1, (p - 1) * (q - 1))


def pss(key, message, salt_length=48):
    """RFC 8017, 8.1.1 and 9.1.1: SHA-384, MGF1 with SHA-384."""
    modulus, exponent = key
    hashed = lambda data: hashlib.sha384(data).digest()
    salt = hashlib.sha512(b"salt" + message).digest()[:salt_length]
    h = hashed(bytes(8) + hashed(message) + salt)
    masked = bytes(256 - salt_length - 48 - 2) + b"\x01" + salt
    mask = b"".join(hashed(h + struct.pack(">I", block)) for block in range(5))[:len(masked)]
    masked = bytes(a ^ b for a, b in zip(masked, mask))
    encoded = bytes([masked[0] & 127]) + masked[1:] + h + b"\xbc"
    return pow(int.from_bytes(encoded, "big"), exponent, modulus).to_bytes(256, "big")


def token(name, window, key, *, id_=None, domain=b"shuffledp/1 token", signed_window=None, salt_length=48):
    nonce = hashlib.sha256(f"token {name}".encode()).digest()
    signed = window if signed_window is None else signed_window
    return nonce + pss(key, nonce + domain + (id_ or TOKEN_ID) + struct.pack(">Q", signed), salt_length)


SHUFFLER, ANALYZER, STRANGER = key_pair("shuffler"), key_pair("analyzer"), key_pair("stranger")
TASK = {
    "name": "commute",
    "round": {
        "randomizer": "krr", "epsilon0": 2.0, "k": 3, "users": 4, "check_in": 0.5,
        "adaptive_within_round": False, "colluding": 0.25, "rounds": 30,
    },
    "values": {"labels": ["bicycle", "café", "car"]},
    "epsilon": 2.0, "delta": 1e-6, "window_seconds": 86400,
    "analyzer_key": public(ANALYZER).hex(),
}
ENCODING = encoding(TASK, 1)
TASK_ID = hashlib.sha256(b"shuffledp/1 task" + ENCODING).digest()
OTHER_ID = hashlib.sha256(b"another task").digest()

good = [{"report": report, "window": 3, "envelope": envelope(bytes([report]), 3).hex()} for report in (0, 1, 2, 2)]
plain = envelope(b"\x01", 3)
flipped = plain[:-1] + bytes([plain[-1] ^ 1])
defects = {
    "length_one_byte_short": plain[:-1],
    "length_one_byte_long": plain + b"\0",
    "length_empty": b"",
    "version_2": envelope(b"\x01", 3, version=2),
    "version_0": b"\0" + plain[1:],
    "key_that_nobody_has": envelope(b"\x01", 3, number=8),
    "task_of_others": envelope(b"\x01", 3, id_=OTHER_ID),
    "sealed_to_a_stranger": envelope(b"\x01", 3, to=STRANGER),
    "sealed_and_damaged": flipped,
    "sealed_for_another_window": envelope(b"\x01", 3, signed_window=4),
    "sealed_with_the_inner_info": envelope(b"\x01", 3, info=INNER),
    "kind_3": envelope(b"\x01", 3, kind=3),
    "kind_255": envelope(b"\x01", 3, kind=255),
}
unreadable = {
    "inner_sealed_to_a_stranger": envelope(b"\x01", 3, inside=inner(b"\x01", 3, to=STRANGER)),
    "inner_of_another_window": envelope(b"\x01", 3, inside=inner(b"\x01", 4)),
    "inner_of_another_context": envelope(b"\x01", 3, inside=inner(b"\x01", 3, context=b"\x01" * 32)),
    "inner_of_another_task": envelope(b"\x01", 3, inside=inner(b"\x01", 3, id_=OTHER_ID)),
}
noise = hashlib.sha512(b"dummy").digest()
dummies = [envelope(b"\x01", 3, kind=1, inside=noise[:49])]
malformed = {"report_of_no_category": envelope(b"\x03", 3)}
rows = [inner(bytes([report]), 3) for report in (2, 0, 1, 1)]
head = b"\x01" + TASK_ID + struct.pack(">Q", 3) + NOTHING
batch = head + struct.pack(">Q", len(rows)) + b"".join(rows)
few = head + struct.pack(">Q", 3) + b"".join(rows[:3])
batch_defects = {
    "length_cut": batch[:-1],
    "length_of_another_number": head + struct.pack(">Q", 5) + b"".join(rows),
    "length_without_a_header": batch[:80],
    "version_9": b"\x09" + batch[1:],
    "task_of_others": b"\x01" + OTHER_ID + batch[33:],
    "too_small": few,
    "repeated": head + struct.pack(">Q", 4) + b"".join(rows[:3] + rows[:1]),
}
# The same task with an issuer for the windows 3 and 4.
ISSUER = [rsa_key(f"issuer {window}") for window in (3, 4)]
TOKEN_TASK = TASK | {"tokens": {"first_window": 3, "keys": [n.to_bytes(256, "big").hex() for n, _ in ISSUER]}}
TOKEN_ENCODING = encoding(TOKEN_TASK, 1)
TOKEN_ID = hashlib.sha256(b"shuffledp/1 task" + TOKEN_ENCODING).digest()
THIRD, FOURTH = ISSUER
good_token = token("good", 3, THIRD)


def with_token(token, window=3):
    inside = inner(b"\x01", window, id_=TOKEN_ID)
    return envelope(b"\x01", window, id_=TOKEN_ID, token=token, inside=inside)


token_defects = {
    "length_without_a_token": with_token(b""),
    "token_of_zeros": with_token(bytes(288)),
    "token_with_another_nonce": with_token(b"\0" + good_token[1:]),
    "token_damaged": with_token(good_token[:-1] + bytes([good_token[-1] ^ 1])),
    "token_by_the_key_of_another_window": with_token(token("key", 3, FOURTH)),
    "token_for_another_window": with_token(token("window", 3, THIRD, signed_window=4)),
    "token_for_another_task": with_token(token("task", 3, THIRD, id_=TASK_ID)),
    "token_of_another_domain": with_token(token("domain", 3, THIRD, domain=b"shuffledp/1 t0ken")),
    "token_with_a_shorter_salt": with_token(token("salt", 3, THIRD, salt_length=32)),
    "token_in_a_window_without_a_key": with_token(good_token, 5),
}
probe = envelope(b"\x01", 3, kind=2, inside=noise[:49], nonce=b"the probe's mark")
probe_mark = hashlib.sha256(b"shuffledp/1 probe" + TASK_ID + struct.pack(">Q", 3) + b"the probe's mark").hexdigest()
defects["context_of_probes"] = envelope(b"\x01", 3, context=b"shuffledp/1 probes of one window")
# The token task with a second shuffler as well.
SECOND = key_pair("second shuffler")
MIDDLE = b"shuffledp/1 middle\x01\x04"
CHAIN_TASK = TOKEN_TASK | {"second_shuffler": public(SECOND).hex()}
CHAIN_ENCODING = encoding(CHAIN_TASK, 1)
CHAIN_ID = hashlib.sha256(b"shuffledp/1 task" + CHAIN_ENCODING).digest()


def middle(report, token, *, to=None, info=MIDDLE, window=3):
    aad = CHAIN_ID + struct.pack(">Q", window) + NOTHING
    return sealed(to or SECOND, info, aad, token + inner(report, 3, id_=CHAIN_ID))


chain_tokens = [token(f"chain {person}", 3, THIRD, id_=CHAIN_ID) for person in range(4)]
chain_rows = [middle(bytes([report]), token) for report, token in zip((0, 1, 2, 2), chain_tokens)]
chain_envelopes = [envelope(b"", 3, id_=CHAIN_ID, inside=row) for row in chain_rows]
chain_head = b"\x01" + CHAIN_ID + struct.pack(">Q", 3) + NOTHING + struct.pack(">Q", 4)
chain_defects = {
    "sealed_to_the_first_shuffler": middle(b"\x01", chain_tokens[3], to=SHUFFLER),
    "sealed_with_the_inner_info": middle(b"\x01", chain_tokens[3], info=INNER),
    "sealed_for_another_window": middle(b"\x01", chain_tokens[3], window=4),
    "token_of_zeros": middle(b"\x01", bytes(288)),
    "token_for_the_task_with_one_shuffler": middle(b"\x01", good_token),
}
hexed = lambda vectors: {name: bytes_.hex() for name, bytes_ in vectors.items()}
print(json.dumps({
    "source": "golden/generate_wire.py, pyhpke 0.6.5",
    "task": TASK, "encoding": ENCODING.hex(), "task_id": TASK_ID.hex(),
    "shuffler": {"number": 7, "public": public(SHUFFLER).hex(), "secret": SHUFFLER.private_key.to_private_bytes().hex()},
    "analyzer": {"public": public(ANALYZER).hex(), "secret": ANALYZER.private_key.to_private_bytes().hex()},
    "good": good, "dummies": [dummy.hex() for dummy in dummies], "defects": hexed(defects), "unreadable": hexed(unreadable), "malformed": hexed(malformed),
    "probes": [{"window": 3, "mark": probe_mark, "envelope": probe.hex()}],
    "tokens": {
        "task": TOKEN_TASK, "encoding": TOKEN_ENCODING.hex(), "task_id": TOKEN_ID.hex(),
        "good": [
            {"report": 1, "window": window, "nonce": token("good", window, key)[:32].hex(),
             "envelope": with_token(token("good", window, key), window).hex()}
            for window, key in ((3, THIRD), (4, FOURTH))
        ],
        "dummies": [envelope(b"\x01", 3, kind=1, inside=noise[:49], id_=TOKEN_ID, token=bytes(288)).hex()],
        "defects": hexed(token_defects),
    },
    "chain": {
        "task": CHAIN_TASK, "encoding": CHAIN_ENCODING.hex(), "task_id": CHAIN_ID.hex(),
        "second_shuffler": {"secret": SECOND.private_key.to_private_bytes().hex()},
        "envelopes": [one.hex() for one in chain_envelopes], "reports": [0, 1, 2, 2],
        "handed": (chain_head + b"".join(chain_rows)).hex(), "defects": hexed(chain_defects),
    },
    "batch": {
        "bytes": batch.hex(), "reports": [2, 0, 1, 1],
        "digest": hashlib.sha256(b"shuffledp/1 batch" + batch).hexdigest(), "defects": hexed(batch_defects),
    },
}, indent=1, ensure_ascii=False))
