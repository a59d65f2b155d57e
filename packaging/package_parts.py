"""Lays out what Debian packages need besides programs: documents, changelogs, copyright, pages.

usage: package_parts.py SOURCE MANUAL_FOLDER VERSION MAINTAINER OUTPUT

OUTPUT gets mgw/, mgw-tools/, mgw-doc/ (what goes to /usr/share/doc/PACKAGE), man/ and overrides/
(lintian's). All dates are
that of SOURCE_DATE_EPOCH, if it is set, so that the same source gives the same packages.
"""

import email.utils
import gzip
import os
import pathlib
import shutil
import sys
import time

PACKAGES = ("mgw", "mgw-tools", "mgw-doc")
# Libraries whose headers are compiled into the programs: their licences want their notices along.
COMPILED_IN = {
    "mgw": ("libboost1.74-dev", "libcli11-dev", "libexpected-dev", "libfmt-dev", "libspdlog-dev"),
    "mgw-tools": ("libcli11-dev", "libexpected-dev", "libfmt-dev", "nlohmann-json3-dev"),
    "mgw-doc": (),
}
COPYRIGHT = """mgw is a media gateway: its source, programs and documents are one work.

Copyright (C) 2026 the authors of mgw

License: none has been granted so far. All rights are with the authors: the
packages are for those who have got them, or the source, from the authors.
"""

# lintian's findings that are right, and why they stay.
OVERRIDES = """# The project has no mail address. Who builds the packages for others gives theirs.
{package}: bogus-mail-host *
{package}: bogus-mail-host-in-debian-changelog *
"""


def changelog(version, maintainer):
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
    return (
        f"mgw ({version}) unstable; urgency=medium\n\n"
        "  * The packages are made from the source by cpack; what has changed is in\n"
        "    the history of the source.\n\n"
        f" -- {maintainer}  {email.utils.formatdate(seconds)}\n"
    )


def compressed(text, target):
    target.write_bytes(gzip.compress(text, 9, mtime=0))


def copyright_of(package):
    text = COPYRIGHT
    for library in COMPILED_IN[package]:
        notice = pathlib.Path("/usr/share/doc", library, "copyright")
        text += (
            f"\n\nParts of the headers of {library} are compiled in. Of them its package says:\n\n"
        )
        text += notice.read_text(encoding="utf-8")
    return text


def lay_out_documents(source, folder):
    """The manual and the references; figures and the like beside them."""
    shutil.copytree(
        source / "docs", folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("man")
    )
    shutil.copy(source / "README.md", folder)
    if (source / "tools/monitoring").is_dir():
        shutil.copytree(source / "tools/monitoring", folder / "examples/monitoring")


def main():
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    source, manual, version, maintainer, output = sys.argv[1:]
    source, manual, output = pathlib.Path(source), pathlib.Path(manual), pathlib.Path(output)
    shutil.rmtree(output, ignore_errors=True)
    for folder in ("man", "overrides"):
        (output / folder).mkdir(parents=True)
    for page in manual.iterdir():
        compressed(page.read_bytes(), output / "man" / f"{page.name}.gz")
    for package in PACKAGES:
        folder = output / package
        folder.mkdir()
        (folder / "copyright").write_text(copyright_of(package), encoding="utf-8")
        compressed(changelog(version, maintainer).encode(), folder / "changelog.gz")
        overrides = OVERRIDES.format(package=package)
        (output / "overrides" / package).write_text(overrides, encoding="utf-8")
    lay_out_documents(source, output / "mgw-doc")
    for path in output.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)


if __name__ == "__main__":
    main()
