import os

import numpy as np
import pytest

from keras_bert.training import checkpoint


def test_arrays_and_values_come_back(tmp_path):
    path = str(tmp_path / "state.safetensors")
    arrays = [np.arange(6, dtype="float32").reshape(2, 3), np.array([1, 2], "uint32"), np.array(7, "int64")]
    checkpoint.save_checkpoint(path, arrays, {"step": 3})
    again, values = checkpoint.load_checkpoint(path)
    assert values == {"step": 3}
    for a, b in zip(arrays, again, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_array_equal(a, b)


def current_umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.parametrize("keep", [0, 5, 90])
def test_a_damaged_checkpoint_is_named(tmp_path, keep):
    path = str(tmp_path / "state.safetensors")
    checkpoint.save_checkpoint(path, [np.zeros(100)], {"step": 3})
    with open(path, "r+b") as file:
        file.truncate(keep)
    with pytest.raises(ValueError, match=r"state\.safetensors is not a whole checkpoint"):
        checkpoint.load_checkpoint(path)


def test_a_failed_write_keeps_the_old_file_and_leaves_no_other(tmp_path, monkeypatch):
    path = str(tmp_path / "file")
    checkpoint.write_atomically(path, b"old")

    def full_disk(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space"):
        checkpoint.write_atomically(path, b"new")
    assert os.listdir(tmp_path) == ["file"]
    assert os.stat(path).st_mode & 0o444 == 0o444 & ~current_umask()
    with open(path, "rb") as file:
        assert file.read() == b"old"
