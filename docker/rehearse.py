"""Test a Dockerfile without Docker, as root: run its steps in a debootstrap root, then its container.

    python docker/rehearse.py docker/Dockerfile /tmp/rehearsal [--certificates FILE] [--build-only]

Each stage is a folder, each RUN a chroot with the variables of ENV. The last stage is then started like a
container: its user, read-only root, empty volumes, a private /tmp, a token as a secret, a separate process
tree. Its health check must succeed, and SIGTERM must end it with status 0. RUN gets copies of this machine's
resolv.conf and of FILE, and its variables for proxies and the package index; only /dev is mounted.
"""

import argparse
import json
import os
import re
import secrets
import shlex
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

SUITES = {"debian:bookworm-slim": "bookworm"}
READY_SECONDS, END_SECONDS = 180.0, 15.0
PASSED = re.compile(r"PIP_(EXTRA_)?INDEX_URL|https?_proxy|no_proxy", re.IGNORECASE)


@dataclass
class Stage:
    """One stage: its root folder and the settings of its container."""

    root: Path
    env: dict[str, str] = field(default_factory=lambda: {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
    workdir: str = "/"
    user: str = "0:0"
    volumes: list[str] = field(default_factory=list)
    command: dict[str, list[str]] = field(default_factory=dict)

    def path(self, inside: str) -> Path:
        """The path on this machine of a path in the stage, relative to its WORKDIR."""
        return self.root / str(Path(self.workdir) / inside).lstrip("/")


def main() -> None:
    """Build all stages, run the last one, and print its size and time."""
    parser = argparse.ArgumentParser(description="Run a Dockerfile's steps in a debootstrap root.")
    parser.add_argument("dockerfile", type=Path)
    parser.add_argument("folder", type=Path, help="where the roots go; a base that lies there is used again")
    parser.add_argument("--certificates", type=Path, help="what RUN trusts, where a proxy has its own")
    parser.add_argument("--build-only", action="store_true", help="start nothing, as where no GPU is")
    given = parser.parse_args()
    stage = build(given.dockerfile, given.folder, given.certificates)
    size = subprocess.run(["du", "-sxm", stage.root], capture_output=True, text=True, check=True).stdout
    print(f"rehearsed {given.dockerfile}: {size.split()[0]} MB unpacked")
    if not given.build_only:
        start(stage)


def instructions(dockerfile: Path) -> list[tuple[str, str]]:
    """(instruction, arguments) of every step."""
    lines = [line for line in dockerfile.read_text().splitlines() if not line.lstrip().startswith("#")]
    steps = "\n".join(lines).replace("\\\n", " ").splitlines()
    return [(name, rest.strip()) for name, _, rest in (step.partition(" ") for step in steps) if name]


def build(dockerfile: Path, folder: Path, certificates: Path | None) -> Stage:
    """Run every instruction; returns the last stage."""
    stages: dict[str, Stage] = {}
    stage = Stage(folder)
    for name, rest in instructions(dockerfile):
        print(f"  {name} {rest}", flush=True)
        match name:
            case "FROM":
                base, _, alias = rest.partition(" AS ")
                stage = Stage(new_root(folder, alias or "container", base, stages))
                stages[alias] = stage
            case "RUN":
                in_root(stage, rest, certificates)
            case "COPY":
                copy(stage, shlex.split(rest), stages)
            case "ENV":
                stage.env |= dict(pair.split("=", 1) for pair in shlex.split(rest))
            case "WORKDIR":
                stage.workdir = rest
                stage.path(rest).mkdir(parents=True, exist_ok=True)
            case "USER":
                stage.user = rest
            case "VOLUME":
                stage.volumes = json.loads(rest)
            case "HEALTHCHECK":
                stage.command[name] = json.loads(rest.partition("CMD ")[2])
            case "ENTRYPOINT" | "CMD":
                stage.command[name] = json.loads(rest)
            case "EXPOSE":
                pass
            case _:
                sys.exit(f"unsupported Dockerfile instruction {name}; add it to this script")
    return stage


def new_root(folder: Path, name: str, base: str, stages: dict[str, Stage]) -> Path:
    """A copy of an earlier stage's root, or of a fresh Debian of the base image's suite."""
    root = folder / name
    if root.exists():
        shutil.rmtree(root)
    if base in stages:
        origin = stages[base].root
    else:
        origin = folder / SUITES[base]
        if not origin.exists():
            subprocess.run(["debootstrap", "--variant=minbase", SUITES[base], origin], check=True)
            subprocess.run(["chroot", origin, "apt-get", "clean"], check=True)
            (origin / "etc/apt/apt.conf.d/no-cache").write_text('Dir::Cache::archives "/tmp";\n')
    subprocess.run(["cp", "-a", origin, root], check=True)
    return root


def in_root(stage: Stage, command: str, certificates: Path | None) -> None:
    """One RUN in a separate mount namespace, with copies of the files it needs from this machine."""
    env = {name: value for name, value in os.environ.items() if PASSED.fullmatch(name)}
    lent = {Path("/etc/resolv.conf"): "/etc/resolv.conf"}
    if certificates:
        lent[certificates] = "/tmp/certificates.crt"
        env |= {"PIP_CERT": "/tmp/certificates.crt", "SSL_CERT_FILE": "/tmp/certificates.crt"}
    for path, inside in lent.items():
        shutil.copyfile(path, stage.path(inside))
    inner = f"cd {stage.workdir} && {command}"
    steps = ["mount --make-rprivate /", "mount -t proc proc proc", "mount --rbind /dev dev"]
    steps.append(f"exec chroot . sh -c {shlex.quote(inner)}")
    subprocess.run(
        ["unshare", "--mount", "sh", "-ec", "\n".join(steps)],
        cwd=stage.root,
        env={**env, **stage.env, "DEBIAN_FRONTEND": "noninteractive"},
        check=True,
    )
    for inside in lent.values():
        stage.path(inside).unlink()


def copy(stage: Stage, arguments: list[str], stages: dict[str, Stage]) -> None:
    """One COPY, from an earlier stage or from this folder without what .dockerignore leaves out."""
    origin, ignore = Path.cwd(), shutil.ignore_patterns("__pycache__")
    if arguments[0].startswith("--from="):
        origin, ignore = stages[arguments.pop(0).removeprefix("--from=")].root, None
    *sources, target = arguments
    for source in sources:
        place = stage.path(target) / (Path(source).name if target.endswith("/") else "")
        path = origin / source.lstrip("/")
        if path.is_dir():
            shutil.copytree(path, place, symlinks=True, dirs_exist_ok=True, ignore=ignore)
        else:
            shutil.copy2(path, place)


def start(stage: Stage) -> None:
    """Run the container until it is healthy, look into it, and end it."""
    uid, gid = stage.user.split(":")
    root, words = stage.root, [*stage.command["ENTRYPOINT"], *stage.command["CMD"]]
    variables = [f"{name}={value}" for name, value in stage.env.items()]
    writable = [f"mount -t tmpfs -o uid={uid},gid={gid} tmpfs {root}{path}" for path in stage.volumes]
    steps = [
        "ip link set lo up",
        "mount --make-rprivate /",
        f"mount --bind {root} {root}",
        f"mount -t proc proc {root}/proc",
        f"mount --rbind /dev {root}/dev",
        f"mount -t tmpfs -o size=64m tmpfs {root}/dev/shm",
        f"mount -t tmpfs tmpfs {root}/tmp",
        f"mount -t tmpfs tmpfs {root}/run",
        f"mkdir {root}/run/secrets",
        f"echo {secrets.token_hex(24)} > {root}/run/secrets/lumaflow_admin_token",
        *writable,
        f"mount -o remount,ro,bind {root}",
        f"exec chroot --userspec={stage.user} {root} env -i {shlex.join(variables)} setpriv --no-new-privs"
        f" sh -c {shlex.quote(f'cd {stage.workdir} && exec {shlex.join(words)}')}",
    ]
    outside = subprocess.Popen(
        ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "sh", "-ec", "\n".join(steps)]
    )
    time.sleep(1)
    inside = int(Path(f"/proc/{outside.pid}/task/{outside.pid}/children").read_text())
    enter = ["nsenter", f"--target={inside}", "--mount", "--pid", "--net", "--root", f"--setuid={uid}"]
    enter += [f"--setgid={gid}", "env", "-i", *variables]
    try:
        seconds = wait_healthy(outside, [*enter, *stage.command["HEALTHCHECK"]])
        shared = subprocess.run([*enter, "du", "-sk", "/dev/shm"], capture_output=True, text=True, check=True)
        status = Path(f"/proc/{inside}/status").read_text()
        print(f"healthy after {seconds:.0f} s; {shared.stdout.split()[0]} KiB in /dev/shm")
        print("process 1:", *re.findall(r"(?:Name|Uid|CapEff|NoNewPrivs):.*", status), sep="\n  ")
        os.kill(inside, signal.SIGTERM)
        print(f"ended by SIGTERM with status {outside.wait(END_SECONDS)}")
    finally:
        outside.kill()
    sys.exit(outside.returncode)


def wait_healthy(container: subprocess.Popen[bytes], check: list[str]) -> float:
    """Run the health check until it succeeds; returns how long that took."""
    started = time.monotonic()
    while subprocess.run(check, capture_output=True).returncode:
        if container.poll() is not None or time.monotonic() - started > READY_SECONDS:
            sys.exit(f"the container is not healthy after {time.monotonic() - started:.0f} s")
        time.sleep(1)
    return time.monotonic() - started


if __name__ == "__main__":
    main()
