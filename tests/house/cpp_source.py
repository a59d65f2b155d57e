"""A rough reading of C++ source: what is code and what is not, which functions and types there are.

Good enough for rules about length and comments in code that clang-format has laid out; no compiler.
"""

import re
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)"'
    r'|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'',
    re.DOTALL,
)
_ACCESS = ("public", "protected", "private")
_TYPE_HEAD = re.compile(
    r"^(?:template\s*<.*>\s*)?(?:typedef\s+)?(class|struct|union|enum(?:\s+(?:class|struct))?)\b"
    r"\s*(?:\[\[.*?\]\]\s*)?(?:alignas\s*\([^)]*\)\s*)?(?P<name>[\w:]*)"
)
_NOT_DECLARED_HERE = re.compile(r"^(friend|using\s+\w+::|typedef|static_assert|extern|namespace)\b")


def _blank(text):
    """The same number of lines and columns, without letters."""
    return re.sub(r"[^\n]", " ", text)


def without_comments(text, keep_strings=False):
    """`text` with comments (and the contents of literals) replaced by blanks."""

    def replace(match):
        token = match.group(0)
        if token.startswith(("//", "/*")):
            return _blank(token)
        if keep_strings:
            return token
        return token[0] + _blank(token[1:-1]) + token[-1]

    return _TOKEN.sub(replace, text)


def _without_preprocessor(code):
    return re.sub(
        r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*",
        lambda match: _blank(match.group(0)),
        code,
        flags=re.MULTILINE,
    )


def _without_template_arguments(head):
    previous = None
    while previous != head:
        previous = head
        head = re.sub(r"<[^<>;{}]*>", lambda match: " " * len(match.group(0)), head)
    return head


@dataclass
class Declaration:
    """A type or function that a header offers to others."""

    name: str
    kind: str
    first_line: int
    last_line: int
    is_member: bool = False


@dataclass
class Function:
    """A function with a body; lines are counted from 1."""

    name: str
    first_line: int
    last_line: int


@dataclass
class _Scope:
    kind: str  # file, namespace, hidden, type, enum, function, other
    name: str = ""
    first_line: int = 1
    access: str = "public"
    parentheses: int = 0  # what the scope interrupted: open parentheses and the statement so far
    head: str = ""
    head_line: int = 0


@dataclass
class Reading:
    functions: list = field(default_factory=list)
    declarations: list = field(default_factory=list)


class _Reader:
    def __init__(self, text):
        self._code = _without_preprocessor(without_comments(text))
        self._scopes = [_Scope("file")]
        self._result = Reading()
        self._head = ""
        self._head_line = 0
        self._line = 1
        self._parentheses = 0

    def read(self):
        for character in self._code:
            if character == "\n":
                self._line += 1
            self._step(character)
        return self._result

    def _step(self, character):
        if character == "{":
            self._open()
        elif character == "}":
            self._close()
        elif character == ";" and self._parentheses == 0:
            self._declare("declaration")
            self._clear()
        elif character == ":" and self._head.strip() in _ACCESS:
            self._scopes[-1].access = self._head.strip()
            self._clear()
        else:
            if character in "()":
                self._parentheses = max(0, self._parentheses + (1 if character == "(" else -1))
            if not self._head.strip() and not character.isspace():
                self._head_line = self._line
            self._head += character

    def _clear(self):
        self._head = ""
        self._head_line = self._line

    def _open(self):
        head = " ".join(self._head.split())
        parent = self._scopes[-1]
        kind, name = self._classify(head, parent)
        if kind in ("type", "enum", "function"):
            self._declare("definition")
        if self._parentheses:
            kind = "other"
        access = "private" if kind == "type" and re.search(r"\bclass\b", head) else "public"
        first_line = self._head_line if head else self._line
        interrupted = (self._parentheses, self._head, self._head_line)
        self._scopes.append(_Scope(kind, name, first_line, access, *interrupted))
        self._parentheses = 0
        self._clear()

    def _classify(self, head, parent):
        if re.match(r"^(inline\s+)?namespace\b", head):
            name = head.split("namespace", 1)[1].strip()
            hidden = not name or name.endswith(("detail", "internal")) or parent.kind == "hidden"
            return ("hidden" if hidden else "namespace"), name
        if head.startswith("extern") and "(" not in head:
            return "namespace", ""
        type_head = _TYPE_HEAD.match(head)
        if type_head and not re.search(r"\)\s*(const|noexcept|override|final|\s)*$", head):
            return ("enum" if "enum" in type_head.group(1) else "type"), type_head.group("name")
        if parent.kind in ("file", "namespace", "hidden", "type"):
            if "(" in head and not head.endswith(("=", ",", "(")):
                return "function", _function_name(head)
            if head.startswith(",") or not head:
                return "function", ""
        return "other", ""

    def _close(self):
        if len(self._scopes) == 1:
            return
        scope = self._scopes.pop()
        if scope.kind == "function" and scope.name:
            self._result.functions.append(Function(scope.name, scope.first_line, self._line))
        self._parentheses = scope.parentheses
        if scope.kind == "other":  # an initialiser or lambda: the statement goes on
            self._head = scope.head + "{}"
            self._head_line = scope.head_line
        else:
            self._clear()

    def _declare(self, form):
        for scope in self._scopes:
            if scope.kind not in ("file", "namespace", "type") or scope.access != "public":
                return
        declaration = _declared(" ".join(self._head.split()), form, self._scopes[-1])
        if declaration:
            kind, name = declaration
            self._result.declarations.append(
                Declaration(name, kind, self._head_line, self._line, scope.kind == "type")
            )


def _function_name(head):
    plain = _without_template_arguments(head)
    match = re.search(r"([\w:~]+|operator\s*\S+)\s*\(", plain)
    return match.group(1) if match else ""


def _declared(head, form, scope):
    """(kind, name) if the head declares something that needs a comment, else None."""
    if not head or _NOT_DECLARED_HERE.match(head):
        return None
    type_head = _TYPE_HEAD.match(head)
    if type_head and "(" not in head:
        specialises_std = type_head.group("name").startswith("std::")
        is_new = form == "definition" and not specialises_std
        return ("type", type_head.group("name")) if is_new else None
    alias = re.match(r"^(?:template\s*<.*>\s*)?using\s+(\w+)\s*=", head)
    if alias:
        return ("type", alias.group(1)) if scope.kind == "namespace" else None
    plain = _without_template_arguments(head)
    before_parenthesis = plain.split("(", 1)[0]
    if "(" not in plain or "=" in before_parenthesis.replace("operator", "").replace("==", ""):
        return None
    name = _function_name(head)
    if not name or "operator" in plain or "~" in name or name.isupper():
        return None
    if re.search(r"\(\s*\*", plain):
        return None  # a pointer to a function, which is a field
    if "::" in name:
        return None  # a member that is defined behind its class, where its comment stands
    if re.search(r"=\s*(default|delete)$", plain) or re.search(r"\)\s*[^)]*\boverride\b", plain):
        return None
    if scope.kind == "type" and name == scope.name.split("::")[-1]:
        return None  # a constructor: the comment of its type says what it makes
    return "function", name


def read(text):
    """The functions with bodies, and the declarations that are public, of a source text."""
    return _Reader(text).read()
