"""Answers and media of a gateway as values that can be compared with those of another one."""

import fnmatch
import hashlib

from support import mgcp
from support.rtp import Peer, wait_readable

SILENCE_SECONDS = 1.0
NONE = "-"


class Side:
    """One gateway under the common script: sends, and records what comes back.

    Connection ids and ports are replaced by their order of appearance.
    """

    def __init__(self, address, port):
        self.agent = mgcp.Agent(address, port)
        self.names = {}
        self.records = {}
        self.transaction = 1000
        self.peers = []

    def close(self):
        self.agent.close()
        self.close_peers()

    def close_peers(self):
        for peer in self.peers:
            peer.close()
        self.peers = []

    def known_as(self, kind, value):
        same = [name for name in self.names.values() if name.startswith(kind)]
        return self.names.setdefault((kind, value), f"{kind}{len(same) + 1}")

    def clear(self, endpoint):
        """Removes what is there, unrecorded, and begins to count names anew."""
        self.transaction += 1
        self.agent.exchange(f"DLCX {self.transaction} {endpoint} MGCP 1.0\r\n")
        self.names = {}

    def record(self, step, fields):
        if step in self.records:
            raise ValueError(f"step {step} is there twice")
        self.records[step] = fields

    def send(self, step, verb, endpoint, lines=(), body=None, version="MGCP 1.0"):
        """Sends a command and records its answer under the name of the step."""
        self.transaction += 1
        head = [f"{verb} {self.transaction} {endpoint} {version}", *lines]
        text = "".join(f"{line}\r\n" for line in head)
        return self.send_text(step, text if body is None else f"{text}\r\n{body}")

    def send_text(self, step, text):
        self.agent.send(text)
        answer = self.agent.receive(SILENCE_SECONDS)
        if answer is None:
            self.record(step, {"code": "silence"})
            return None
        parsed = mgcp.Answer(answer)
        self.record(step, self.fields_of(parsed))
        return parsed

    def fields_of(self, answer):
        fields = {"code": str(answer.code), "comment": answer.comment,
                  "transaction": str(answer.transaction)}
        for name, value in answer.parameters.items():
            fields[name] = self.known_as("connection", value.upper()) if name == "I" else value
        for line in answer.sdp.splitlines():
            kind, _, value = line.partition("=")
            if kind == "a":
                attribute, _, value = value.partition(":")
                kind = f"a={attribute}"
            elif kind == "m":
                words = value.split()
                if words[1] != "0":
                    words[1] = self.known_as("port", words[1])
                value = " ".join(words)
            elif kind == "o":
                words = value.split()
                words[1] = "id"
                value = " ".join(words)
            key = f"sdp {kind}"
            fields[key] = f"{fields[key]} | {value}" if key in fields else value
        return fields

    def peer(self, address="127.0.0.1"):
        self.peers.append(Peer(address))
        return self.peers[-1]

    def media(self, step, peers, seconds=0.3):
        """Records what each peer has received once nothing more comes for a while."""
        while wait_readable(peers, seconds):
            for peer in peers:
                peer.receive_waiting()
        fields = {}
        for number, peer in enumerate(peers, 1):
            for kind, packets in (("rtp", peer.received), ("rtcp", peer.reports)):
                fields[f"{kind} at peer {number}"] = summary(packets)
            peer.received, peer.reports = [], []
        self.record(step, fields)


def summary(packets):
    """Number of packets, payload types in order, and a digest of all their bytes."""
    if not packets:
        return "nothing"
    types = [str(data[1] & 0x7F) if len(data) > 1 else "?" for data in packets]
    digest = hashlib.sha256(b"".join(len(data).to_bytes(4, "big") + data for data in packets))
    return f"{len(packets)} types {','.join(types)} digest {digest.hexdigest()[:12]}"


def differences(theirs, ours):
    """(step, field, their value, our value) for all that is not the same.

    Where the codes differ the rest of the answer follows from it and is not told.
    """
    found = []
    for step in theirs:
        names = dict.fromkeys([*theirs[step], *ours.get(step, {})])
        if theirs[step].get("code") != ours.get(step, {}).get("code"):
            names = ["code"]
        for name in names:
            one = theirs[step].get(name, NONE)
            other = ours.get(step, {}).get(name, NONE)
            if one != other:
                found.append((step, name, one, other))
    return found


class Table:
    """The listed differences: tab-separated step, field, their value, our value, reason.

    Steps and values are patterns with * and ?, of which [ is no part.
    """

    def __init__(self, path):
        self.rows = []
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip() and not line.startswith("#"):
                    row = line.rstrip("\n").split("\t")
                    if len(row) != 5 or not row[4]:
                        raise ValueError(f"{path}:{number}: five columns are wanted: {row}")
                    self.rows.append((number, row))

    def sort_out(self, found):
        """Returns (differences that no row lists, rows that list nothing that was found)."""
        unlisted, used = [], set()
        for difference in found:
            matching = [number for number, row in self.rows
                        if all(fnmatch.fnmatchcase(value, pattern.replace("[", "[[]"))
                               for value, pattern in zip(difference, row))]
            used.update(matching)
            if not matching:
                unlisted.append(difference)
        unused = [row for number, row in self.rows if number not in used]
        return unlisted, unused


