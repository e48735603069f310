"""Packages of others, as an installer leaves them: modules, and entry points that name them."""


def install(directory, group, modules):
    """Puts a package into a directory: `modules` has the code and the class of each entry point,
    by its name (code None: there is no such module). The environment in which it is found."""
    names = {name: f"example_{name}:{kind}" for name, (_, kind) in modules.items()}
    code = {f"example_{name}": code for name, (code, _) in modules.items() if code is not None}
    return install_package(directory, code, {group: names})


def install_package(directory, modules, groups):
    """The same of a package with this code of each module, and these entry points of each group."""
    for name, code in modules.items():
        (directory / f"{name}.py").write_text(code)
    information = directory / "example-1.0.dist-info"
    information.mkdir()
    metadata = "Metadata-Version: 2.1\nName: example\nVersion: 1.0\n"
    (information / "METADATA").write_text(metadata)
    lines = []
    for group, entries in groups.items():
        lines += [f"[{group}]", *(f"{name} = {target}" for name, target in entries.items())]
    (information / "entry_points.txt").write_text("\n".join([*lines, ""]))
    return {"PYTHONPATH": str(directory)}
