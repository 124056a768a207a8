# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An ordinary user logs in and becomes root with sudo: which rules are enough, which are not, and what needs none.

The rules are read from docs/security.md.
"""

import json
import re
import time

import pytest
from hosts import CHOSEN, HERE, Hosts, play, run, standing
from hosts import SHORT as QUICK

NAME = "labsudo"
PAGE = (HERE / "docs" / "security.md").read_text(encoding="utf-8")
ALL, LEAST, COMMAND_LINE = re.findall(r"^```\n(ansible ALL=.*\n)```$", PAGE, re.MULTILINE)
"""The three rules of the page."""
SHORT = {**QUICK, "measure_rounds": 1, "zpower_change": "c1"}


class Lab(Hosts):
    """Two hosts, a tuned one and its peer; playbooks log in as the user `ansible`."""

    def __init__(self, folder):
        super().__init__(NAME)
        self.folder = folder

    def root(self, command, text=""):
        """Run a shell command on the tuned host as root and return its output."""
        return self.on("app1", command, text)

    def rule(self, text):
        """Write the sudoers file of the user; sudo refuses all of them if one is invalid."""
        self.root("cat >/etc/sudoers.d/ansible && chmod 0440 /etc/sudoers.d/ansible && visudo -c -q", text)

    def play(self, playbook, *options, pipelining=False, **variables):
        """Return exit code and output of a playbook of the collection on app1."""
        user = {"ansible_user": "ansible", "ansible_python_interpreter": "/usr/bin/python3"}
        chosen = {**self.connection, **user, "zpower_tunings": ["rps"], **CHOSEN, **variables}
        inventory = {"erp": {"hosts": self.hosts, "vars": chosen}}
        words = ["--limit", "app1", *options]
        done = play(self.folder, inventory, playbook, *words, ANSIBLE_PIPELINING=str(pipelining))
        return done.returncode, done.stdout + done.stderr

    def must(self, *words, **more):
        """Run a playbook that must succeed."""
        code, said = self.play(*words, **more)
        assert code == 0, said

    def mask(self):
        return int(self.root("cat /sys/class/net/hsi0/queues/rx-0/rps_cpus").replace(",", ""), 16)


@pytest.fixture(scope="module", name="running")
def fixture_running():
    with standing(NAME, 2):
        yield


@pytest.fixture(name="lab")
def fixture_lab(running, tmp_path):
    found = Lab(tmp_path)
    found.root("rm -f /etc/sudoers.d/ansible")
    yield found
    if found.mask() != 0:
        found.rule(LEAST)
        code, said = found.play("rollback", "--tags", "rps")
        assert code == 0 and found.mask() == 0, said


def test_measuring_needs_no_rule(lab):
    lab.must("measure", zpower_results=str(lab.folder / "results"), **SHORT)
    record = json.loads((lab.folder / "results" / "c1" / "app1" / "before-1-pingpong-1000B-app2.json").read_text())
    assert record["runs"][0]["ok"] and record["runs"][0]["cpu"]["server"]


@pytest.mark.parametrize(
    ("rule", "pipelining"),
    [
        ("Defaults requiretty, secure_path=/usr/bin:/bin\n" + LEAST, False),
        (ALL, True),
        ("Defaults umask=0077\n" + COMMAND_LINE, True),
    ],
    ids=["shell", "all", "command line"],
)
def test_the_rules_of_the_page_are_enough_for_every_playbook(lab, rule, pipelining):
    lab.rule(rule)
    for playbook, *options in (("site", "--check"), ("site",), ("verify",)):
        lab.must(playbook, *options, pipelining=pipelining)
    assert lab.mask() != 0
    lab.must("rollback", pipelining=pipelining)
    assert lab.mask() == 0


def test_pipelining_needs_a_sudo_without_requiretty(lab):
    lab.rule(LEAST)
    lab.must("site", pipelining=True)
    lab.rule("Defaults requiretty\n" + LEAST)
    code, said = lab.play("verify", pipelining=True)
    assert code == 2 and "you must have a tty to run sudo" in said


def test_nothing_is_executed_below_temporary_folders_and_homes(lab):
    folders = "/tmp /var/tmp /dev/shm /root /var/lib/ansible"
    lab.root(f"for f in {folders}; do mount -t tmpfs -o noexec,nosuid,nodev,mode=1777 zps $f; done")
    lab.root("chown ansible /var/lib/ansible")
    try:
        lab.rule(LEAST)
        for pipelining in (False, True):
            for playbook in ("site", "verify", "rollback"):
                lab.must(playbook, pipelining=pipelining)
        lab.must("measure", zpower_results=str(lab.folder / "results"), **SHORT)
    finally:
        lab.root(f"umount --lazy {folders}")


def test_a_password_of_the_user_or_of_root_is_accepted(lab):
    for user, secret in (("ansible", "own"), ("root", "of root")):
        lab.root(f"usermod -p '{run('openssl', 'passwd', '-6', secret).stdout.strip()}' {user}")
    lab.rule(LEAST.replace("NOPASSWD: ", ""))
    lab.must("site", ansible_become_password="own")
    lab.rule("Defaults targetpw\n" + LEAST.replace("NOPASSWD: ", ""))
    code, said = lab.play("verify", ansible_become_password="own")
    assert code == 2 and "Incorrect sudo password" in said
    lab.must("verify", ansible_become_password="of root")
    lab.root("rm /etc/sudoers.d/ansible")
    lab.must("verify", ansible_become_method="su", ansible_become_password="of root")


def test_without_root_verify_answers_and_site_changes_nothing(lab):
    code, said = lab.play("verify", ansible_become=False)
    assert code == 2 and "off (mask 0), wanted CPUs" in said
    code, said = lab.play("site", ansible_become=False)
    assert code == 2 and "nothing was changed: cannot keep a journal in /var/lib/zpower_sap_tuning" in said
    lab.rule(LEAST)
    lab.must("site")
    code, said = lab.play("verify", ansible_become=False)
    assert code == 2 and "cannot read /var/lib/zpower_sap_tuning" in said and "Permission denied" in said


def test_the_guardian_of_a_lease_outlives_the_terminal_of_sudo(lab):
    lab.rule("Defaults requiretty, use_pty\n" + LEAST)
    lab.must("site", zpower_checkpoint="try", zpower_lease=5)
    until = time.monotonic() + 600
    while lab.mask() != 0:
        assert time.monotonic() < until
        time.sleep(0.5)
