"""Pages out of templates: the frame, the styles and the scripts that all reports share."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import jinja2
from markupsafe import Markup

from reports import embed
from reports import format as fmt
from reports.figure import Figure


@cache
def environment() -> jinja2.Environment:
    """Templates of this package; everything they print is escaped."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("reports", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["fmt"] = fmt
    return environment


def page(
    template: str,
    figures: Iterable[Figure] = (),
    *,
    more_styles: Iterable[str] = (),
    more_scripts: Iterable[str] = (),
    **values: Any,
) -> str:
    """A whole page, with the data of its figures and the scripts that draw them. No request leaves it.

    `more_styles`, `more_scripts`: files of `static/` that this page needs beside those that all pages have.
    """
    figures = list(figures)
    scripts = [embed.vega(), embed.static("page.js")] if figures else [embed.static("page.js")]
    scripts += [embed.static(name) for name in more_scripts]
    return (
        environment()
        .get_template(template)
        .render(
            styles=Markup("\n".join(embed.static(name) for name in ("page.css", *more_styles))),
            scripts=[Markup(script) for script in scripts],
            policy=embed.policy(scripts),
            figure_data=[(figure.name, Markup(embed.figure(figure))) for figure in figures],
            **values,
        )
    )
