#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""packaging/slurm on a Slurm of its own on 127.0.0.1: a file in 8 parts, two of them killed in the
middle, becomes what a whole run makes. Needs root, and slurmctld, slurmd and munged; no systemd.
"""
import glob
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import clips
import parts
from clips import harness, make, transcode

PARTS = 8
KILLED = (3, 5)
SUBMIT = pathlib.Path(os.environ["CUDAFILTERS_SOURCE"]) / "packaging/slurm/transcode-submit"

CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/munge
AuthInfo=socket={directory}/munge.socket
CredType=cred/munge
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/slurmd.pid
SlurmctldLogFile={directory}/slurmctld.log
SlurmdLogFile={directory}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,defer_batch
ReturnToService=2
MinJobAge=300
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=main Nodes={host} Default=NO MaxTime=10 State=UP
"""


def skip(reason):
    print(f"1..0 # SKIP {reason}")
    sys.exit(0)


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Slurm:
    """Daemons that end with the test."""

    def __init__(self, directory):
        self.directory = directory
        self.daemons = []
        self.environment = dict(os.environ, SLURM_CONF=str(directory / "slurm.conf"))

    def start(self):
        """None, or why it does not start."""
        directory = self.directory
        host = socket.gethostname().split(".")[0]
        for name in ("state", "spool"):
            (directory / name).mkdir()
        (directory / "key").write_bytes(os.urandom(128))
        (directory / "key").chmod(0o600)
        (directory / "slurm.conf").write_text(CONFIGURATION.format(
            host=host, ports=free_ports(2), directory=directory, cpus=os.cpu_count()))
        self.run(["munged", "--foreground", "--force", f"--socket={directory}/munge.socket",
                  f"--key-file={directory}/key", f"--pid-file={directory}/munge.pid",
                  f"--log-file={directory}/munge.log", f"--seed-file={directory}/munge.seed"])
        end = time.monotonic() + 10
        while not (directory / "munge.socket").exists():
            if time.monotonic() > end:
                return "munged does not start"
            time.sleep(0.05)
        self.run(["slurmctld", "-D", "-c"])
        self.run(["slurmd", "-D", "-N", host])
        end = time.monotonic() + 30
        while "idle" not in self.ask("sinfo", "-h", "-o", "%T"):
            if time.monotonic() > end:
                return "its node does not come up"
            time.sleep(0.2)
        return None

    def run(self, words):
        with open(self.directory / f"{words[0]}.out", "wb") as log:
            self.daemons.append(subprocess.Popen(words, env=self.environment, stdout=log,
                                                 stderr=log, stdin=subprocess.DEVNULL))

    def ask(self, *words):
        return subprocess.run(words, check=False, env=self.environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, cwd=self.directory).stdout

    def stop(self):
        for daemon in reversed(self.daemons):
            daemon.terminate()
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

    def logs(self):
        return "\n".join(pathlib.Path(path).read_text(errors="replace")[-1500:]
                         for path in sorted(glob.glob(f"{self.directory}/slurm*.out") +
                                            glob.glob(f"{self.directory}/slurm-*")))


def process_of_part(directory, part):
    """The process that makes a part of a file in `directory`, once it writes; else None."""
    if not list(directory.glob(f"out.mp4.parts/part-{part:05}-of-*.gdp.part")):
        return None
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            words = pathlib.Path(path).read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if words[0] == clips.PROGRAM and str(directory / "out.mp4") in words and \
           f"{part}/{PARTS}" in words:
            return int(path.split("/")[2])
    return None


def kill_parts(directory, end):
    """Kills the parts KILLED once each; returns which were."""
    waiting = set(KILLED)
    while waiting and time.monotonic() < end:
        for part in sorted(waiting):
            process = process_of_part(directory, part)
            if process:
                os.kill(process, signal.SIGKILL)
                waiting.discard(part)
        time.sleep(0.01)
    return set(KILLED) - waiting


def check_run(tap, slurm, directory):
    source, result, whole = (directory / f"{name}.mp4" for name in ("in", "out", "whole"))
    make(source, "-c:v", "libx264", "-bf", "2", "-g", "15", "-c:a", "aac", seconds=6,
         size="160x90", inputs=("-f", "lavfi", "-i", "sine=duration=6"))
    words = ["--filter", f"{clips.FILTER} ! identity sleep-time=15000", "--chunk", "0.5"]
    # There is no default partition: both jobs need the options.
    said = slurm.ask(str(SUBMIT), str(PARTS), "--cpus-per-task=1", "--partition=main", "--",
                     str(source), str(result), *words)
    tap.check("join: job" in said, "transcode-submit", said)
    end = time.monotonic() + 120
    killed = kill_parts(directory, end)
    tap.check(killed == set(KILLED), f"parts {KILLED} killed in the middle",
              f"{killed}\n{slurm.logs()}")
    while not result.exists() and slurm.ask("squeue", "-h").strip() and time.monotonic() < end:
        time.sleep(0.2)
    tap.check(result.exists(), "all parts are made, and joined", slurm.logs())
    status, _, said = transcode(source, whole, *words)
    tap.check(status == 0, "a whole run", said)
    parts.check_same(tap, "both are the same", whole, result)


def run(tap):
    clips.skip_without_tools()
    for tool in ("slurmctld", "slurmd", "munged", "sbatch"):
        if not shutil.which(tool):
            skip(f"{tool} is not installed (Debian's packages slurmctld, slurmd, slurm-client, "
                 "munge)")
    if os.geteuid() != 0:
        skip("only root can start Slurm's daemons")
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        slurm = Slurm(directory)
        try:
            problem = slurm.start()
            if problem:
                skip(f"Slurm cannot start here: {problem}")
            check_run(tap, slurm, directory)
        finally:
            slurm.stop()


if __name__ == "__main__":
    harness.main(run)
