# SPDX-License-Identifier: LGPL-2.1-or-later
"""Corrects in place what GStreamer 1.22 writes wrongly into Matroska and WebM files: text of tags,
which it escapes, and the names "Video", "Audio" and "Subtitle" of tracks without a name."""
import os
import re

from .errors import Problem

# Elements of RFC 9559, with the marker of their length.
TRACK_NAME, TAG_STRING, VOID = 0x536E, 0x4487, 0xEC
# Segment, Tracks, TrackEntry, Tags, Tag and SimpleTag.
HOLD_OTHERS = (0x18538067, 0x1654AE6B, 0xAE, 0x1254C367, 0x7373, 0x67C8)
MUXERS_NAMES = (b"Video", b"Audio", b"Subtitle")
# What gst_value_serialize() makes of a string, if it has to escape something.
ESCAPED = re.compile(rb'"(?=.*\\)(?:[\w+/:.-]|\\[0-3][0-7]{2}|\\.)*"', re.DOTALL)
ESCAPE = re.compile(rb"\\(?:([0-3][0-7]{2})|(.))", re.DOTALL)


def read_number(file, keeps_marker=False):
    """A number of variable length (RFC 8794): its first bit that is set, the marker, tells how
    long it is."""
    first = file.read(1)
    if not first or not first[0]:
        raise ValueError("it is no Matroska file")
    marker = 1 << first[0].bit_length() - 1
    rest = file.read(8 - first[0].bit_length())
    return int.from_bytes(bytes([first[0] if keeps_marker else first[0] - marker]) + rest, "big")


def leaves(file, at, end):
    """(identifier, where it begins, where its content begins, where it ends) of each element."""
    while at < end:
        file.seek(at)
        name, size = read_number(file, True), read_number(file)
        inside = file.tell()
        if name in HOLD_OTHERS:
            yield from leaves(file, inside, min(inside + size, end))
        else:
            yield name, at, inside, inside + size
        at = inside + size


def unescaped(text):
    """text without what GStreamer added to it."""
    if not ESCAPED.fullmatch(text):
        return text
    return ESCAPE.sub(lambda found: bytes([int(found[1], 8)]) if found[1] else found[2],
                      text[1:-1])


def correct(path):
    try:
        with open(path, "r+b") as file:
            for name, at, inside, end in leaves(file, 0, os.path.getsize(path)):
                if name not in (TRACK_NAME, TAG_STRING):
                    continue
                file.seek(inside)
                text = file.read(end - inside).rstrip(b"\0")
                if name == TRACK_NAME and text in MUXERS_NAMES:
                    file.seek(at)
                    file.write(bytes([VOID, 0x80 | end - at - 2]).ljust(end - at, b"\0"))
                elif name == TAG_STRING:
                    file.seek(inside)
                    file.write(unescaped(text).ljust(end - inside, b"\0"))
    except ValueError as error:
        raise Problem(f"{path}: {error}") from error
