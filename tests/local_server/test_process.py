"""Recognising, starting, ending and waiting for processes; what is said of a server that is not there."""

import json
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from heat_neo4j.errors import LocalServerError
from heat_neo4j.local_server.folders import ServerRecord, hold_lock
from heat_neo4j.local_server.launch import end_process, find_process, listening, spawn
from heat_neo4j.local_server.server import LocalServer, running_server


def began_with_command_line(child):
    """Wait until the kernel has loaded the program, and return when the process began."""
    process = psutil.Process(child.pid)
    while not process.cmdline():
        time.sleep(0.01)
    return process.create_time()


def test_a_process_is_known_by_pid_begin_and_command_line(folder):
    arguments = folder.path / "conf" / "java.args"
    command = [sys.executable, "-c", "import time; time.sleep(60)", f"@{arguments}"]
    with subprocess.Popen(command) as child:
        try:
            began = began_with_command_line(child)
            assert find_process(child.pid, began, arguments).pid == child.pid
            assert find_process(child.pid, began - 60, arguments) is None
            assert find_process(child.pid, began, folder.path / "other.args") is None
        finally:
            child.kill()
    assert find_process(child.pid, began, arguments) is None


def test_a_process_is_known_from_its_first_instant(tmp_path):
    """The kernel shows no command line until it has loaded the program."""
    program = tmp_path / "java"
    program.write_text("#!/bin/sh\nsleep 60\n")
    program.chmod(0o700)
    arguments = tmp_path / "java.args"
    for _ in range(20):
        started = spawn(program, arguments, tmp_path / "console.log")
        try:
            assert find_process(started.pid, started.create_time(), arguments) is not None
        finally:
            os.killpg(started.pid, signal.SIGKILL)
            started.wait(10)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a process ends with its first thread")
def test_a_process_is_there_until_its_last_thread_has_ended(tmp_path):
    """So it is for some 30 ms when a server is killed, which keeps its ports and files as long."""
    program = (
        "import ctypes, sys, threading\n"
        "threading.Thread(target=sys.stdin.read).start()\n"
        "print('on', flush=True)\n"
        "ctypes.CDLL(None).pthread_exit(None)"
    )
    arguments = tmp_path / "java.args"
    command = [sys.executable, "-c", program, f"@{arguments}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"on\n"
        process = psutil.Process(child.pid)
        while process.status() != psutil.STATUS_ZOMBIE:
            time.sleep(0.01)
        assert find_process(child.pid, process.create_time(), arguments) is not None
        child.stdin.close()
        while process.num_threads() > 1:
            time.sleep(0.01)
        assert find_process(child.pid, process.create_time(), arguments) is None


def test_a_process_is_asked_to_end_and_killed_if_it_will_not():
    stubborn = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "print('on', flush=True); time.sleep(60)"
    )
    for program, willing, timeout in (
        ("print('on', flush=True); import time; time.sleep(60)", True, 20.0),
        (stubborn, False, 0.2),
    ):
        child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
        assert child.stdout.readline() == b"on\n"
        assert end_process(psutil.Process(child.pid), timeout=timeout) is willing
        child.stdout.close()
        child.wait()


def test_a_spawned_process_has_its_own_session_and_a_private_log(tmp_path):
    script = tmp_path / "program"
    script.write_text('#!/bin/sh\necho "got $1"\necho wrong >&2\nsleep 60\n')
    script.chmod(0o755)
    process = spawn(script, tmp_path / "x.args", tmp_path / "console.log")
    try:
        for _ in range(100):
            if "wrong" in (tmp_path / "console.log").read_text():
                break
            time.sleep(0.05)
        assert (tmp_path / "console.log").read_text() == f"got @{tmp_path / 'x.args'}\nwrong\n"
        assert (tmp_path / "console.log").stat().st_mode & 0o777 == 0o600
        assert os.getsid(process.pid) == process.pid
        assert listening(process) == {}
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)


def test_a_pid_that_another_process_has_now_is_not_touched(tmp_path):
    server = LocalServer(home=tmp_path)
    server.folder.create()
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as stranger:
        try:
            began = began_with_command_line(stranger)
            server.folder.write_record(ServerRecord(stranger.pid, began, "5.26.31", 7687, 7474))
            status = server.status()
            assert not status.running
            assert f"its process {stranger.pid} is gone" in status.note
            assert server.stop() == "gone"
            assert stranger.poll() is None
        finally:
            stranger.kill()
    assert server.stop() == "not running"
    assert server.status().note == ""


def test_what_never_ran_says_so(tmp_path):
    server = LocalServer(home=tmp_path)
    assert server.status().note == "never started"
    assert server.stop() == "not running"
    assert running_server(home=tmp_path) is None
    with pytest.raises(LocalServerError, match=r"is not running .*heat server start"):
        server.connection()


def test_the_shell_lines_never_hold_the_password_and_survive_odd_paths(tmp_path):
    odd = tmp_path / "it's $HOME"
    odd.mkdir()
    server = LocalServer(home=odd)
    server.folder.create()
    password = server.folder.ensure_password()
    arguments = server.folder.path / "conf" / "java.args"
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", f"@{arguments}"]) as child:
        try:
            began = psutil.Process(child.pid).create_time()
            server.folder.write_record(ServerRecord(child.pid, began, "5.26.31", 1234, 5678))
            status = server.status()
        finally:
            child.kill()
    assert password not in repr(status) + json.dumps(status.to_dict()) + repr(server)
    program = "\n".join([*status.environment(), 'echo "$NEO4J_URI $NEO4J_USERNAME $NEO4J_PASSWORD"'])
    done = subprocess.run(["sh", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == f"bolt://127.0.0.1:1234 neo4j {password}\n"


# Locks between processes


def test_a_lock_is_waited_for_and_let_go_when_its_holder_is_killed(tmp_path):
    path = tmp_path / "lock"
    program = (
        "import sys, time\nfrom pathlib import Path\nfrom heat_neo4j.local_server.folders import hold_lock\n"
        "with hold_lock(Path(sys.argv[1]), what='testing', timeout=5):\n"
        "    print('held', flush=True)\n    time.sleep(60)\n"
    )
    holder = subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE)
    try:
        assert holder.stdout.readline() == b"held\n"
        with (
            pytest.raises(LocalServerError, match="another process has been testing for 0 s"),
            hold_lock(path, what="testing", timeout=0.2),
        ):
            pass
    finally:
        holder.kill()
        holder.stdout.close()
        holder.wait()
    with hold_lock(path, what="testing", timeout=5.0):
        pass
