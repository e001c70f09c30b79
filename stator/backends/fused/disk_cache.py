"""Machine code of kernels on disk: bytes of which nothing is loaded before their keyed digest is verified.

An entry is a digest (HMAC-SHA256 under a secret of this user's) of its name and its bytes, then the bytes.
The name is all that the bytes depend on: source, compiler, options, processor. Folder, secret and entries
must belong to this user, and nobody else may write to them, or read the secret. Whatever is not so is as if
it were not there, and is written anew. Nothing here raises: without a cache, kernels are compiled.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import hmac
import logging
import os
import secrets
import stat
import time
from collections.abc import Iterator

log = logging.getLogger("stator.fused")

FORMAT = b"stator kernels 1"
SECRET = "secret"
SECRET_BYTES = DIGEST_BYTES = 32
LARGEST_ENTRY = 32 << 20
STALE_SECONDS = 3600.0
"""Temporary files as old as this were left by a process that ended in the middle."""

_ENTRY_MODE = 0o600
_WRITABLE_BY_OTHERS = 0o022
_OPEN_TO_OTHERS = 0o077


def name_of(*parts: str | bytes) -> bytes:
    """One name of these parts, which no other parts have."""
    digest = hashlib.sha256(FORMAT)
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.digest()


class DiskCache:
    """Entries in one folder, shared by the processes of one user."""

    def __init__(self, folder: str, limit: int = 256 << 20) -> None:
        self.folder = folder
        self.limit = limit
        """Bytes of all entries; the ones that were not used for longest go first."""
        self._puts = 0

    def get(self, name: bytes) -> bytes | None:
        """The bytes that `put` was given under this name, verified; None if there are none."""
        try:
            with self._opened() as folder:
                data = _read(folder, name.hex(), _WRITABLE_BY_OTHERS, LARGEST_ENTRY)
                secret = _secret(folder) if data is not None else None
                if data is None or secret is None:
                    return None
                digest, code = data[:DIGEST_BYTES], data[DIGEST_BYTES:]
                if not hmac.compare_digest(digest, _digest(secret, name, code)):
                    log.info("an entry of the cache of kernels is not what was written: %s", name.hex())
                    return None
                os.utime(name.hex(), dir_fd=folder, follow_symlinks=False)
                return code
        except OSError as error:
            log.info("the cache of kernels cannot be read: %s", error)
            return None

    def put(self, name: bytes, code: bytes) -> None:
        """Keeps the bytes. Other processes see all of them or nothing."""
        if len(code) + DIGEST_BYTES > min(LARGEST_ENTRY, self.limit):
            return
        try:
            with self._opened(make=True) as folder:
                secret = _secret(folder, make=True)
                if secret is None:
                    return
                with _temporary(folder, _digest(secret, name, code) + code) as written:
                    os.replace(written, name.hex(), src_dir_fd=folder, dst_dir_fd=folder)
                if self._puts % 32 == 0:
                    self._prune(folder)
                self._puts += 1
        except OSError as error:
            log.info("the cache of kernels cannot be written: %s", error)

    @contextlib.contextmanager
    def _opened(self, make: bool = False) -> Iterator[int]:
        """The folder, as long as it is this user's alone."""
        if make:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
        opened = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if not _is_own(os.fstat(opened), _WRITABLE_BY_OTHERS):
                raise PermissionError(f"others may write to {self.folder}")
            yield opened
        finally:
            os.close(opened)

    def _prune(self, folder: int) -> None:
        entries = []
        now = time.time()
        for file in os.listdir(folder):
            with contextlib.suppress(FileNotFoundError):  # another process prunes too
                facts = os.stat(file, dir_fd=folder, follow_symlinks=False)
                if file.startswith("."):
                    if now - facts.st_mtime > STALE_SECONDS:
                        os.unlink(file, dir_fd=folder)
                elif file != SECRET:
                    entries.append((facts.st_mtime, facts.st_size, file))
        total = sum(size for _, size, _ in entries)
        if total <= self.limit:
            return
        for _, size, file in sorted(entries):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(file, dir_fd=folder)
            total -= size
            if total <= self.limit * 3 // 4:
                break


def user_cache() -> DiskCache | None:
    """The cache of this process's user, as the environment has it. None: `STATOR_CACHE=0`, or the program
    runs with the rights of somebody else than who started it."""
    if os.environ.get("STATOR_CACHE", "1").lower() in ("", "0", "false"):
        return None
    if os.name != "posix" or os.getuid() != os.geteuid() or os.getgid() != os.getegid():
        return None
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = os.environ.get("STATOR_CACHE_DIR") or os.path.join(home, "stator", "kernels")
    return _cache_in(folder) if os.path.isabs(folder) else None


@functools.cache
def _cache_in(folder: str) -> DiskCache:
    return DiskCache(folder)


def _digest(secret: bytes, name: bytes, code: bytes) -> bytes:
    return hmac.new(secret, FORMAT + name + code, hashlib.sha256).digest()


def _is_own(facts: os.stat_result, forbidden: int) -> bool:
    return facts.st_uid == os.geteuid() and not facts.st_mode & forbidden


def _read(folder: int, file: str, forbidden: int, largest: int) -> bytes | None:
    """A regular file of this user's; None where there is nothing of that kind."""
    try:
        opened = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=folder)
    except OSError:  # no such file, a link
        return None
    with open(opened, "rb") as stream:
        facts = os.fstat(opened)
        if not stat.S_ISREG(facts.st_mode) or not _is_own(facts, forbidden) or facts.st_size > largest:
            return None
        return stream.read(largest + 1)


def _secret(folder: int, make: bool = False) -> bytes | None:
    for _ in range(3):
        secret = _kept_secret(folder)
        if secret is not None or not make:
            return secret
        with _temporary(folder, secrets.token_bytes(SECRET_BYTES)) as written:
            try:
                os.link(written, SECRET, src_dir_fd=folder, dst_dir_fd=folder)
            except FileExistsError:  # of several processes one makes it
                if _kept_secret(folder) is None:  # what stands there is none
                    os.replace(written, SECRET, src_dir_fd=folder, dst_dir_fd=folder)
    return None


def _kept_secret(folder: int) -> bytes | None:
    secret = _read(folder, SECRET, _OPEN_TO_OTHERS, SECRET_BYTES)
    return secret if secret is not None and len(secret) == SECRET_BYTES else None


@contextlib.contextmanager
def _temporary(folder: int, data: bytes) -> Iterator[str]:
    """A new file with these bytes; gone afterwards, if it was not renamed."""
    file = f".{os.getpid()}-{secrets.token_hex(8)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    opened = os.open(file, flags, _ENTRY_MODE, dir_fd=folder)
    try:
        with open(opened, "wb") as stream:
            stream.write(data)
        yield file
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(file, dir_fd=folder)
