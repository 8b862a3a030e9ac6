"""Run by the Python of .well/: The Well's checker, loader and statistics on a data set; prints what they found.

Arguments: The Well's folder of scripts, the folder of a data set, and where its script writes the statistics.
"""

import json
import sys
import warnings
from pathlib import Path

scripts, data_set, stats = sys.argv[1:]
sys.path.insert(0, scripts)
warnings.simplefilter("error")  # the checker warns of names that do not say what they are

import numpy as np  # noqa: E402
from check_thewell_formatting import check_hdf5_format  # noqa: E402
from compute_statistics import compute_statistics  # noqa: E402
from the_well.data import WellDataset  # noqa: E402
from the_well.data.normalization import ZScoreNormalization  # noqa: E402

for path in sorted(Path(data_set).rglob("*.hdf5")):
    check_hdf5_format(str(path))  # raises AssertionError
compute_statistics(f"{data_set}/data/train", stats)

found = {}
for part in ("train", "valid", "test"):
    plain = WellDataset(path=data_set, well_split_name=part, n_steps_input=2, n_steps_output=1)
    normal = WellDataset(
        path=data_set, well_split_name=part, use_normalization=True, normalization_type=ZScoreNormalization
    )
    samples = [plain[i] for i in range(len(plain))]
    whole = np.concatenate([normal[i]["input_fields"].reshape(-1, 3).numpy() for i in range(len(normal))])
    found[part] = {
        "samples": len(plain),
        "shapes": {name: list(value.shape) for name, value in samples[0].items()},
        "fields": plain.metadata.field_names,
        "scalars": plain.metadata.constant_scalar_names,
        "boundaries": samples[0]["boundary_conditions"].tolist(),
        "viscosities": sorted(
            {float(s["constant_scalars"][plain.metadata.constant_scalar_names.index("viscosity")]) for s in samples}
        ),
        "first": samples[0]["input_fields"][0, 5, 7].tolist(),
        "deviations": whole.std(0).tolist(),
    }
print(json.dumps(found))
