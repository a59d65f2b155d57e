"""Installs, runs, upgrades, removes and purges the Debian packages in a fresh Debian system.

usage: check_packages.py FOLDER

FOLDER has the packages; FOLDER/check/ is where it works. Needs root, lintian, debootstrap and
Debian's mirror as apt knows it. The system is booted with systemd in a container of its own
(systemd-nspawn), without a network but its loopback.
"""

import contextlib
import pathlib
import re
import shutil
import subprocess
import sys
import time

SUITE = "bookworm"
PACKAGES = ("mgw", "mgw-tools", "mgw-doc")
OLDER_SUFFIX = "~older"
# What changes whether or not a package was there.
UNSTABLE = re.compile(
    r"/(proc|sys|dev|run|tmp|packages)(/|$)|/var/(cache|tmp|lib/(dpkg|apt|systemd))(/|$)|/var/log/"
    r"(journal|dpkg|apt|alter|lastlog|[wb]tmp)|/etc/(ld.so.cache|machine-id|hostname|resolv.conf)"
)

# Commands of the manual that the system of the check has.
RUN_HERE = r"(mgw|mgwctl|rtpload|journalctl|curl|echo|systemctl (?!disable --now osmo-mgw)\S+) "


def say(text):
    print(f"check_packages: {text}", flush=True)


def run(*command, **options):
    """Runs a command; its output as text. Raises with the output if it fails."""
    done = subprocess.run(
        [str(word) for word in command],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        stdin=subprocess.DEVNULL,
        **options,
    )
    if done.returncode != 0:
        raise AssertionError(f"{command}: status {done.returncode}\n{done.stdout}")
    return done.stdout


def wait_for(condition, what, seconds=60):
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.1)


def mirror():
    """What apt gets Debian's packages from."""
    targets = run(
        "apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME)", "Created-By: Packages"
    )
    return next(line.split()[0] for line in targets.splitlines() if line.split()[1] == SUITE)


def dependencies(packages):
    names = set()
    for package in packages:
        for word in run("dpkg-deb", "--field", package, "Depends").replace(",", "\n").splitlines():
            if word.strip():
                names.add(word.split()[0])
    return sorted(names - set(PACKAGES))


def make_base(base, packages):
    """A small Debian with systemd and the libraries that the packages need; kept for next time."""
    if not (base / "etc/debian_version").exists():
        say("making a Debian system")
        unfinished = base.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        run(
            "debootstrap",
            "--variant=minbase",
            "--include=systemd,systemd-sysv,dbus,curl",
            SUITE,
            unfinished,
            mirror(),
        )
        unfinished.rename(base)
    shutil.copy("/etc/resolv.conf", base / "etc/resolv.conf")
    for part in pathlib.Path("/etc/apt/apt.conf.d").glob("*proxy*"):
        shutil.copy(part, base / "etc/apt/apt.conf.d")
    run(
        "chroot",
        base,
        "apt-get",
        "-q",
        "-y",
        "--no-install-recommends",
        "install",
        *dependencies(packages),
        env={"DEBIAN_FRONTEND": "noninteractive", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
    )
    run("chroot", base, "apt-get", "clean")


def make_older(package, folder):
    """The same package as an earlier version, whose configuration file had another default."""
    contents = folder / "contents"
    shutil.rmtree(contents, ignore_errors=True)
    run("dpkg-deb", "--raw-extract", package, contents)
    control = contents / "DEBIAN/control"
    text = re.sub(r"(?m)^(Version: .*)$", rf"\1{OLDER_SUFFIX}", control.read_text("utf-8"))
    control.write_text(text, "utf-8")
    conffile = contents / "etc/mgw/mgw.yaml"
    if conffile.exists():
        conffile.write_text(conffile.read_text("utf-8") + "# of the version before\n", "utf-8")
    run("dpkg-deb", "--root-owner-group", "--build", contents, folder)
    shutil.rmtree(contents)


class System:
    """A booted Debian system in a folder. Use it as a context manager."""

    def __init__(self, root):
        self.root = root
        self.process = subprocess.Popen(
            [
                "systemd-nspawn",
                "--quiet",
                "--directory",
                str(root),
                "--boot",
                "--register=no",
                "--keep-unit",
                "--private-network",
                "--machine=mgw-check",
                "--console=pipe",
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_for(self._has_booted, "the system has booted")
        except AssertionError:
            self.__exit__()
            raise

    def _has_booted(self):
        return self.status("systemctl is-system-running")[1].strip() in ("running", "degraded")

    def leader(self):
        """The container's first process; others come and go before it is that."""
        number = self.process.pid
        with open(f"/proc/{number}/task/{number}/children", encoding="ascii") as children:
            return (children.read().split() or ["0"])[0]

    def status(self, command):
        """Exit status and output of a shell command in the system."""
        done = subprocess.run(
            [
                "nsenter",
                "--target",
                self.leader(),
                "--all",
                "env",
                "-i",
                "DEBIAN_FRONTEND=noninteractive",
                "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
                "sh",
                "-c",
                command,
            ],
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        return done.returncode, done.stdout

    def run(self, command):
        """Output of a command that must succeed."""
        status, output = self.status(command)
        if status != 0:
            raise AssertionError(f"{command}: status {status}\n{output}\n{self.log()}")
        return output

    def log(self):
        return self.status("systemctl status mgw; journalctl -n 60 --no-pager")[1]

    def main_process(self):
        return self.run("systemctl show -P MainPID mgw").strip()

    def shows(self, text, seconds=30):
        """Waits until the journal of the service has the text."""
        wait_for(
            lambda: text in self.status("journalctl -u mgw --no-pager")[1],
            f"the journal says {text!r}",
            seconds,
        )

    def answers(self):
        """The gateway answers."""
        self.run("mgwctl auep")

    def files(self):
        found = set(self.status("find / -xdev")[1].split("\n"))
        return {name for name in found if not UNSTABLE.match(name)}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.status("systemctl poweroff")
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def check_installation(system):
    say("install")
    system.run("dpkg -i /packages/older/*.deb")
    wait_for(lambda: system.status("systemctl is-active mgw")[1].strip() == "active", "it runs")
    system.answers()
    system.run("systemctl is-enabled mgw.service")
    state = system.run("systemctl show mgw -P StatusText")
    assert "connections" in state, state
    user = system.run("grep Uid /proc/$(systemctl show -P MainPID mgw)/status").split()[1]
    assert user != "0", "it runs as root"
    say(
        "  "
        + system.run("systemd-analyze security --no-pager mgw.service").splitlines()[-1].strip()
    )
    say(
        "  "
        + system.run(
            "rtpload --mgcp 127.0.0.1:2427 --calls 10 --seconds 3 --max-loss 0.01 " "| grep packets"
        ).strip()
    )
    backend = system.run("journalctl -u mgw --no-pager | grep -o 'I/O backend.*' | tail -1").strip()
    say(f"  {backend}")


def check_upgrade(system):
    say("upgrade, with a configuration that the operator has changed")
    system.run("sed -i 's/count: 512/count: 600/' /etc/mgw/mgw.yaml")
    before = system.main_process()
    call = "rtpbridge/1@mgw"
    system.run(f"mgwctl crcx -e {call} -c 7 --codec GSM -r 127.0.0.1:40000 -m sendrecv")
    system.run("dpkg --force-confdef --force-confold -i /packages/newer/*.deb")
    assert system.main_process() not in ("0", before), "it was not restarted"
    system.answers()
    system.run("grep -q 'count: 600' /etc/mgw/mgw.yaml")
    version = system.run("dpkg-query -W -f '${Version}' mgw")
    assert not version.endswith(OLDER_SUFFIX), version
    system.shows("for 600 endpoints")
    survived = system.run(f"mgwctl auep -e {call} --info I")
    assert re.search(r"connection +[0-9A-F]{8}", survived), "the call is gone"
    system.run(f"mgwctl dlcx -e {call}")


def check_reload(system):
    say("reload")
    process = system.main_process()
    system.run(
        "sed -i 's/count: 600/count: 700/; s/^mgcp:/mgcp:\\n  domain: other/' /etc/mgw/mgw.yaml"
    )
    system.run("systemctl reload mgw")
    system.shows("configuration: changed: mgcp.domain")
    system.shows("configuration: takes effect at the next start only: endpoints.count")
    system.run("mgwctl auep -e rtpbridge/1@other")
    system.run("cp /etc/mgw/mgw.yaml /var/tmp; echo 'nonsense: 1' >> /etc/mgw/mgw.yaml")
    status, output = system.status("systemctl reload mgw")
    assert status != 0, output
    system.shows("unknown key 'nonsense'")
    system.run("systemctl kill --kill-whom=main -s HUP mgw")
    system.shows("nothing is changed")
    wait_for(
        lambda: "not reloaded" in system.run("systemctl show mgw -P StatusText"),
        "the status says so",
    )
    system.answers()
    system.run("cp /var/tmp/mgw.yaml /etc/mgw/mgw.yaml; systemctl reload mgw")
    assert system.main_process() == process
    system.run("systemctl restart mgw")
    system.shows("for 700 endpoints")


def take_over(system, before):
    """Has a successor take over from the process; the new main process."""
    system.run("systemctl kill --kill-whom=main -s USR2 mgw")
    wait_for(lambda: system.main_process() not in (before, "0"), "another main process")
    system.answers()
    return system.main_process()


def check_take_over(system):
    say("a successor takes over within the unit")
    call = "rtpbridge/1@mgw"
    system.run(f"mgwctl crcx -e {call} -c 7 --codec GSM -r 127.0.0.1:40000 -m sendrecv")
    system.run(
        "systemd-run --quiet --unit=load rtpload --mgcp 127.0.0.1:2427 --calls 50 --seconds 6"
    )
    time.sleep(2)
    process = take_over(system, system.main_process())
    wait_for(
        lambda: "packets  " in system.status("journalctl -u load --no-pager -o cat")[1],
        "rtpload's report",
    )
    packets = re.search(r"packets +sent.*", system.run("journalctl -u load --no-pager -o cat"))[0]
    say(f"  {packets}")
    assert " lost 0 " in packets, packets
    system.run(
        "mv /usr/bin/mgw /usr/bin/mgw.good; printf '#!/bin/sh\\nexit 7\\n' > /usr/bin/mgw; "
        "chmod 755 /usr/bin/mgw; systemctl kill --kill-whom=main -s USR2 mgw"
    )
    system.shows("has ended, the calls go on here")
    system.run("mv /usr/bin/mgw.good /usr/bin/mgw")
    assert system.main_process() == process
    process = take_over(system, process)
    log = system.run("journalctl -u mgw --no-pager -o cat")
    assert "ctrl can't listen" not in log, log
    survived = system.run(f"mgwctl auep -e {call} --info I")
    assert re.search(r"connection +[0-9A-F]{8}", survived), "the call is gone"
    system.run(f"mgwctl dlcx -e {call}; systemctl restart mgw")
    assert system.main_process() not in ("0", process)
    log = system.run("journalctl -u mgw --no-pager -o cat")
    assert "SIGKILL" not in log, log
    system.answers()


def check_watchdog(system):
    say("a gateway that hangs, one that crashes")
    system.run(
        "mkdir -p /etc/systemd/system/mgw.service.d; printf '[Service]\\nWatchdogSec=2s\\n' "
        "> /etc/systemd/system/mgw.service.d/watchdog.conf; systemctl daemon-reload; "
        "systemctl restart mgw"
    )
    for signal, why in (("STOP", "Watchdog timeout"), ("KILL", "status=9/KILL")):
        process = system.main_process()
        system.run(f"kill -{signal} {process}")
        wait_for(
            lambda before=process: system.main_process() not in (before, "0")
            and system.status("systemctl is-active mgw")[1].strip() == "active",
            "it was started anew",
        )
        system.shows(why)
        system.answers()
    system.run(
        "rm -r /etc/systemd/system/mgw.service.d; systemctl daemon-reload; " "systemctl restart mgw"
    )


def check_socket_activation(system):
    say("socket activation")
    system.run("systemctl stop mgw; systemctl enable --now mgw.socket")
    assert system.status("systemctl is-active mgw")[1].strip() == "inactive"
    system.answers()
    assert system.run("systemctl is-active mgw").strip() == "active"
    system.shows("the MGCP socket is the service manager's")
    system.run("systemctl disable --now mgw.socket; systemctl restart mgw")
    system.answers()


def check_examples(system):
    say("the examples of the unit's drop-ins")
    system.run(
        "mkdir -p /etc/systemd/system/mgw.service.d; cp /usr/share/doc/mgw/examples/*.conf "
        "/etc/systemd/system/mgw.service.d; systemctl daemon-reload; systemctl restart mgw"
    )
    system.answers()
    system.run(
        "rm -r /etc/systemd/system/mgw.service.d; systemctl daemon-reload; " "systemctl restart mgw"
    )


def manual_commands(manual):
    """The commands of the manual with the headings that they stand under."""
    heading, fenced, commands = "", False, []
    for line in manual.read_text("utf-8").splitlines():
        if line.startswith("## "):
            heading = line[3:]
        elif line.startswith("```"):
            fenced = not fenced
        elif fenced and re.match(RUN_HERE, line):
            commands.append((heading, line))
    return commands


def check_manual(system, manual):
    say("the commands of the manual")
    system.run(
        "systemctl disable --now mgw.socket; printf 'taps:\\n  directory: /var/lib/mgw\\n' "
        ">> /etc/mgw/mgw.yaml; sed -i 's/domain: other/domain: mgw/' /etc/mgw/mgw.yaml; "
        "mkdir -p /etc/osmocom; printf 'mgcp\\n bind ip 127.0.0.1\\n' "
        "> /etc/osmocom/osmo-mgw.cfg; systemctl restart mgw"
    )
    seen = ""
    for heading, command in manual_commands(manual):
        if heading != seen and heading == "Find one-way audio":
            system.run(
                "mgwctl crcx -e rtpbridge/1@mgw -c 7 --codec GSM -r 127.0.0.1:40000 " "-m sendrecv"
            )
        if heading != seen and seen == "Find one-way audio":
            system.run("mgwctl dlcx -e rtpbridge/1@mgw")
        if heading != seen and seen == "Replace osmo-mgw":
            system.run("rm /etc/default/mgw; systemctl restart mgw")
        seen = heading
        if " ID " in command:
            answer = system.run("mgwctl --json auep -e rtpbridge/1@mgw --info I")
            identity = re.search(r"\b[0-9A-F]{8}\b", answer.partition('"connection')[2])
            command = command.replace(" ID ", f" {identity[0]} ")
        status, output = system.status(command)
        # A busy machine disturbs the generator; a search may find nothing.
        if status != 0 and not (status == 1 and re.match("rtpload|journalctl|curl", command)):
            raise AssertionError(f"{heading}: {command}: status {status}\n{output}\n{system.log()}")
        say(f"  {command}")
    system.run("systemctl disable --now mgw.socket; systemctl start mgw; rm -r /etc/osmocom")


def check_removal(system, before):
    say("remove, install again, purge")
    system.run("dpkg -r mgw mgw-tools mgw-doc")
    assert system.status("systemctl is-active mgw")[1].strip() != "active"
    system.run("test -e /etc/mgw/mgw.yaml")
    system.run("dpkg -i /packages/newer/*.deb")
    system.answers()
    system.run("touch /var/lib/private/mgw/kept /var/log/private/mgw/kept")
    system.run("dpkg --purge mgw mgw-tools mgw-doc")
    left = system.files() - before
    assert not left, f"left behind: {sorted(left)}"
    assert "mgw" not in system.run("systemctl list-unit-files --no-pager")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1]).resolve()
    packages = sorted(folder.glob("*.deb"))
    if len(packages) != len(PACKAGES):
        sys.exit(f"check_packages: not {len(PACKAGES)} packages in {folder}")
    say("lintian")
    run("lintian", "--allow-root", "--fail-on", "error,warning", *packages)
    work = folder / "check"
    work.mkdir(exist_ok=True)
    make_base(work / "base", packages)
    root = work / "system"
    shutil.rmtree(root, ignore_errors=True)
    run("cp", "--archive", work / "base", root)
    for version in ("older", "newer"):
        (root / "packages" / version).mkdir(parents=True)
    for package in packages:
        shutil.copy(package, root / "packages/newer")
        make_older(package, root / "packages/older")
    with System(root) as system:
        before = system.files()
        check_installation(system)
        check_take_over(system)
        check_upgrade(system)
        check_reload(system)
        check_watchdog(system)
        check_socket_activation(system)
        check_examples(system)
        check_manual(system, pathlib.Path("docs/manual.md"))
        check_removal(system, before)
    with contextlib.suppress(OSError):
        shutil.rmtree(root)
    say("all is well")


if __name__ == "__main__":
    main()
