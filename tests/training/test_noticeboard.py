"""Word left for other processes is heard by all, a silent process is given up, and the first failure speaks."""

from __future__ import annotations

import threading
import time

import pytest
from torch.distributed import HashStore

from modlm.errors import LostProcessError
from modlm.training.distributed import Noticeboard


def test_what_is_put_is_read_whoever_comes_first() -> None:
    store = HashStore()
    board = Noticeboard(store, timeout=60)
    heard: list[str] = []
    early = threading.Thread(target=lambda: heard.append(Noticeboard(store, timeout=60).read("rows", teller=0)))
    early.start()
    with board.alive("rows"):
        time.sleep(0.1)
    board.put("rows", "λ")
    early.join()
    assert [*heard, board.read("rows", teller=0)] == ["λ", "λ"]


def test_a_process_at_work_is_waited_for_longer_than_the_time_limit() -> None:
    store = HashStore()
    board = Noticeboard(store, timeout=0.5)

    def work() -> None:
        with board.alive("rows"):
            time.sleep(1.5)
        board.put("rows", "done")

    worker = threading.Thread(target=work)
    worker.start()
    assert board.read("rows", teller=0) == "done"
    worker.join()


def test_a_process_without_a_sign_of_life_is_given_up() -> None:
    with pytest.raises(RuntimeError, match=r"no sign of life from process 3 for 0\.2 seconds"):
        Noticeboard(HashStore(), timeout=0.2).read("rows", teller=3)


def test_who_waits_learns_of_a_failure_and_only_the_first_to_fail_speaks() -> None:
    board = Noticeboard(HashStore(), timeout=60)
    assert [board.first_to_fail(), board.first_to_fail()] == [True, False]
    with pytest.raises(LostProcessError) as caught:
        board.read("rows", teller=0)
    assert caught.value.told


def test_a_failure_is_told_when_the_board_itself_is_gone() -> None:
    class Gone:
        def add(self, name: str, amount: int) -> int:
            raise RuntimeError("connection closed")

    assert Noticeboard(Gone(), timeout=1).first_to_fail()  # type: ignore[arg-type]
