"""What the rules see of a source file: C++ without comments and literals, and where functions are."""

import ast
import re

# In this order: a raw string may hold what looks like a comment, a comment what looks like a string.
_TOKEN = re.compile(
    r'R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'"
    r"|//(?:\\\n|[^\n])*"
    r"|/\*.*?\*/",
    re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
_ATTRIBUTE = re.compile(r"\balignas\s*\([^()]*(?:\([^()]*\))?[^()]*\)|\[\[.*?\]\]", re.DOTALL)
_TYPE_HEAD = re.compile(r"\b(?:class|struct|union)\b[^()]*$")
_NAMESPACE_HEAD = re.compile(r'\b(?:namespace\b[^()]*|extern\s*)$')


def _blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def cxx_code(text):
    """`text` with comments and literals as blanks: the same lines and columns."""
    return _TOKEN.sub(_blank, text)


def _opens(head):
    """What a '{' behind `head` begins, at namespace or class level."""
    head = _ATTRIBUTE.sub("", head)
    if _NAMESPACE_HEAD.search(head) or _TYPE_HEAD.search(head):
        return "scope"
    return "function" if "(" in head else "data"


def cxx_functions(text):
    """[(first line, last line)] of function bodies and their heads, outermost ones alone."""
    code = _DIRECTIVE.sub(_blank, cxx_code(text))
    found, stack, head_at = [], [], 0
    for match in re.finditer(r"[{};]", code):
        symbol, at = match.group(), match.start()
        inside = bool(stack) and stack[-1][0] != "scope"
        if symbol == "{":
            stack.append(("inner" if inside else _opens(code[head_at:at]), head_at))
        elif symbol == "}" and stack:
            kind, start = stack.pop()
            # Braces in a constructor's initializers: the function goes on.
            goes_on = re.match(r"\s*[,{]", code[at + 1:at + 200])
            if kind == "function" and goes_on:
                continue
            if kind == "function":
                start += len(code[start:at]) - len(code[start:at].lstrip())
                found.append((code.count("\n", 0, start) + 1, code.count("\n", 0, at) + 1))
        if not stack or stack[-1][0] == "scope":
            head_at = at + 1
    return found


def python_functions(text):
    """[(first line, last line)] of every def."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [(node.lineno, node.end_lineno) for node in ast.walk(ast.parse(text))
            if isinstance(node, kinds)]
