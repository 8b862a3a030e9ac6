"""Rows of many members in one file: appended, dropped, merged, cut short by a kill, and moved to another pack."""

import numpy as np
import pytest

from solver.io import Axis, Column, PackLock, RecordsLayout, Row, RunDirectory, own_rows, row_file
from solver.io.pack import Pack, packs_for, packs_in
from solver.io.row_file import RowFile, RowsInFile

LAYOUT = RecordsLayout(
    {"k": Axis(np.arange(1.0, 4.0), "1/length")}, {"spectrum": Column(("k",), "1"), "energy": Column(units="J")}
)
OTHER = RecordsLayout({"k": Axis(np.arange(1.0, 3.0), "1/length")}, {"spectrum": Column(("k",), "1")})


def row(number, step, layout=LAYOUT):
    values = {"spectrum": np.arange(layout.shape("spectrum")[0]) / 3 + number, "energy": np.asarray(step / 7)}
    return Row(step, 0.1 * step, {name: values[name] for name in layout.columns})


def fill(file, steps, numbers=(3, 0, 11), layout=LAYOUT):
    for step in steps:
        for number in numbers:
            file.append(number, row(number, step, layout), layout)


def rows_of(file, number):
    table = RowsInFile(file, number).table()
    return [] if table is None else table.rows


def steps_of(file, number):
    return [each.step for each in rows_of(file, number)]


@pytest.fixture
def file(tmp_path):
    return RowFile(tmp_path / "spectra.h5", shared=True)


@pytest.mark.parametrize("kept", [0, 2**20], ids=["read by member", "read as a whole"])
def test_rows_are_those_of_a_file_alone(file, tmp_path, monkeypatch, kept):
    monkeypatch.setattr(row_file, "KEPT", kept)
    fill(file, (0, 2, 4))
    alone = own_rows(tmp_path / "alone.h5")
    for step in (0, 2, 4):
        alone.append(row(3, step), LAYOUT)
    for state in ("in the journal", "in the file"):
        rows, layout = rows_of(file, 3), RowsInFile(file, 3).layout()
        assert layout.of_rows() == alone.layout().of_rows(), state
        assert list(layout.columns) == list(LAYOUT.columns), "columns keep their order"
        assert [each.step for each in rows] == [each.step for each in alone.table().rows]
        for mine, theirs in zip(rows, alone.table().rows, strict=True):
            for name in LAYOUT.columns:
                np.testing.assert_array_equal(mine.values[name], theirs.values[name])
        file.merge()
    assert not file.journal.exists()
    assert steps_of(file, 5) == []
    assert list(file.verify().values()) == [[]]


def test_the_file_does_not_depend_on_the_order_of_writing_or_on_merges(file, tmp_path):
    fill(file, (0, 2, 4))
    file.merge()
    other = RowFile(tmp_path / "other.h5", shared=True)
    fill(other, (0, 2), (0, 11))
    fill(other, (0,), (3,))
    other.merge()
    fill(other, (2, 4, 6), (3,))  # beyond the checkpoint that the member goes on from
    other.drop_after(3, 2)
    other.merge()
    fill(other, (4,), (11, 3, 0))
    other.merge()
    assert other.path.read_bytes() == file.path.read_bytes()


@pytest.mark.parametrize("merged", [False, True])
def test_rows_of_one_member_are_dropped_after_a_step(file, merged):
    fill(file, (0, 2, 4))
    if merged:
        file.merge()
    file.drop_after(0, 2)
    assert [steps_of(file, number) for number in (0, 3, 11)] == [[0, 2], [0, 2, 4], [0, 2, 4]]
    file.append(0, row(0, 3), LAYOUT)
    file.drop_after(11, -1)
    for _ in range(2):
        assert [steps_of(file, number) for number in (0, 3, 11)] == [[0, 2, 3], [0, 2, 4], []]
        file.merge()


def test_a_kill_between_the_new_file_and_the_end_of_the_journal_doubles_nothing(file):
    fill(file, (0, 2))
    file.merge()
    file.drop_after(3, 0)
    fill(file, (3, 4), (3, 0))
    lines = file.journal.read_bytes()
    file.merge()
    whole = file.path.read_bytes()
    file.journal.write_bytes(lines)
    again = RowFile(file.path, shared=True)
    assert [steps_of(again, number) for number in (3, 0)] == [[0, 3, 4], [0, 2, 3, 4]]
    again.merge()
    assert again.path.read_bytes() == whole


def test_a_row_that_a_kill_cut_short_is_left_out_and_spoils_no_other(file):
    fill(file, (0, 2))
    with file.journal.open("ab") as journal:
        journal.write(b'0badc0de 3 {"layout": "')
    again = RowFile(file.path, shared=True)
    assert steps_of(again, 3) == [0, 2]
    assert again.verify() == {file.journal: []}
    again.drop_after(3, 0)
    again.append(3, row(3, 4), LAYOUT)
    assert steps_of(again, 3) == [0, 4]


def test_damage_is_found(file):
    fill(file, (0, 2))
    text = file.journal.read_text()
    file.journal.write_text(text.replace('"step": 2', '"step": 1', 1))
    assert file.verify() == {file.journal: ["line 5: its checksum does not match"]}
    assert steps_of(file, 3) == [0]
    file.journal.write_text(text)
    file.merge()
    content = bytearray(file.path.read_bytes())
    content[len(content) // 2] ^= 1
    file.path.write_bytes(content)
    assert file.verify()[file.path][0].endswith("its checksum does not match")


def test_a_journal_is_merged_when_it_has_grown(file, monkeypatch):
    monkeypatch.setattr(row_file, "SMALL_SHARED", 1000)
    fill(file, range(40))
    assert file.path.exists()
    assert file.journal.stat().st_size < max(1500, file.path.stat().st_size)
    assert steps_of(file, 11) == list(range(40))


def test_members_of_other_axes_have_a_group_of_their_own(file):
    fill(file, (0, 2), (0, 1))
    fill(file, (0, 1), (2,), OTHER)
    for _ in range(2):
        assert RowsInFile(file, 2).layout().shape("spectrum") == (2,)
        assert RowsInFile(file, 1).layout().shape("spectrum") == (3,)
        assert steps_of(file, 2) == [0, 1]
        file.merge()


def index(ensemble):
    return {pack.folder.name: pack.numbers for pack in packs_in(ensemble)}


def test_packs_hold_some_hundred_members_and_are_found_again(tmp_path):
    first = packs_for(tmp_path, range(300))
    assert index(tmp_path) == {"members-0000-0255": [*range(256)], "members-0256-0299": [*range(256, 300)]}
    assert first[7] is first[255]
    fill(first[7].file("spectra"), (0,), (7,))
    again = packs_for(tmp_path, range(300))
    assert steps_of(again[7].file("spectra"), 7) == [0]
    assert len(packs_in(tmp_path)) == 2


def test_a_status_stays_with_its_member_in_another_pack(tmp_path):
    lock = PackLock(packs_for(tmp_path, range(4))[2], {})
    lock.member(tmp_path / "member-0002").update_status(state="blown up", message="too, large", step=7)
    packs_for(tmp_path, (2, 3))
    lock.release()
    status = RunDirectory(tmp_path / "member-0002").read_holder()
    assert (status["state"], status["message"], status["step"]) == ("blown up", "too, large", 7)
    assert RunDirectory(tmp_path / "member-0003").read_holder() == {}


def test_members_that_are_shared_out_in_another_way_take_their_rows_along(tmp_path):
    packs = packs_for(tmp_path, (0, 1, 2, 3))
    fill(packs[0].file("spectra"), (0, 2), (0, 1, 2, 3))
    (packs[0].folder / "statistics").mkdir()
    fill(packs[0].file("spectra", "statistics"), (0,), (1,))
    packs[0].log.write_text(
        "2026-01-01 00:00:00,000 I member-0002: a\n2026-01-01 00:00:01,000 I member-0003: b\n"
        "2026-01-01 00:00:02,000 W member-0002: c\n"
    )
    one = packs_for(tmp_path, (0, 1))
    assert index(tmp_path).keys() == {"members-0000-0003", "members-0000-0001"}, "others are in the old one"
    two = packs_for(tmp_path, (2, 3))
    assert index(tmp_path) == {"members-0000-0001": [0, 1], "members-0002-0003": [2, 3]}
    assert [steps_of(packs[n].file("spectra"), n) for packs, n in ((one, 0), (one, 1), (two, 2), (two, 3))] == [
        [0, 2]
    ] * 4
    assert steps_of(one[0].file("spectra"), 2) == []
    assert steps_of(one[0].file("spectra", "statistics"), 1) == [0]
    lines = two[2].log.read_text().splitlines()
    assert [line[-4:] for line in lines] == ["2: a", "3: b", "2: c"]
    more = packs_for(tmp_path, range(5))
    assert index(tmp_path) == {"members-0000-0004": [*range(5)]}
    assert steps_of(more[3].file("spectra"), 3) == [0, 2]
    assert isinstance(more[4], Pack)
