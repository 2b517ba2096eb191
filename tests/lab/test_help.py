"""Help, manual page and completion are the tables: nothing of them is missing, and bash completes."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from harness import AGENT, BUILD, ROOT, pmx

MAN = BUILD / "doc/man"


def table():
    """[verb names], [(option, letter, variable)] and [other variables], out of the source: what the
    program prints is not asked."""
    cmd = (ROOT / "app/pmx/cmd.c").read_text()
    rows = (ROOT / "app/pmx/opt.c").read_text().split("opt_table[]")[1].split("\n};")[0]
    verbs = re.findall(r"\.id = VERB_\w+,\s+\.name = \"(\w+)\"", cmd)
    options = re.findall(r'^\t\{ "([\w-]+)", (0|\'.\'), (?:NULL|"[^"]*"), (?:NULL|"(\w+)")', rows, re.M)
    assert len(options) == len(re.findall(r"^\t\{ ", rows, re.M))
    variables = re.findall(r'\.env = "(\w+)"', cmd)
    variables += re.findall(r'\{ "(\w+)", "', (ROOT / "app/pmx/opt_help.c").read_text())
    variables = [name for name in variables if name.isupper()]
    assert len(verbs) > 10 and len(options) > 30 and "PMX_AGENT" in variables
    return verbs, options, variables


def rendered(page):
    done = subprocess.run(["man", "--warnings", "-l", page], capture_output=True, text=True,
                          env={"PATH": "/usr/bin:/bin", "MANWIDTH": "100", "LC_ALL": "C.UTF-8"})
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout


def test_help_and_man_hold_the_tables():
    verbs, options, variables = table()
    for text in (pmx("help").expect(0).out, rendered(MAN / "pmx.1")):
        for verb in verbs:
            assert re.search(rf"\b{verb}\b", text), verb
        for name, letter, env in options:
            assert re.search(rf"--{name}(?![\w-])", text), name
            assert letter == "0" or re.search(rf"-{letter[1]}, --{name}\b", text), name
            assert not env or re.search(rf"\b{env}\b", text), env
        for name in variables:
            assert re.search(rf"\b{name}\b", text), name
    for verb in verbs:
        page = pmx("help", verb).expect(0).out
        assert page == pmx(verb, "--help").expect(0).out
        assert page.startswith(f"Usage: pmx {verb} ")


def test_manual_pages_are_clean():
    rendered(MAN / "pmx-agent.1")
    text = (MAN / "pmx-agent.1").read_text()
    said = subprocess.run([AGENT, "--help"], capture_output=True, text=True, check=True).stdout
    verbs = re.findall(r"^  (\w+) ", said, re.M)
    assert len(verbs) >= 3 and "@" not in text.replace("@(#)", "")
    for verb in verbs:
        assert f".B {verb}\n" in text
    if shutil.which("mandoc"):
        for page in ("pmx.1", "pmx-agent.1"):
            done = subprocess.run(["mandoc", "-Tlint", "-W", "warning", MAN / page],
                                  capture_output=True, text=True)
            assert done.stdout == "", done.stdout


def complete(cwd, *words):
    """COMPREPLY when the last of the words is being typed; broken into words as bash does it."""
    broken = [part for word in words for part in re.split(r"(=)", word) if part or word == ""]
    if words[-1].endswith("="):
        broken = broken if broken[-1] == "=" else broken[:-1]
    script = (f". {MAN}/pmx.bash\n" "COMP_WORDS=(\"$@\")\n" "COMP_CWORD=$(($# - 1))\n"
              "_pmx\n" "printf '%s\\n' \"${COMPREPLY[@]}\"\n")
    done = subprocess.run(["bash", "--norc", "-eu", "-c", script, "bash", "pmx", *broken], cwd=cwd,
                          capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return [word for word in done.stdout.splitlines() if word]


def options_of(verb):
    page = pmx("help", verb).expect(0).out
    return re.findall(r"^  (?:-\w, |    )--([\w-]+)", page, re.M)


def test_completion_of_verbs_and_options(tmp_path):
    verbs, options, _ = table()
    assert set(verbs) <= set(complete(tmp_path, ""))
    assert complete(tmp_path, "rel") == ["reload"]
    assert complete(tmp_path, "st") == ["start", "status", "stop"]
    seen = set()
    for verb in verbs:
        offered = [word[2:] for word in complete(tmp_path, verb, "--")]
        assert sorted(offered) == sorted(options_of(verb)), verb
        seen.update(offered)
    assert seen == {name for name, _, _ in options}
    assert complete(tmp_path, "run", "--al") == ["--allow-partial"]
    assert complete(tmp_path, "status", "--al") == []
    assert complete(tmp_path, "help", "cle") == ["clean"]


def test_completion_of_values_and_files(tmp_path):
    (tmp_path / "rack.yaml").touch()
    (tmp_path / "results").mkdir()
    choices = ["auto", "always", "never"]
    assert complete(tmp_path, "run", "--color", "") == choices
    assert complete(tmp_path, "run", "--color", "a") == choices[:2]
    assert complete(tmp_path, "run", "--color=") == choices
    assert complete(tmp_path, "run", "--color=n") == ["never"]
    assert complete(tmp_path, "run", "ra") == ["rack.yaml"]
    assert complete(tmp_path, "run", "-q", "ra") == ["rack.yaml"]
    # a value is no argument, and a flag takes none
    assert complete(tmp_path, "run", "-j", "3", "ra") == ["rack.yaml"]
    assert complete(tmp_path, "run", "--for", "ra") == []
    assert complete(tmp_path, "run", "rack.yaml", "") == []

    assert sorted(complete(tmp_path, "run", "--json", "r")) == ["rack.yaml", "results"]
    assert complete(tmp_path, "run", "--report", "r") == ["results"]
    assert complete(tmp_path, "profile", "") == ["list", "show"]


def test_completion_registers(tmp_path):
    done = subprocess.run(["bash", "--norc", "-c", f". {MAN}/pmx.bash; complete -p pmx"],
                          capture_output=True, text=True)
    assert done.stdout.strip() == "complete -F _pmx pmx"


@pytest.mark.parametrize("file", ["share/man/man1/pmx.1", "share/man/man1/pmx-agent.1",
                                  "share/bash-completion/completions/pmx.bash"])
def test_installed(file):
    """The build says that it puts them where man and bash look."""
    targets = subprocess.run(["meson", "introspect", "--installed", str(BUILD)],
                             capture_output=True, text=True, check=True).stdout
    assert file in targets, Path(file).name


def test_one_verb_has_one_form():
    assert "pmx help --format man" in pmx("help", "--format", "man", "run").expect(2).err
