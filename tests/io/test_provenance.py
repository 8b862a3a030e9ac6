"""provenance.json says where a run ran, and holds no credential."""

import json

import jax

from solver.io import record_provenance


def test_of_slurm_only_named_variables_are_kept(tmp_path, monkeypatch):
    path = tmp_path / "provenance.json"
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_JWT", "a secret")
    record_provenance(path, jax.devices())
    first = json.loads(path.read_text())
    first["environment"]["SLURM_JWT"] = "a secret"  # as an earlier version wrote it
    path.write_text(json.dumps(first))
    record_provenance(path, jax.devices())
    text = path.read_text()
    assert "a secret" not in text
    now = json.loads(text)
    assert now["environment"]["SLURM_JOB_ID"] == now["earlier"][0]["environment"]["SLURM_JOB_ID"] == "7"
