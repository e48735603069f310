"""Recipes, job examples and forms: each is read by what reads its format, has the version and the
dependencies of pyproject.toml, and has only commands that there are. Nothing is built here."""

import ast
import re
import shlex
import subprocess
import tomllib

import pytest
import yaml

from halftrip.cli import command_line
from harness.files import ROOT

PACKAGING = ROOT / "packaging"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
JOBS = sorted((PACKAGING / "jobs").iterdir())
YAML = [*ROOT.glob(".github/*/*.yml"), *PACKAGING.rglob("*.yaml"), ROOT / "CITATION.cff"]


def least(requirement):
    """The name of what is needed, and the least version of it."""
    return tuple(re.fullmatch(r"([\w-]+)>=([\d.]+)", requirement).groups())


NEEDED = [least(each) for each in PROJECT["dependencies"]]


def documents(path):
    return list(yaml.safe_load_all(path.read_text()))


@pytest.mark.parametrize("path", YAML, ids=lambda path: path.name)
def test_it_is_yaml_of_mappings(path):
    for each in documents(path):
        assert isinstance(each, dict)
        assert each


def spack():
    """The version, and what is needed, as ``name@version:``, of the recipe for Spack."""
    (recipe,) = (PACKAGING / "spack").rglob("package.py")
    calls = [each for each in ast.walk(ast.parse(recipe.read_text())) if isinstance(each, ast.Call)]
    said = [(each.func.id, each.args[0].value) for each in calls if each.args]
    needs = dict(
        re.fullmatch(r"py-([\w-]+)@([\d.]+):", value).groups()
        for name, value in said
        if name == "depends_on" and value.startswith("py-")
    )
    return dict(said)["version"], needs


def easybuild():
    (recipe,) = (PACKAGING / "easybuild").iterdir()
    said = {}
    code = compile(recipe.read_text(), recipe, "exec")
    exec(code, {"SOURCE_PY3_WHL": "%(name)s.whl"}, said)  # as EasyBuild does
    assert recipe.name == f"halftrip-{said['version']}-foss-{said['toolchain']['version']}.eb"
    return said["version"], None


def conda():
    (recipe,) = documents(PACKAGING / "conda" / "recipe.yaml")
    said = [*recipe["requirements"]["run"], *recipe["requirements"]["host"]]
    return recipe["context"]["version"], dict(each.split(" >=") for each in said if " >=" in each)


def citation():
    (said,) = documents(ROOT / "CITATION.cff")
    return str(said["version"]), None


@pytest.mark.parametrize("recipe", [spack, easybuild, conda, citation])
def test_a_recipe_has_the_version_and_what_is_needed(recipe):
    version, needs = recipe()
    assert version == PROJECT["version"]
    if needs is not None:
        assert set(NEEDED) <= set(needs.items())
        build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
        assert {least(each) for each in build} <= set(needs.items())


def test_base_images_have_versions():
    images = re.findall(
        r"^(?:FROM|From:) (\S+)",
        "".join((PACKAGING / name).read_text() for name in ("Dockerfile", "halftrip.def")),
        re.MULTILINE,
    )
    assert len(images) == 3
    assert {re.fullmatch(r"debian:\d+\.\d+-slim", image) is not None for image in images} == {True}


def job_script(path):
    if path.suffix != ".yaml":
        return path.read_text()
    _, job = documents(path)
    (container,) = job["spec"]["template"]["spec"]["containers"]
    return container["args"][0]


@pytest.mark.parametrize("path", JOBS, ids=lambda path: path.name)
def test_a_job_is_a_script_of_commands_that_there_are(path):
    script = job_script(path)
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)
    lines = [line for line in script.splitlines() if not line.startswith("#")]
    found = re.findall(r"\bhalftrip (run|serve) ([^#;\n]*)", "\n".join(lines))
    assert found
    for name, words in found:
        command = command_line(name).get_command(None, name)
        command.make_context(name, shlex.split(words))


def test_copied_files_of_images_are_there():
    """What is left out of the context of a build is not missed in it."""
    definition = (PACKAGING / "halftrip.def").read_text()
    section = definition.partition("%files\n")[2].partition("\n\n")[0]
    taken = {word for line in section.splitlines() for word in line.split() if word[0] != "/"}
    ignored = (PACKAGING / "Dockerfile.dockerignore").read_text()
    assert taken == set(re.findall(r"^!(\S+)", ignored, re.MULTILINE))
    assert all((ROOT / each).exists() for each in taken)
