import re
from pathlib import Path

root = Path(__file__).resolve().parent.parent

project = "pmx"
author = "the pmx contributors"
version = re.search(r"version: '([^']+)'", (root / "meson.build").read_text())[1]
release = version

extensions = []
exclude_patterns = ["examples", "man"]
highlight_language = "none"
nitpicky = True

html_theme = "alabaster"
html_theme_options = {"description": "UDP request/reply traffic matrix"}
html_show_sphinx = False
html_copy_source = False
