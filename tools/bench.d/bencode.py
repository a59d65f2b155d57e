"""Bencode, the encoding of rtpengine's control protocol: integers, strings, lists, dictionaries."""


class BencodeError(ValueError):
    """What was received is not Bencode."""


def encode(value):
    """The value as bytes. Text becomes UTF-8; the keys of a dictionary are sorted, as they must."""
    if isinstance(value, bytes):
        return b"%d:%s" % (len(value), value)
    if isinstance(value, str):
        return encode(value.encode())
    if isinstance(value, bool):
        raise TypeError("Bencode has no truth values")
    if isinstance(value, int):
        return b"i%de" % value
    if isinstance(value, (list, tuple)):
        return b"l" + b"".join(map(encode, value)) + b"e"
    if isinstance(value, dict):
        items = sorted((key.encode(), item) for key, item in value.items())
        return b"d" + b"".join(encode(key) + encode(item) for key, item in items) + b"e"
    raise TypeError(f"Bencode has no {type(value).__name__}")


def decode(octets):
    """The value that the bytes hold; strings come as str. Raises BencodeError."""
    value, end = _decode_at(octets, 0)
    if end != len(octets):
        raise BencodeError(f"{len(octets) - end} octets too many")
    return value


def _decode_at(octets, start):
    kind = octets[start : start + 1]
    if kind == b"i":
        end = _find(octets, b"e", start)
        return _number(octets[start + 1 : end]), end + 1
    if kind == b"l":
        values, end = _decode_items(octets, start + 1)
        return values, end
    if kind == b"d":
        items, end = _decode_items(octets, start + 1)
        if len(items) % 2 != 0 or not all(isinstance(key, str) for key in items[::2]):
            raise BencodeError("a dictionary without keys")
        return dict(zip(items[::2], items[1::2])), end
    colon = _find(octets, b":", start)
    length = _number(octets[start:colon])
    end = colon + 1 + length
    if length < 0 or end > len(octets):
        raise BencodeError("a string that is cut off")
    return octets[colon + 1 : end].decode(errors="replace"), end


def _decode_items(octets, start):
    items = []
    while octets[start : start + 1] != b"e":
        if start >= len(octets):
            raise BencodeError("a list without an end")
        item, start = _decode_at(octets, start)
        items.append(item)
    return items, start + 1


def _find(octets, mark, start):
    position = octets.find(mark, start)
    if position < 0:
        raise BencodeError(f"no {mark.decode()} after octet {start}")
    return position


def _number(text):
    try:
        return int(text)
    except ValueError:
        raise BencodeError(f"no number: {text[:20]!r}") from None
