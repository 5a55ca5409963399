"""Dynamic parameters of an arm that measures torque (or current) and position: ``picker identify``, docs/identification.md."""
