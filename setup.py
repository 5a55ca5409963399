"""Package data for colcon (ament_python) and pip.  Tool settings: pyproject.toml; pins: constraints/."""

from pathlib import Path

from setuptools import find_packages, setup

NAME = "picker_dynamics"


def share(*folders):
    """(destination, files) for every folder below ``folders``, as data_files wants them."""
    files = [
        path
        for folder in folders
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    ]
    return [
        (f"share/{NAME}/{parent}", [str(path) for path in files if path.parent == parent])
        for parent in sorted({path.parent for path in files})
    ]


setup(
    name=NAME,
    version="0.1.0",
    description="Control of cheap servo arms: dynamics, compensation, trajectories, hardware and ROS 2 nodes",
    long_description=Path(__file__).with_name("README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    classifiers=[
        "Intended Audience :: Developers",
        "Intended Audience :: Education",
        "Operating System :: POSIX :: Linux",
        *(f"Programming Language :: Python :: 3.{minor}" for minor in range(10, 14)),
        "Topic :: Scientific/Engineering",
        "Typing :: Typed",
    ],
    maintainer="picker_dynamics maintainers",
    maintainer_email="maintainers@picker-dynamics.example.org",
    python_requires=">=3.10",
    package_dir={"": "."},
    packages=find_packages(include=[NAME, f"{NAME}.*"]),
    package_data={NAME: ["py.typed"], f"{NAME}.scripting.view": ["page/*"]},  # the page: built by tools/make_web.py
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
        *share("urdf", "config", "launch", "rviz", "firmware"),
    ],
    zip_safe=True,
    install_requires=["numpy>=1.26", "PyYAML", "pyserial", "scipy"],
    extras_require={
        # What a ROS 2 machine has from rosdep.
        "ros": [
            "ros-jazzy-rclpy[fastrtps]",
            "ros-jazzy-diagnostic-msgs",
            "ros-jazzy-geometry-msgs",
            "ros-jazzy-sensor-msgs",
            "ros-jazzy-std-srvs",
            "ros-jazzy-trajectory-msgs",
            "ros-jazzy-visualization-msgs",
            "pin>=3",
        ],
        # A simulated arm without ROS. A ROS 2 machine has Pinocchio from rosdep; rosdep has no MuJoCo for Ubuntu 24.04.
        "sim": ["mujoco>=3.17", "pin>=3"],
        "mujoco": ["mujoco>=3.17"],
        "peer": ["urchin"],
        # What `picker demo` and `picker study` show their results with.
        "demo": ["matplotlib", "pillow", "rich"],
        # `picker record` and `picker plot`.
        "record": ["lz4", "matplotlib", "mcap", "rosbags", "zstandard"],
        # What a camera sees of an arm, and the sheet that it looks at.  Debian's OpenCV (4.6) has no ArucoDetector.
        "camera": ["matplotlib", "opencv-python-headless>=4.7"],
        # colcon runs no test at all unless an extra of this name asks for pytest.
        "test": [
            "pytest>=7.4",
            "pytest-timeout",
            "pytest-xdist",
            "colcon-common-extensions",
            "example-robot-data",  # arms that nobody here wrote
            "hypothesis",
            "import-linter",
            "playwright",  # drives the Chromium that make test installs; brings no browser
        ],
        "docs": ["latex2mathml", "mkdocs-material>=9.6"],  # make docs
        "lint": ["mypy", "ruff", "types-PyYAML"],
    },
    entry_points={
        "console_scripts": [
            "picker = picker_dynamics.__main__:main",
            "arm = picker_dynamics.nodes.executables:arm",
            "dynamics = picker_dynamics.nodes.executables:dynamics",
            "hardware = picker_dynamics.nodes.executables:hardware",
            "markers = picker_dynamics.nodes.executables:markers",
            "virtual_board = picker_dynamics.nodes.executables:virtual_board",
        ]
    },
)
