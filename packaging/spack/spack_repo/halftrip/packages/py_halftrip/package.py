from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import *


class PyHalftrip(PythonPackage):
    """How fast two processes talk, how far each number can be trusted, and why the curve bends."""

    pypi = "halftrip/halftrip-1.0.0.tar.gz"

    license("Apache-2.0")

    version("1.0.0")

    variant("mpi", default=True, description="Measure the MPI of this Spack, by mpi4py too")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("python@3.11:", type=("build", "link", "run"))
    depends_on("py-scikit-build-core@0.11.5:", type="build")
    depends_on("py-nanobind@2.13:", type="build")

    depends_on("py-click@8.1.8:", type=("build", "run"))
    depends_on("py-cryptography@43:", type=("build", "run"))
    depends_on("py-msgspec@0.20:", type=("build", "run"))
    depends_on("py-numpy@1.26:", type=("build", "run"))
    depends_on("py-psutil@6.0:", type=("build", "run"))
    depends_on("py-rich@13.9.4:", type=("build", "run"))
    depends_on("py-mpi4py@4.1:", type=("build", "run"), when="+mpi")
    depends_on("mpi", type="run", when="+mpi")

    conflicts("%gcc@:10", msg="halftrip is written in C++20")
