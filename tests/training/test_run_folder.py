import os

import pytest

from keras_bert.training.run_folder import RunError, read_json, run_folder


def prepare(directory):
    with open(os.path.join(directory, "data"), "w", encoding="utf-8") as file:
        file.write("whole")


@pytest.mark.parametrize("exists", [False, True])
def test_one_process_at_a_time(tmp_path, exists):
    out = str(tmp_path / "run")
    if exists:
        with run_folder(out, {"a": 1}, prepare):
            pass

    def intrude(directory):
        with pytest.raises(RunError, match="Another process is working"), run_folder(out, {"a": 1}, prepare):
            pass
        prepare(directory)

    with run_folder(out, {"a": 1}, intrude), pytest.raises(RunError, match="Another process"), run_folder(out, {"a": 1}, prepare):
        pass
    with run_folder(out, {"a": 1}, prepare):  # the first one has ended
        assert sorted(os.listdir(out)) == ["config.json", "data"]
    assert os.listdir(tmp_path) == ["run"]


def test_another_configuration_is_refused_with_what_differs(tmp_path):
    out = str(tmp_path / "run")
    with run_folder(out, {"a": 1, "b": 2}, prepare):
        pass
    with pytest.raises(RunError, match="a=1 there and 3 here. Use"), run_folder(out, {"a": 3, "b": 2}, prepare):
        pass
    assert read_json(out, "config.json") == {"a": 1, "b": 2}


def test_a_failed_preparation_leaves_nothing_and_a_killed_one_is_swept_away(tmp_path):
    out = tmp_path / "run"

    def fail(directory):
        prepare(directory)
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"), run_folder(str(out), {}, fail):
        pass
    assert os.listdir(tmp_path) == []
    (tmp_path / "run.partial" / "tokens").mkdir(parents=True)
    (tmp_path / "run.partial" / "half").write_text("written")
    with run_folder(str(out), {}, prepare):
        assert sorted(os.listdir(out)) == ["config.json", "data"]
    assert os.listdir(tmp_path) == ["run"]
