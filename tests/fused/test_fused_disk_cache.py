"""Kernels on disk: what is loaded, what is refused, and that no file there can harm."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import stator
import torch
from stator.backends.fused import compiler, disk_cache
from stator.backends.fused.disk_cache import SECRET, DiskCache, name_of, user_cache

NAME, CODE = name_of("a kernel"), b"machine code" * 100


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "kernels"
    monkeypatch.setenv("STATOR_CACHE", "1")
    monkeypatch.setenv("STATOR_CACHE_DIR", str(made))
    return made


def cache() -> DiskCache:
    made = user_cache()
    assert made is not None
    return made


def entries(folder: Path) -> list[Path]:
    return [file for file in folder.iterdir() if file.name != SECRET] if folder.exists() else []


def run(scale: float = 2.0) -> tuple[int, int]:
    """Kernels made, and those that came from disk, by a process that has forgotten its kernels."""
    stator.reset()
    compiler.forget_kernels()
    before = dict(compiler.counts)
    with torch.no_grad():
        x = torch.randn(5, 3)
        got = stator.compile(lambda t: (t * scale + 1).tanh().sum(-1), backend="fused")(x)
        torch.testing.assert_close(got, (x * scale + 1).tanh().sum(-1))
    made, loaded = (int(compiler.counts[what] - before[what]) for what in ("kernels", "loaded"))
    return made, loaded


def test_kernels_are_compiled_once_for_all_processes(folder: Path) -> None:
    program = (
        "import stator, torch; from stator.backends.fused.compiler import counts\n"
        "m = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU(), torch.nn.LayerNorm(8))\n"
        "torch.manual_seed(0); stator.compile(m, backend='fused')(torch.ones(4, 8)).sum().backward()\n"
        "print(counts['kernels'], counts['loaded'])"
    )
    told = []
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        told.append([int(word) for word in done.stdout.split()])
    assert told[0][0] > 0
    assert told[0][1] == 0
    assert told[1] == [told[0][0], told[0][0]]


def test_one_process_finds_what_it_wrote(folder: Path) -> None:
    assert run() == (1, 0)
    assert run() == (1, 1)
    assert run(3.0) == (1, 0)
    assert len(entries(folder)) == 2


def test_the_switch(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STATOR_CACHE", "0")
    assert user_cache() is None
    assert run() == (1, 0)
    assert not folder.exists()


def test_everything_is_the_users_alone(folder: Path) -> None:
    cache().put(NAME, CODE)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [file.stat().st_mode & 0o777 for file in folder.iterdir()] == [0o600, 0o600]


@pytest.mark.parametrize("place", [0, 31, 32, 700, -1])
def test_a_changed_byte_is_refused_and_written_anew(folder: Path, place: int) -> None:
    run()
    (entry,) = entries(folder)
    data = bytearray(entry.read_bytes())
    data[place] ^= 1
    entry.write_bytes(data)
    assert run() == (1, 0)
    assert run() == (1, 1)


@pytest.mark.parametrize("data", [b"", b"x", b"x" * 32, b"\0" * 5000])
def test_what_is_no_entry_is_refused(folder: Path, data: bytes) -> None:
    cache().put(NAME, CODE)
    (entry,) = entries(folder)
    entry.write_bytes(data)
    assert cache().get(NAME) is None
    cache().put(NAME, CODE)
    assert cache().get(NAME) == CODE


def test_an_entry_of_another_name_or_secret_is_refused(folder: Path, tmp_path: Path) -> None:
    cache().put(NAME, CODE)
    (entry,) = entries(folder)
    other = name_of("another kernel")
    (folder / other.hex()).write_bytes(entry.read_bytes())
    assert cache().get(other) is None
    foreign = DiskCache(str(tmp_path / "foreign"))
    foreign.put(NAME, b"not this user's")
    entry.write_bytes((tmp_path / "foreign" / NAME.hex()).read_bytes())
    assert foreign.get(NAME) == b"not this user's"
    assert cache().get(NAME) is None


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_an_entry_that_others_may_write_is_refused(folder: Path, mode: int) -> None:
    cache().put(NAME, CODE)
    entries(folder)[0].chmod(mode)
    assert cache().get(NAME) is None
    cache().put(NAME, CODE)
    assert cache().get(NAME) == CODE


@pytest.mark.parametrize("spoil", ["readable", "short", "gone", "a link"])
def test_a_spoiled_secret_is_made_anew(folder: Path, tmp_path: Path, spoil: str) -> None:
    cache().put(NAME, CODE)
    secret = folder / SECRET
    if spoil == "readable":
        secret.chmod(0o644)
    elif spoil == "short":
        secret.write_bytes(b"")
    else:
        known = secret.rename(tmp_path / "known")
        if spoil == "a link":
            secret.symlink_to(known)
    assert cache().get(NAME) is None
    cache().put(NAME, CODE)
    assert cache().get(NAME) == CODE
    assert secret.stat().st_mode & 0o777 == 0o600
    assert not secret.is_symlink()


def test_a_folder_that_others_may_write_to_is_left_alone(folder: Path) -> None:
    cache().put(NAME, CODE)
    folder.chmod(0o777)
    assert cache().get(NAME) is None
    cache().put(name_of("another"), CODE)
    assert len(entries(folder)) == 1
    assert run() == (1, 0)


def test_links_and_odd_files_are_left_alone(folder: Path, tmp_path: Path) -> None:
    cache().put(NAME, CODE)
    (entry,) = entries(folder)
    moved = entry.rename(tmp_path / "moved")
    entry.symlink_to(moved)
    assert cache().get(NAME) is None
    entry.unlink()
    os.mkfifo(entry)
    assert cache().get(NAME) is None  # and does not wait for a writer
    entry.unlink()
    entry.mkdir()
    assert cache().get(NAME) is None
    cache().put(NAME, CODE)
    real = folder.rename(tmp_path / "real")
    folder.symlink_to(real)
    assert cache().get(NAME) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("what", ["entry", "secret", "folder"])
def test_what_belongs_to_somebody_else_is_refused(folder: Path, what: str) -> None:
    cache().put(NAME, CODE)
    given = {"entry": entries(folder)[0], "secret": folder / SECRET, "folder": folder}[what]
    os.chown(given, 12345, 12345)
    assert cache().get(NAME) is None


def test_a_place_where_nothing_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STATOR_CACHE", "1")
    (tmp_path / "file").touch()
    for place in (str(tmp_path / "file"), str(tmp_path / "file" / "below"), "/proc/nowhere"):
        monkeypatch.setenv("STATOR_CACHE_DIR", place)
        assert run() == (1, 0)


def test_it_is_bounded(folder: Path) -> None:
    small = DiskCache(str(folder), limit=10_000)
    names = [name_of(str(i)) for i in range(33)]
    for i, name in enumerate(names):
        small.put(name, b"x" * 1000)
        os.utime(folder / name.hex(), (i, i))
    assert sum(file.stat().st_size for file in entries(folder)) <= 10_000
    assert small.get(names[0]) is None
    assert small.get(names[-1]) is not None
    small.put(NAME, b"x" * 20_000)
    assert small.get(NAME) is None


def test_files_that_a_process_left_in_the_middle_go(folder: Path) -> None:
    cache().put(NAME, CODE)
    old, new = folder / ".1-old", folder / ".1-new"
    old.touch()
    new.touch()
    os.utime(old, (time.time() - 2 * disk_cache.STALE_SECONDS,) * 2)
    DiskCache(str(folder)).put(NAME, CODE)
    assert not old.exists()
    assert new.exists()


def test_several_processes_at_once(folder: Path) -> None:
    program = (
        "from stator.backends.fused.disk_cache import name_of, user_cache\n"
        "for i in range(200):\n"
        "    name, code = name_of(str(i % 7)), bytes([i % 7]) * 5000\n"
        "    found = user_cache().get(name)\n"
        "    assert found in (None, code)\n"
        "    user_cache().put(name, code)\n"
        "    assert user_cache().get(name) == code\n"
    )
    started = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(4)]
    assert [process.wait(60) for process in started] == [0] * 4
    assert len(entries(folder)) == 7


def test_an_entry_that_does_not_link_is_compiled(folder: Path) -> None:
    run()
    (entry,) = entries(folder)
    cache().put(bytes.fromhex(entry.name), b"verified, and no machine code")
    assert run() == (1, 0)
    assert run() == (1, 1)
