#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""kernel-count.py PLUGIN OBJECT...: counts kernels, template instantiations each for itself, and
bytes of the CUDA objects, a line a room; fails where there are more than the house allows.

An object is called ROOM_FILE.o. The size of the plugin is judged where it has machine code for one
GPU generation only, which nvcc's objects tell by theirs.
"""
import os
import re
import subprocess
import sys

MOST_KERNELS = 190
# 6 MB for the first four elements; cudatonemap, packed 4:2:2 as it lies, isolated maps
MOST_PLUGIN_BYTES = 6_200_000
ONE_GENERATION_BYTES = 9_000_000  # of all objects; a second generation doubles them


def stubs(path):
    """What nvcc puts beside the host function of each kernel: one an instantiation."""
    said = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
    return len(re.findall(r"__device_stub__\S*__handle$", said, re.M))


def loaded_bytes(path):
    """Code and data, as they are installed: without what debuggers read."""
    said = subprocess.run(["size", path], capture_output=True, text=True, check=True).stdout
    return int(said.splitlines()[1].split()[3])


def main():
    plugin, objects = sys.argv[1], sys.argv[2:]
    rooms = {}
    for path in objects:
        room = os.path.basename(path).split("_")[0]
        kernels, size = rooms.get(room, (0, 0))
        rooms[room] = kernels + stubs(path), size + os.path.getsize(path)

    print(f"{'room':<12} {'kernels':>7} {'KB':>6}")
    for room, (kernels, size) in sorted(rooms.items()):
        print(f"{room:<12} {kernels:7} {size // 1000:6}")
    kernels = sum(room[0] for room in rooms.values())
    size = sum(room[1] for room in rooms.values())
    plugin_size = loaded_bytes(plugin)
    print(f"{'all':<12} {kernels:7} {size // 1000:6}  plugin {plugin_size // 1000} KB")

    failed = []
    if kernels > MOST_KERNELS:
        failed.append(f"{kernels} kernels are more than {MOST_KERNELS}: see docs/engineering")
    if size < ONE_GENERATION_BYTES and plugin_size > MOST_PLUGIN_BYTES:
        failed.append(f"the plugin has {plugin_size} bytes, more than {MOST_PLUGIN_BYTES}")
    print("\n".join(failed))
    sys.exit(1 if failed else 0)


main()
