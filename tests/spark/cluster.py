"""A standalone cluster of Spark on this machine: a master and two workers, from pyspark's own scripts."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

#: How long a busy machine may take to start a part of the cluster.
PATIENCE = 400.0


def missing() -> str | None:
    """What is not here that a cluster needs."""
    try:
        import pyspark  # noqa: F401
    except ImportError:
        return "pyspark is not installed"
    return None if shutil.which("java") else "there is no Java"


def free_port() -> int:
    """A port on loopback that nobody uses."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@dataclass
class Cluster:
    """Processes that are ended together."""

    folder: Path
    url: str = ""
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, workers: int = 2) -> Cluster:
        """A master and its workers, two cores each: one for the session of the tests, one for another application."""
        port = free_port()
        self.url = f"spark://127.0.0.1:{port}"
        master = "org.apache.spark.deploy.master.Master"
        self._launch("master", master, "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
        self._wait("master", "I have been elected leader")
        for number in range(workers):
            worker = "org.apache.spark.deploy.worker.Worker"
            size = ("--cores", "2", "--memory", "2g", "--work-dir", str(self.folder / f"work-{number}"))
            # A host of its own, still on loopback: Spark starts second attempts of slow tasks on other hosts only.
            host = f"127.0.0.{number + 1}"
            self._launch(f"worker-{number}", worker, "--host", host, "--webui-port", "0", *size, self.url, host=host)
        for number in range(workers):
            self._wait(f"worker-{number}", "Successfully registered with master")
        return self

    def _launch(self, name: str, *command: str, host: str = "127.0.0.1") -> None:
        import pyspark

        home = Path(pyspark.__file__).parent
        environment = {
            **os.environ,
            "SPARK_HOME": str(home),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": host,
            "SPARK_LOCAL_DIRS": str(self.folder / "local"),
        }
        with (self.folder / f"{name}.log").open("wb") as log:
            self.processes.append(
                subprocess.Popen(
                    [str(home / "bin" / "spark-class"), *command], env=environment, stdout=log, stderr=subprocess.STDOUT
                )
            )

    def _wait(self, name: str, sentence: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while sentence not in (self.folder / f"{name}.log").read_text(errors="replace"):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{name} of Spark did not start")
            time.sleep(0.2)

    def executors(self) -> list[int]:
        """The processes that work for an application, by the workers that started them."""
        mine = {process.pid for process in self.processes}
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    status, command = (entry / "status").read_text(), (entry / "cmdline").read_bytes()
                except OSError:
                    continue
                parent = int(re.search(r"PPid:\s+(\d+)", status)[1])
                if parent in mine and b"CoarseGrainedExecutorBackend" in command:
                    found.append(int(entry.name))
        return found

    def settings(self) -> dict[str, str]:
        """What an application on this cluster is started with: one executor on each worker, small partitions."""
        return {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.io.encryption.enabled": "true",
            "spark.cores.max": "2",
            "spark.executor.cores": "1",
            "spark.executor.memory": "700m",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.files.maxPartitionBytes": "64k",
            "spark.sql.files.openCostInBytes": "0",
            "spark.shuffle.io.maxRetries": "1",
            "spark.shuffle.io.retryWait": "1s",
            # A task that is slower than others runs a second time elsewhere, and whichever ends first counts.
            "spark.speculation": "true",
            "spark.speculation.interval": "100ms",
            "spark.speculation.quantile": "0.3",
            "spark.speculation.multiplier": "2",
            "spark.speculation.efficiency.enabled": "false",
            # An executor that says nothing for so long is lost; the default is two minutes.
            "spark.network.timeout": "25s",
            "spark.network.timeoutInterval": "5s",
            "spark.executor.heartbeatInterval": "5s",
        }

    def stop(self) -> None:
        """End what was started here."""
        for process in reversed(self.processes):
            process.kill()
        for process in self.processes:
            process.wait(timeout=30)
