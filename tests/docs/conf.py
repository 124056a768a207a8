# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of Sphinx for the documentation site; make_site.py writes the pages that it reads."""

from __future__ import annotations

from pathlib import Path

import yaml
from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

HERE = Path(__file__).resolve().parent
GALAXY = yaml.safe_load((HERE.parents[1] / "galaxy.yml").read_text("utf-8"))

project = f"{GALAXY['namespace']}.{GALAXY['name']}"
author = GALAXY["authors"][0]
copyright = f"2026 {author}"
version = release = GALAXY["version"]
extensions = ["myst_parser", "sphinx_antsibull_ext", "sphinx_copybutton"]
# required by the output of antsibull-docs
default_role = "any"
highlight_language = "none"
# headings can be linked to as on a forge
myst_heading_anchors = 6

html_theme = "furo"
html_title = f"{project} {version}"
html_static_path = [str(HERE / "static")]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
templates_path = [str(HERE / "templates")]
html_search_scorer = str(HERE / "scorer.js")
html_copy_source = False
html_use_index = False
# The colours of the reference of plugins and roles, light and dark.
COLOURS = {
    "table-border": ("var(--color-background-border)",) * 2,
    "narrowtable-background": ("var(--color-background-secondary)",) * 2,
    "option-type": ("#7a1fa2", "#ff93ff"),
    "option-elements": ("#7a1fa2", "#ff93ff"),
    "option-required": ("#b3261e", "#ff8282"),
    "option-version-added": ("#1b5e20", "#71d471"),
    "option-aliases": ("#1b5e20", "#71d471"),
    "option-default": ("#0d47a1", "#adadff"),
    "option-sample": ("#0d47a1", "#adadff"),
    "attribute-support-none": ("#b3261e", "#ff8282"),
    "attribute-support-partial": ("#7a5900", "#b6b600"),
    "attribute-support-full": ("#1b5e20", "#71d471"),
}
antsibull_ext_color_scheme = "none"
html_theme_options = {
    "top_of_page_buttons": [],
    "light_css_variables": {f"antsibull-{name}": light for name, (light, _dark) in COLOURS.items()},
    "dark_css_variables": {f"antsibull-{name}": dark for name, (_light, dark) in COLOURS.items()},
}

# Pages of Ansible's own documentation that antsibull-docs links to.
ANSIBLE = "https://docs.ansible.com/ansible/latest/"
PAGES = {
    "action_plugins": "plugins/action.html",
    "ansible_configuration_settings": "reference_appendices/config.html",
    "callback_plugins": "plugins/callback.html",
    "common_return_values": "reference_appendices/common_return_values.html",
}


def of_ansible(app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.TextElement) -> nodes.Node | None:
    """Return a reference to one of PAGES; None for any other target, which is an error."""
    page = PAGES.get(node["reftarget"])
    return nodes.reference("", "", content, internal=False, refuri=ANSIBLE + page) if page else None


def setup(app: Sphinx) -> None:
    app.connect("missing-reference", of_ansible)
