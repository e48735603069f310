"""Packages of others, as an installer leaves them: modules, and entry points that name them."""


def install(directory, group, modules):
    """Puts a package into a directory: `modules` has the code and the class of each entry point,
    by its name (code None: there is no such module). The environment in which it is found."""
    lines = [f"[{group}]"]
    for name, (code, kind) in modules.items():
        lines.append(f"{name} = example_{name}:{kind}")
        if code is not None:
            (directory / f"example_{name}.py").write_text(code)
    information = directory / "example-1.0.dist-info"
    information.mkdir()
    metadata = "Metadata-Version: 2.1\nName: example\nVersion: 1.0\n"
    (information / "METADATA").write_text(metadata)
    (information / "entry_points.txt").write_text("\n".join([*lines, ""]))
    return {"PYTHONPATH": str(directory)}
