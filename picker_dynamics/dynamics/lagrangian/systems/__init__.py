"""The systems of the reference notes, one file each, in closed form."""
