"""Writes a compound file (Microsoft's file system in a file), so that tests can make messages as Outlook saves them."""

import struct
from typing import Any

SECTOR, SMALL, CUTOFF = 512, 64, 4096
FREE, END, FAT = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
Tree = dict[str, Any]
"""Streams (bytes) and storages (trees) by name."""


def compound_file(tree: Tree) -> bytes:
    """The bytes of a file of up to 109 sectors of allocation table, some 7 MB."""
    entries: list[list[Any]] = [["Root Entry", 5, FREE, FREE, END, 0, b""]]
    _add(entries, 0, tree)
    small = b""
    for entry in entries:
        if entry[1] == 2 and len(entry[6]) < CUTOFF:
            entry[4] = len(small) // SMALL if entry[6] else END
            small += entry[6] + bytes(-len(entry[6]) % SMALL)
    entries[0][6] = small
    small_table = _chains([(entry[4], -(-len(entry[6]) // SMALL)) for entry in entries if entry[1] == 2 and 0 < len(entry[6]) < CUTOFF])
    large = [entry for entry in entries if entry[6] and (entry[1] == 5 or len(entry[6]) >= CUTOFF)]
    lengths = [-(-len(entries) * 128 // SECTOR), -(-len(small_table) * 4 // SECTOR), *(-(-len(entry[6]) // SECTOR) for entry in large)]
    fat_sectors = 1
    while fat_sectors * SECTOR // 4 < fat_sectors + sum(lengths):
        fat_sectors += 1
    starts = [fat_sectors + sum(lengths[:n]) for n in range(len(lengths))]
    for entry, start in zip(large, starts[2:], strict=True):
        entry[4] = start
    table = [FAT] * fat_sectors + _chains(list(zip(starts, lengths, strict=True)))[fat_sectors:]
    directory = b"".join(map(_entry, entries))
    parts = [_numbers(table, fat_sectors), directory + bytes(-len(directory) % SECTOR), _numbers(small_table, lengths[1])]
    parts += [entry[6] + bytes(-len(entry[6]) % SECTOR) for entry in large]
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH6x", 0x3E, 3, 0xFFFE, 9, 6)
    head += struct.pack("<IIIIIIIII", 0, fat_sectors, starts[0], 0, CUTOFF, starts[1] if lengths[1] else END, lengths[1], END, 0)
    head += struct.pack("<109I", *range(fat_sectors), *[FREE] * (109 - fat_sectors))
    return head + b"".join(parts)


def _add(entries: list[list[Any]], parent: int, tree: Tree) -> None:
    """Append what a storage holds, as a tree that is a list: each one's right neighbour is the next."""
    last = None
    for name, content in sorted(tree.items(), key=lambda item: (len(item[0]), item[0].upper())):
        number = len(entries)
        if last is None:
            entries[parent][5] = number
        else:
            entries[last][3] = number
        last = number
        entries.append([name, 2 if isinstance(content, bytes) else 1, FREE, FREE, 0, FREE, content if isinstance(content, bytes) else b""])
        if isinstance(content, dict):
            _add(entries, number, content)


def _entry(entry: list[Any]) -> bytes:
    name, kind, left, right, start, child, data = entry
    encoded = name.encode("utf-16-le") + b"\0\0"
    child = child if kind != 2 else FREE
    return struct.pack("<64sHBBIII36xIQ", encoded, len(encoded), kind, 1, left, right, child or FREE, start, len(data))


def _chains(runs: list[tuple[int, int]]) -> list[int]:
    """An allocation table in which each (start, length) lies in one piece."""
    table = [FREE] * max((start + length for start, length in runs), default=0)
    for start, length in runs:
        for at in range(start, start + length):
            table[at] = at + 1 if at + 1 < start + length else END
    return table


def _numbers(table: list[int], sectors: int) -> bytes:
    return struct.pack(f"<{len(table)}I", *table) + b"\xff" * (sectors * SECTOR - 4 * len(table))


def properties(offset: int, values: dict[int, str | bytes | int]) -> Tree:
    """A storage of Outlook with these properties by tag; the table of them begins at `offset`."""
    table, streams = bytes(offset), {}
    for tag, value in sorted(values.items()):
        if isinstance(value, int):
            kind = 0x0040 if value > 1 << 32 else 0x0003  # a time, a number
            table += struct.pack("<HHIQ", kind, tag, 6, value)
            continue
        kind = 0x001F if isinstance(value, str) else 0x0102
        data = value.encode("utf-16-le") if isinstance(value, str) else value
        table += struct.pack("<HHIII", kind, tag, 6, len(data) + 2 * (kind == 0x001F), 0)
        streams[f"__substg1.0_{tag:04X}{kind:04X}"] = data
    return {"__properties_version1.0": table, **streams}
