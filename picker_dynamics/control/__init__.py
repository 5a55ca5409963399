"""Control between a reference and what the joints are told: servo set-points that make up for the servo's compliance, torques of
control laws, and the models of both.  Imports ``robot``, with models by its interface, and ``trajectory``.
"""

__all__ = ["compensation", "contact", "laws", "payload_change", "rest_integral", "state_model", "supply_follow", "torque_loop"]
