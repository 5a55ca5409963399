"""Control laws for joints that take torques, as pure functions of (model, state, reference).

    law = ComputedTorque(model, Kp=100.0, Kd=20.0)
    tau, rate = law(q, v, Reference(q_d, v_d, a_d), state)        first: law.initial_state(q, v, reference)

    FeedForward         inverse dynamics of the reference, no feedback
    ComputedTorque      inverse dynamics + PD
    PdGravity           PD + weight
    Pid                 PID per joint, no model
    Robust              inverse dynamics + PD + a bounded, smooth min-max term
    Adaptive            Slotine-Li, learns the mass of the load

Each file has its law's equation, what it guarantees, and where that comes from.  Any ``DynamicsModel`` will do; all
arrays are (..., n).
"""

from __future__ import annotations

from .adaptive import Adaptive
from .computed_torque import ComputedTorque
from .feed_forward import FeedForward
from .law import NO_STATE, ControlLaw, Reference
from .pd_gravity import PdGravity
from .pid import Pid
from .robust import Robust, model_error

__all__ = [
    "NO_STATE",
    "Adaptive",
    "ComputedTorque",
    "ControlLaw",
    "FeedForward",
    "PdGravity",
    "Pid",
    "Reference",
    "Robust",
    "model_error",
]
