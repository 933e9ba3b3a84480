"""Programs and libraries of three systems: which files they need, and universal files of macOS.

Reads ELF (little-endian, 32 and 64 bits), PE and Mach-O (64 bits) by their own headers, so that no program of a system
is needed. A file that is none of these, or ends early, is a ValueError that says so.
"""

import re
import struct

# Libraries that come with a system: what a target may need, as the names that its files hold.
SYSTEM_LIBRARIES = {
    "linux": re.compile(r"(lib(c|m|pthread|dl|rt)\.so\.\d+|ld-linux[\w.-]*\.so\.\d+)$"),
    "windows": re.compile(r"(kernel32|advapi32|shell32|ntdll|user32|ws2_32|mswsock|psapi|msvcrt|ucrtbase|api-ms-win-[\w-]+)\.dll$", re.IGNORECASE),
    "macos": re.compile(r"(/usr/lib/lib(System(\.B)?|c\+\+(abi)?(\.1)?|objc\.A)\.dylib|/System/Library/Frameworks/[\w./]+)$"),
}
PROCESSORS = {3: "i686", 40: "arm", 62: "x86_64", 183: "aarch64", 243: "riscv64", 0x8664: "x86_64", 0xAA64: "aarch64",
              0x01000007: "x86_64", 0x0100000C: "aarch64"}
FAT_MAGIC, PAGE_BITS = 0xCAFEBABE, 14  # pages of 16 KB, the largest that macOS has


class Binary:
    """What a file is: system ("linux", "windows", "macos"), processor and the names of the libraries that it needs."""

    def __init__(self, system, processor, needs, glibc=None):
        self.system, self.processor, self.needs, self.glibc = system, processor, sorted(needs), glibc

    def strangers(self):
        """The libraries that do not come with the system."""
        return [name for name in self.needs if not SYSTEM_LIBRARIES[self.system].match(name)]


def _text(data, at):
    end = data.index(b"\0", at)
    return data[at:end].decode("utf-8", "replace")


def _elf(data):
    wide = data[4] == 2
    if data[5] != 1:
        raise ValueError("a big-endian ELF file")
    processor = struct.unpack_from("<H", data, 18)[0]
    if wide:
        table, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    else:
        table, size, count = struct.unpack_from("<I", data, 28)[0], *struct.unpack_from("<HH", data, 42)
    segments, dynamic = [], None
    for i in range(count):
        at = table + i * size
        if wide:
            kind, _, offset, address, _, length = struct.unpack_from("<IIQQQQ", data, at)
        else:
            kind, offset, address, _, length = struct.unpack_from("<IIIII", data, at)
        segments.append((address, offset, length))
        if kind == 2:
            dynamic = (offset, length)
    tags = []
    if dynamic:
        form = "<qQ" if wide else "<iI"
        step = struct.calcsize(form)
        tags = [struct.unpack_from(form, data, at) for at in range(dynamic[0], dynamic[0] + dynamic[1], step)]
    names = next((value for tag, value in tags if tag == 5), None)  # DT_STRTAB
    needs = []
    for tag, value in tags:
        if tag == 1:  # DT_NEEDED
            address = names + value
            start = next(offset + address - begin for begin, offset, length in segments if begin <= address < begin + length)
            needs.append(_text(data, start))
    versions = [tuple(map(int, found)) for found in re.findall(rb"\0GLIBC_(\d+)\.(\d+)(?=[\0.])", data)] if needs else []
    return Binary("linux", PROCESSORS.get(processor, str(processor)), needs, max(versions, default=None))


def _pe(data):
    header = struct.unpack_from("<I", data, 60)[0]
    if data[header : header + 4] != b"PE\0\0":
        raise ValueError("a program of DOS")
    processor, count = struct.unpack_from("<HH", data, header + 4)
    optional_size = struct.unpack_from("<H", data, header + 20)[0]
    optional = header + 24
    if struct.unpack_from("<H", data, optional)[0] != 0x20B:
        raise ValueError("a PE file of 32 bits")
    imports = struct.unpack_from("<I", data, optional + 112 + 8)[0]
    sections = [struct.unpack_from("<IIII", data, optional + optional_size + 40 * i + 8) for i in range(count)]

    def offset_of(address):
        for length, begin, raw_size, raw in sections:
            if begin <= address < begin + max(length, raw_size):
                return raw + address - begin
        raise ValueError(f"address {address:#x} is in no section")

    needs, at = [], offset_of(imports) if imports else None
    while at is not None:
        name = struct.unpack_from("<I", data, at + 12)[0]
        if name == 0:
            break
        needs.append(_text(data, offset_of(name)))
        at += 20
    return Binary("windows", PROCESSORS.get(processor, str(processor)), needs)


def _mach(data):
    processor, _, _, count = struct.unpack_from("<IIII", data, 4)
    needs, at = [], 32
    for _ in range(count):
        command, size = struct.unpack_from("<II", data, at)
        if command in (0xC, 0x80000018, 0x8000001F):  # LC_LOAD_DYLIB, weak, exported again
            needs.append(_text(data, at + struct.unpack_from("<I", data, at + 8)[0]))
        at += size
    return Binary("macos", PROCESSORS.get(processor, str(processor)), needs)


def read(data):
    """Returns the Binary that the bytes of a file hold; of a universal file its first part, with the processor "universal"."""
    try:
        if data[:4] == b"\x7fELF":
            return _elf(data)
        if data[:2] == b"MZ":
            return _pe(data)
        if data[:4] == b"\xcf\xfa\xed\xfe":
            return _mach(data)
        if len(data) > 8 and struct.unpack_from(">I", data)[0] == FAT_MAGIC:
            parts = [_mach(part) for part in parts_of(data)]
            if any(part.needs != parts[0].needs for part in parts):
                raise ValueError("parts of a universal file that need different libraries")
            return Binary("macos", "universal", parts[0].needs)
    except (struct.error, IndexError, StopIteration) as error:
        raise ValueError(f"a file that ends early: {error}") from error
    raise ValueError(f"expected a file of ELF, PE or Mach-O, got one that begins with {data[:4].hex() or 'nothing'}")


def parts_of(data):
    """Returns the parts of a universal file."""
    count = struct.unpack_from(">I", data, 4)[0]
    spans = [struct.unpack_from(">IIIII", data, 8 + 20 * i)[2:4] for i in range(count)]
    return [data[at : at + size] for at, size in spans]


def universal(*files):
    """Returns one universal file of several Mach-O files, as lipo makes it."""
    head, body = struct.pack(">II", FAT_MAGIC, len(files)), b""
    at = 8 + 20 * len(files)
    for data in files:
        if _mach(data).system != "macos" or data[:4] != b"\xcf\xfa\xed\xfe":
            raise ValueError("expected Mach-O files of 64 bits")
        processor, variant = struct.unpack_from("<II", data, 4)
        gap = -(at + len(body)) % (1 << PAGE_BITS)
        body += b"\0" * gap
        head += struct.pack(">IIIII", processor, variant & 0x00FFFFFF, at + len(body), len(data), PAGE_BITS)
        body += data
    return head + body
