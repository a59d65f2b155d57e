"""Makes a manual page of its template and of what the program itself says of its options.

usage: manual_page.py TEMPLATE PROGRAM VERSION OUTPUT

In the template @OPTIONS@ becomes the options of `PROGRAM --help`, @SUBCOMMANDS@ its subcommands
with theirs, @KEYS@ what PROGRAM prints, @VERSION@ and @DATE@ what their names say. The date is that
of SOURCE_DATE_EPOCH, if that is set. OUTPUT may end in .gz.
"""

import datetime
import gzip
import os
import re
import subprocess
import sys

# CLI11 puts descriptions into this column, or onto a line of their own.
DESCRIPTION_COLUMN = 30
# A name, what it takes, in which limits, and the description.
LISTED = re.compile(
    r"^  (\S+(?: [A-Z]+(?::\S+(?: in \[[^]]*\])?)?)?(?: \.\.\.)?(?: REQUIRED)?)(?: +(.*))?$"
)


class Entry:
    """An option, argument or subcommand as --help lists it."""

    def __init__(self, name, description):
        self.name, self.description = name, description


def read_help(program, *subcommand):
    """Dictionary of the lists in `PROGRAM SUBCOMMAND --help`: heading to entries."""
    text = subprocess.run(
        [program, *subcommand, "--help"], capture_output=True, text=True, check=True
    ).stdout
    lists, heading = {}, ""
    for line in text.splitlines():
        if not line.startswith(" "):
            heading = line.rstrip(":")
            continue
        if line.startswith(" " * DESCRIPTION_COLUMN):
            entry = lists[heading][-1]
            entry.description = f"{entry.description} {line.strip()}".strip()
        else:
            match = LISTED.match(line)
            lists.setdefault(heading, []).append(Entry(match[1], match[2] or ""))
    return lists


def escaped(text):
    text = text.replace("\\", "\\e")
    return f"\\&{text}" if text.startswith((".", "'")) else text


def sentence(text):
    return text if not text or text[-1] in ".:" else f"{text}."


def option_head(name):
    """'-e,--endpoint TEXT:{a,b}' as mdoc, and remarks about what it takes."""
    names, _, value = name.partition(" ")
    required = "REQUIRED" in value
    kind, _, limits = value.replace("REQUIRED", "").partition(":")
    head = " , ".join(f"Fl {flag[1:]}".replace("Fl -", "Fl \\-") for flag in names.split(","))
    kind = kind.split(" ")[0].lower()
    # "UINT in [1 - 9]" and "{even,random}" say more than the kind does, "FILE" does not.
    limits = limits.strip().removeprefix(kind.upper()).strip()
    remarks = []
    if limits[:2] == "in":
        remarks.append(f"From {limits[4:-1].replace(' - ', ' to ')}.")
    elif limits[:1] == "{":
        remarks.append(f"One of {limits[1:-1].replace(',', ', ')}.")
    if required:
        remarks.append("Required.")
    return head + (f" Ar {kind}" if kind else ""), remarks


def listed(entries, head):
    lines = [".Bl -tag -width Ds"]
    for entry in entries:
        title, remarks = head(entry.name)
        lines += [f".It {title}", escaped(sentence(entry.description)), *map(escaped, remarks)]
    return [*lines, ".El"]


def options(lists):
    """All lists but those of subcommands and arguments; --help stands for itself."""
    lines = []
    for heading, entries in lists.items():
        if heading not in ("Subcommands", "Positionals"):
            lines += listed(entries, option_head)
    return lines


def subcommands(program):
    lines = []
    for entry in read_help(program)["Subcommands"]:
        lists = read_help(program, entry.name)
        lines += [f".Ss {entry.name}", escaped(sentence(entry.description))]
        if "Positionals" in lists:
            lines += listed(lists["Positionals"], lambda name: (f"Ar {name.split(' ')[0]}", []))
        own = [option for option in lists["Options"] if "--help" not in option.name]
        if own:
            lines += options({"Options": own})
    return lines


def build_date():
    seconds = os.environ.get("SOURCE_DATE_EPOCH")
    if seconds:
        return datetime.datetime.fromtimestamp(int(seconds), datetime.timezone.utc)
    return datetime.datetime.now(datetime.timezone.utc)


def page(template, program, version):
    with open(template, encoding="utf-8") as source:
        text = source.read()
    parts = {
        "@OPTIONS@": lambda: "\n".join(options(read_help(program))),
        "@SUBCOMMANDS@": lambda: "\n".join(subcommands(program)),
        "@KEYS@": lambda: subprocess.run(
            [program], capture_output=True, text=True, check=True
        ).stdout.rstrip(),
        "@VERSION@": lambda: version,
        "@DATE@": lambda: f"{build_date():%B %-d, %Y}",
    }
    for mark, part in parts.items():
        if mark in text:
            text = text.replace(mark, part())
    return text


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    template, program, version, output = sys.argv[1:]
    text = page(template, program, version).encode()
    if output.endswith(".gz"):
        text = gzip.compress(text, 9, mtime=0)
    with open(output, "wb") as target:
        target.write(text)


if __name__ == "__main__":
    main()
