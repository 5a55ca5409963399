"""``picker identify run`` on the running rrp arm: the motion is made, and what is measured obeys the equations."""

import json

import numpy as np
import pytest
from arm_fixtures import shipped_arm
from ros_graph import own_domain, running_nodes

from picker_dynamics.bringup import bringup
from picker_dynamics.commands import cli
from picker_dynamics.errors import InputError
from picker_dynamics.estimation.identification import excitation, procedure
from picker_dynamics.estimation.identification.columns import Columns
from picker_dynamics.estimation.identification.samples import read_samples

pytestmark = [pytest.mark.ros, pytest.mark.long]

RRP = shipped_arm("rrp")


def motion_of(period_s: float) -> excitation.Fourier:
    """A small swing about the home pose that the tip-speed limit lets pass."""
    free = np.zeros((2, 4, 3))
    free[0, 0], free[1, 1] = [0.15, 0.06, 0.08], [-0.1, 0.05, 0.05]
    return excitation.Fourier(RRP.home, free, period_s)


def test_it_moves_the_arm_and_keeps_what_it_measures(tmp_path, capsys):
    motion, path, out = motion_of(4.0), tmp_path / "motion.json", tmp_path / "samples.csv"
    path.write_text(excitation.text(motion, 1.0, "rrp", RRP.description))
    made, log = bringup.graph(bringup.Options(arm="rrp")), tmp_path / "nodes.log"
    with own_domain(), running_nodes(made, log, RRP.description.joint_names) as running:
        running.client.wait_holding()
        code = cli.main(["identify", "run", str(path), "-o", str(out)])
        said = capsys.readouterr()
        wrong = tmp_path / "wrong.json"
        wrong.write_text(json.dumps(json.loads(path.read_text()) | {"arm": "three_link"}))
        refused = cli.main(["identify", "run", str(wrong), "-o", str(tmp_path / "no.csv")])
        assert refused == InputError.exit_code
        assert "for the arm three_link, and rrp runs" in capsys.readouterr().err
    assert code == 0, said.err
    samples = read_samples(out, RRP.description)
    assert samples.t[-1] > 4.5 and not (tmp_path / "no.csv").exists()
    np.testing.assert_allclose(samples.q[[0, -1]], np.tile(motion.sample([0.0])[0], (2, 1)), atol=5e-3)
    span = np.ptp(motion.sample(np.linspace(0.0, 4.0, 200))[0], axis=0)
    np.testing.assert_allclose(np.ptp(samples.q, axis=0), span, rtol=0.1)
    columns = Columns(RRP.description)
    # This simulated arm is as its URDF says, so what is left are the delays of a busy machine: 0.03 to 0.07 seen.
    assert procedure.predict(columns, columns.believed(), samples).overall < 0.15
