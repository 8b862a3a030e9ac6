"""kubernetes/jobset.yaml against JobSet's published schema, its own names, and the command line that it calls."""

import gzip
import hashlib
import re
import shlex
import tomllib
from pathlib import Path

import jsonschema
import pytest
import yaml

from solver.assemble import parse_run_file
from solver.cli.arguments import parse_arguments
from solver.cluster import find_launch

ROOT = Path(__file__).parents[2]
SCHEMA = Path(__file__).parent / "jobset-v0.12.0-crd.yaml.gz"
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@pytest.fixture(scope="module")
def objects():
    documents = yaml.safe_load_all((ROOT / "kubernetes" / "jobset.yaml").read_text(encoding="utf-8"))
    return {document["kind"]: document for document in documents}


@pytest.fixture(scope="module")
def schema():
    text = gzip.decompress(SCHEMA.read_bytes())
    assert hashlib.sha256(text).hexdigest() in (SCHEMA.parent / "README.md").read_text()
    versions = yaml.load(text, LOADER)["spec"]["versions"]
    return strict(next(v for v in versions if v["name"] == "v1alpha2")["schema"]["openAPIV3Schema"])


def strict(schema):
    """Unknown keys are refused, as `kubectl apply --validate=strict` does; the schema itself lets them be dropped."""
    if isinstance(schema, list):
        return [strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: strict(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and "additionalProperties" not in schema:
        made["additionalProperties"] = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    if schema.get("x-kubernetes-int-or-string"):
        made.pop("type", None)
    return made


def body(jobset):
    """What the schema describes; metadata are the same for every kind of object."""
    return {key: value for key, value in jobset.items() if key != "metadata"}


def test_the_jobset_keeps_the_schema(objects, schema):
    jsonschema.Draft7Validator(schema).validate(body(objects["JobSet"]))


@pytest.mark.parametrize(
    ("old", "new"),
    [("onExitCodes", "onExitCode"), ("FailJobSet", "FailAll"), ("backoffLimit: 0", "backoffLimit: none"),
     ("containerPort", "port"), ("maxRestarts", "restarts")],
)  # fmt: skip
def test_the_schema_refuses_mistakes(schema, old, new):
    text = (ROOT / "kubernetes" / "jobset.yaml").read_text(encoding="utf-8")
    assert old in text
    jobset = next(d for d in yaml.safe_load_all(text.replace(old, new)) if d["kind"] == "JobSet")
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft7Validator(schema).validate(body(jobset))


def pod(jobset):
    job = jobset["spec"]["replicatedJobs"][0]["template"]["spec"]
    return job, job["template"]["spec"], job["template"]["spec"]["containers"][0]


def variables(container):
    return {entry["name"]: entry["value"] for entry in container["env"]}


def command(container, index):
    """The words that pod `index` runs."""
    assert container["command"][-1] == "-c"
    text = container["args"][0].replace("\\\n", " ")
    for name, value in {**variables(container), "JOB_COMPLETION_INDEX": str(index)}.items():
        text = text.replace(f"${name}", value)
    return shlex.split(text)


def test_numbers_of_pods_agree(objects):
    job, _, container = pod(objects["JobSet"])
    assert job["completionMode"] == "Indexed"
    assert job["parallelism"] == job["completions"] == int(variables(container)["PROCESSES"])


def test_pods_meet_at_the_name_that_jobset_gives_pod_0(objects):
    jobset = objects["JobSet"]
    _, _, container = pod(jobset)
    host, port = variables(container)["COORDINATOR"].split(":")
    network, replicated = jobset["spec"]["network"], jobset["spec"]["replicatedJobs"][0]
    assert network["enableDNSHostnames"]
    assert host == f"{jobset['metadata']['name']}-{replicated['name']}-0-0.{network['subdomain']}"
    assert int(port) in [port_entry["containerPort"] for port_entry in container["ports"]]
    assert replicated["replicas"] == 1


def test_every_pod_joins_as_its_own_index(objects):
    job, _, container = pod(objects["JobSet"])
    for index in range(job["completions"]):
        exec_, name, *words = command(container, index)
        assert (exec_, name) == ("exec", "slabwave"), "SIGTERM must reach the program"
        options = parse_arguments(words)
        assert options.command == "run"
        assert options.resume, "a restarted pod continues"
        environment = {"JOB_COMPLETION_INDEX": str(index)}
        launch = find_launch(environment, options.coordinator, options.processes, options.process)
        assert (launch.processes, launch.process) == (job["completions"], index)


def test_volumes_and_the_run_file(objects, tmp_path):
    _, spec, container = pod(objects["JobSet"])
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    places = {mount["mountPath"]: volumes[mount["name"]] for mount in container["volumeMounts"]}
    assert len(places) == len(volumes)
    claim = objects["PersistentVolumeClaim"]
    assert places["/output"]["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"], "pods on several nodes write"
    run_file = command(container, 0)[3]
    folder, _, name = run_file.rpartition("/")
    assert places[folder]["configMap"]["name"] == objects["ConfigMap"]["metadata"]["name"]
    text = objects["ConfigMap"]["data"][name]
    (tmp_path / "run.toml").write_text(text, encoding="utf-8")
    parse_run_file(tmp_path / "run.toml")
    assert tomllib.loads(text)["output"]["directory"].startswith("/output/"), "what is written must outlive the pod"


def test_stopped_runs_are_restarted_and_refused_ones_are_not(objects):
    jobset = objects["JobSet"]
    job, spec, container = pod(jobset)
    assert spec["restartPolicy"] == "Never", "podFailurePolicy demands it"
    assert job["backoffLimit"] == 0, "one pod alone must not be replaced"
    (rule,) = job["podFailurePolicy"]["rules"]
    assert (rule["action"], rule["onExitCodes"]["operator"]) == ("FailJob", "In")
    assert rule["onExitCodes"]["values"] == [2, 3], "75 and crashes are restarted"
    assert rule["onExitCodes"]["containerName"] == container["name"]
    policy = jobset["spec"]["failurePolicy"]
    assert policy["maxRestarts"] > 0
    (refused,) = policy["rules"]
    assert (refused["action"], refused["onJobFailureReasons"]) == ("FailJobSet", ["PodFailurePolicy"])
    assert re.fullmatch(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?", refused["name"])
