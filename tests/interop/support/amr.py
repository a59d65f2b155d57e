"""AMR payloads of RFC 4867 with one frame, built bit by bit: the reference for conversions."""

SPEECH_BITS = {0: 95, 1: 103, 2: 118, 3: 134, 4: 148, 5: 159, 6: 204, 7: 244, 8: 39, 15: 0}
WIDE_SPEECH_BITS = {0: 132, 1: 177, 2: 253, 3: 285, 4: 317, 5: 365, 6: 397, 7: 461, 8: 477, 9: 40,
                    14: 0, 15: 0}


def speech(frame_type, seed=0, sizes=None):
    """Speech bits that differ from bit to bit and from seed to seed."""
    state = 0x2545F491 * (seed + 1) + frame_type
    bits = ""
    for _ in range((sizes or SPEECH_BITS)[frame_type]):
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        bits += str(state >> 20 & 1)
    return bits


def to_octets(bits):
    padded = bits + "0" * (-len(bits) % 8)
    return bytes(int(padded[at:at + 8], 2) for at in range(0, len(padded), 8))


def octet_aligned(frame_type, bits, cmr=15, quality=1):
    return to_octets(f"{cmr:04b}0000" + f"0{frame_type:04b}{quality}00" + bits)


def bandwidth_efficient(frame_type, bits, cmr=15, quality=1):
    return to_octets(f"{cmr:04b}" + f"0{frame_type:04b}{quality}" + bits)
