"""Changes of valid files: of bytes, of texts, of JSON trees, and of bytes under a checksum, with the checksum made right again."""

import copy
import hashlib
import json
import struct
import zlib

# Readers go wrong at such numbers: signs, widths, sums and products that wrap, limits and one beside them.
WORDS = (0, 1, 2, 3, 7, 8, 31, 32, 63, 64, 127, 128, 255, 256, 1000, 4096, 65535, 65536, 1 << 24, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 34,
         1 << 53, 1 << 60, (1 << 61) + 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 8, (1 << 64) - 1)
NUMBERS = (*WORDS, -1, -2, -128, -(1 << 31), -(1 << 63), 1 << 64, 0.5, -0.0, 0.1, 1e-320, 1e-45, 1e38, 3.5e38, 1e308, -1e308)
TEXTS = ("", "a", "\0", "\x1b]0;x\x07", "\u202e", "\ud7ff\ue000", "../../etc/passwd", "/dev/zero", "." * 300, "a" * 5000, "float32", "int4", "binary", "null", "1e999",
         "0x10", "-1", "é" * 100, "%s%n", "linear", "dense", "layers.0")


def word(rng, size):
    """Little- or big-endian, of 1, 2, 4 or 8 bytes."""
    value = rng.choice(WORDS) & ((1 << 8 * size) - 1)
    return value.to_bytes(size, rng.choice(("little", "little", "big")))


def flip_bits(rng, data):
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        i = rng.randrange(len(data))
        data[i] ^= 1 << rng.randrange(8)
    return data


def put_word(rng, data):
    size = rng.choice((1, 2, 4, 8))
    at = rng.randrange(max(1, len(data) - size + 1))
    if rng.random() < 0.5:
        at -= at % size
    data[at:at + size] = word(rng, size)
    return data


def cut(rng, data):
    return data[: rng.randrange(len(data))]


def part(rng, data):
    begin = rng.randrange(len(data))
    return begin, min(len(data), begin + rng.choice((1, 2, 4, 8, 16, 64, 512, rng.randrange(len(data)) + 1)))


def zero(rng, data):
    begin, end = part(rng, data)
    data[begin:end] = bytes(end - begin)
    return data


def leave_out(rng, data):
    begin, end = part(rng, data)
    del data[begin:end]
    return data


def repeat(rng, data):
    begin, end = part(rng, data)
    at = rng.choice((end, rng.randrange(len(data) + 1), len(data)))
    data[at:at] = data[begin:end] * rng.choice((1, 1, 2, 10))
    return data


def swap(rng, data):
    begin, end = part(rng, data)
    to = rng.randrange(len(data) - (end - begin) + 1)
    data[begin:end], data[to:to + end - begin] = data[to:to + end - begin], data[begin:end]
    return data


def insert(rng, data):
    at = rng.randrange(len(data) + 1)
    data[at:at] = bytes(rng.randrange(256) for _ in range(rng.choice((1, 2, 4, 8, 64))))
    return data


BYTE_CHANGES = (flip_bits, flip_bits, flip_bits, put_word, put_word, put_word, cut, zero, leave_out, repeat, swap, insert)


def of_bytes(rng, data):
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        if data:
            data = rng.choice(BYTE_CHANGES)(rng, data)
    return bytes(data)


def of_text(rng, data, words=()):
    """Words of the format's own, numbers and whole lines move; the rest is as with bytes."""
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 3, 5))):
        kind = rng.random()
        if kind < 0.45 and words:
            at = rng.randrange(len(data) + 1)
            end = at if rng.random() < 0.6 else min(len(data), at + rng.randrange(12))
            data[at:end] = rng.choice(words).encode()
        elif kind < 0.6:
            lines = bytes(data).split(b"\n")
            i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
            if rng.random() < 0.5:
                lines[i], lines[j] = lines[j], lines[i]
            else:
                lines.insert(i, lines[j])
            data = bytearray(b"\n".join(lines))
        elif kind < 0.7:
            digits = [i for i, b in enumerate(data) if 48 <= b <= 57]
            if digits:
                at = rng.choice(digits)
                data[at:at + 1] = str(rng.choice(NUMBERS)).encode()
        elif data:
            data = rng.choice(BYTE_CHANGES)(rng, data)
    return bytes(data)


def places(tree):
    """(container, key) of every value below."""
    found, open_ = [], [tree]
    while open_:
        node = open_.pop()
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            found.append((node, key))
            if isinstance(value, (dict, list)):
                open_.append(value)
    return found


def other_value(rng, old, all_places):
    kind = rng.random()
    if isinstance(old, (int, float)) and not isinstance(old, bool) and kind < 0.75:
        return rng.choice(NUMBERS) if rng.random() < 0.8 else old + rng.choice((-1, 1, 0.5))
    if isinstance(old, str) and kind < 0.4:
        return rng.choice(TEXTS)
    if kind < 0.6:
        node, key = rng.choice(all_places)
        return copy.deepcopy(node[key])
    if kind < 0.7:
        deep = copy.deepcopy(old)
        for _ in range(rng.choice((1, 3, 70, 300))):
            deep = [deep] if rng.random() < 0.5 else {"layers": deep}
        return deep
    return rng.choice((None, True, False, [], {}, [[]], [None], {"": 0}, rng.choice(TEXTS), rng.choice(NUMBERS)))


def of_tree(rng, tree):
    """One to three changes of a JSON value, which is copied first."""
    tree = copy.deepcopy(tree)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if not isinstance(tree, (dict, list)) or not (found := places(tree)):
            return rng.choice((None, [], {}, 0, ""))
        node, key = rng.choice(found)
        kind = rng.random()
        if kind < 0.6:
            node[key] = other_value(rng, node[key], found)
        elif kind < 0.75:
            del node[key]
        elif isinstance(node, dict):
            if kind < 0.85:
                node[rng.choice(TEXTS + (key + "s", key.upper()))] = copy.deepcopy(node[key])
            else:
                node[rng.choice(list(node))] = copy.deepcopy(node[key])
        elif kind < 0.9:
            node.extend(copy.deepcopy(node[key]) for _ in range(rng.choice((1, 2, 50))))
        else:
            node.reverse()
    return tree


def of_json(rng, data, words=()):
    """Mostly another tree, sometimes no JSON any more."""
    if rng.random() < 0.2:
        return of_text(rng, data, ("{", "}", "[", "]", ",", ":", '"', "null", "1e400", "-", "\\u0000", "\\ud800", "\ufeff", "//", *words))
    text = dump(of_tree(rng, json.loads(data)))
    if rng.random() < 0.05 and text.startswith("{") and '"' in text:  # a key twice
        text = "{" + text[1:-1] + "," + text[1:]
    return text.encode("utf-8", "surrogatepass")


def dump(tree):
    return json.dumps(tree, ensure_ascii=False, separators=(",", ":"))


def is_json(data):
    try:
        return isinstance(json.loads(data), (dict, list))
    except ValueError:
        return False


def of_json_lines(rng, data):
    lines = data.split(b"\n")
    full = [i for i, line in enumerate(lines) if line]
    if not full or rng.random() < 0.3:
        return of_text(rng, data, ("\n", "{}", "null", "{"))
    i = rng.choice(full)
    lines[i] = of_json(rng, lines[i]) if is_json(lines[i]) else of_bytes(rng, lines[i])
    return b"\n".join(lines)


def of_entity(rng, data):
    """A section or the header of an .entity file, all hashes right again, so that what reads the section meets it."""
    if rng.random() < 0.15:
        return of_bytes(rng, data)
    count = struct.unpack_from("<I", data, 24)[0]
    header, entries = bytearray(data[:32]), []
    for i in range(count):
        entry = data[64 + 64 * i:128 + 64 * i]
        offset, length = struct.unpack_from("<QQ", entry, 16)
        entries.append([bytearray(entry[:16]), data[offset:offset + length]])
    kind = rng.random()
    if kind < 0.1:
        header = bytearray(of_bytes(rng, header)[:32].ljust(32, b"\0"))
    elif kind < 0.2:
        entry = rng.choice(entries)
        entry[0] = bytearray(of_bytes(rng, entry[0])[:16].ljust(16, b"\0"))
    elif kind < 0.27:
        entries.insert(rng.randrange(len(entries)), list(rng.choice(entries)))
    elif kind < 0.34:
        del entries[rng.randrange(len(entries))]
    else:
        texts = [e for e in entries if is_json(e[1])]
        entry = rng.choice(texts if texts and rng.random() < 0.7 else entries)
        changed = of_json(rng, entry[1]) if entry in texts else of_bytes(rng, entry[1])
        if entry in texts and rng.random() < 0.8:  # canonical, or the reader stops at it
            try:
                changed = json.dumps(json.loads(changed), ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()
            except (ValueError, UnicodeError):
                pass
        entry[1] = changed
    struct.pack_into("<I", header, 24, len(entries) if kind >= 0.1 else struct.unpack_from("<I", header, 24)[0])
    at, body, directory = 64 + 64 * len(entries), b"", b""
    for name, payload in entries:
        step = 4096 if name[:7] == b"weights" else 64
        body += bytes(-at % step)
        at += -at % step
        directory += bytes(name) + struct.pack("<QQ", at, len(payload)) + hashlib.sha256(payload).digest()
        body += payload
        at += len(payload)
    struct.pack_into("<Q", header, 16, at)
    return bytes(header) + hashlib.sha256(bytes(header) + directory).digest() + directory + body


def of_safetensors(rng, data):
    length = struct.unpack_from("<Q", data)[0]
    if rng.random() < 0.3:
        return of_bytes(rng, data)
    header, body = data[8:8 + length], data[8 + length:]
    if rng.random() < 0.15:
        body = of_bytes(rng, body)
    else:
        header = of_json(rng, header)
    return struct.pack("<Q", len(header)) + header + body


def of_npy(rng, data):
    """The header's text, its length right again."""
    if rng.random() < 0.4 or data[6] != 1:
        return of_bytes(rng, data)
    length = struct.unpack_from("<H", data, 8)[0]
    header = of_text(rng, data[10:10 + length], ("'descr'", "'<f4'", "'>i8'", "'|O'", "True", "(", ")", ",", "0", "99999999999", "{", "}", "'shape'", " " * 64))
    return data[:8] + struct.pack("<H", min(len(header), 65535)) + header + data[10 + length:]


def of_zip(rng, data):
    """Members that are stored; the checksums of changed ones are right again."""
    if rng.random() < 0.5:
        return of_bytes(rng, data)
    at, out, directory, count = 0, b"", b"", 0
    while data[at:at + 4] == b"PK\x03\x04":
        name_length, extra_length = struct.unpack_from("<HH", data, at + 26)
        begin = at + 30 + name_length + extra_length
        size = struct.unpack_from("<I", data, at + 18)[0]
        if size == 0xFFFFFFFF:
            size = struct.unpack_from("<Q", data, at + 30 + name_length + 4)[0]
        name, member = data[at + 30:at + 30 + name_length], data[begin:begin + size]
        if rng.random() < 0.6:
            member = of_npy(rng, member)
        facts = struct.pack("<HHHHHIII", 20, 0, 0, 0, 33, zlib.crc32(member), len(member), len(member))
        directory += b"PK\x01\x02" + struct.pack("<H", 20) + facts + struct.pack("<HHHHHII", len(name), 0, 0, 0, 0, 0, len(out)) + name
        out += b"PK\x03\x04" + facts + struct.pack("<HH", len(name), 0) + name + member
        at, count = begin + size, count + 1
    return out + directory + b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, count, count, len(directory), len(out), 0)


def of_png(rng, data):
    """Chunks move, go, come twice and change, with right checksums."""
    if rng.random() < 0.25:
        return of_bytes(rng, data)
    chunks, at = [], 8
    while at + 12 <= len(data):
        length = struct.unpack_from(">I", data, at)[0]
        chunks.append([data[at + 4:at + 8], data[at + 8:at + 8 + length]])
        at += 12 + length
    for _ in range(rng.choice((1, 1, 2, 3))):
        i, j, kind = rng.randrange(len(chunks)), rng.randrange(len(chunks)), rng.random()
        if kind < 0.2:
            chunks[i], chunks[j] = chunks[j], chunks[i]
        elif kind < 0.3 and len(chunks) > 1:
            del chunks[i]
        elif kind < 0.4:
            chunks.insert(i, list(chunks[j]))
        elif kind < 0.55:
            chunks.insert(i, [rng.choice((b"tEXt", b"tRNS", b"PLTE", b"gAMA", b"IDAT", b"IHDR", b"acTL", b"iCCP")), bytes(rng.randrange(256) for _ in range(rng.choice((0, 1, 13, 256))))])
        elif kind < 0.7 and chunks[i][0] == b"IDAT":
            try:
                chunks[i][1] = zlib.compress(of_bytes(rng, zlib.decompress(chunks[i][1])) * rng.choice((1, 1, 100)))
            except zlib.error:
                pass
        elif chunks[i][1]:
            chunks[i][1] = of_bytes(rng, chunks[i][1])
    out = data[:8]
    for name, body in chunks:
        out += struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
    return out


def of_gzip(rng, data):
    if rng.random() < 0.5:
        return of_bytes(rng, data)
    unpacked = zlib.decompress(data, 31)
    pack = zlib.compressobj(9, zlib.DEFLATED, 31)
    unpacked = of_bytes(rng, unpacked) * rng.choice((1, 1, 1, 1000))
    return pack.compress(unpacked) + pack.flush()


def of_state(rng, data):
    """evolve's state.json, which ends with the hash of what stands before it."""
    mark = b',"sha256":"'
    if rng.random() < 0.15:
        return of_bytes(rng, data)
    body = data[: data.rindex(mark)] + b"}"
    body = of_json(rng, body)[:-1]
    return body + mark + hashlib.sha256(body).hexdigest().encode() + b'"}'
