"""The manual page and the completion of bash know each command and option that --help names, and no more."""

import os
import re
import subprocess
import unittest

PROGRAM = "nfsclient/cli/nfswalk"
PAGE = "docs/man/nfswalk.1"
COMPLETION = "docs/completion/nfswalk.bash"
# Matches an option at its declaration in a help text.
OPTION = re.compile(r"(?:^|,)\s*(--?[A-Za-z0-9][A-Za-z0-9-]*)")


def output(*command, **arguments):
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60, **arguments)
    return run.stdout, run.stderr


def commands():
    text, _ = output(PROGRAM, "--help")
    block = text.split("Subcommands:\n")[1].split("\n\n")[0]
    return re.findall(r"^  (\w+) ", block, re.MULTILINE)


def options(command):
    text, _ = output(PROGRAM, command, "--help")
    block = text.split("Options:\n")[1].split("\n\n")[0]
    found = set()
    for line in block.splitlines():
        if re.match(r"  -", line):
            declaration = line[2:].split(" ")[0]
            found.update(OPTION.findall(declaration))
    return found


def page_text():
    text, _ = output("groff", "-man", "-Tascii", "-P-c", "-P-b", "-P-u", "-rLL=100n", PAGE)
    return text


def section_of(text, command):
    """What the page says about one command."""
    return re.search(rf"\n   {command}\n(.*?)\n(?=   ?\w|\w)", text, re.DOTALL).group(1)


def completed(*words):
    """What bash proposes for the last of `words`, as it would split them."""
    script = (f"source {COMPLETION}; COMP_WORDS=(nfswalk \"$@\"); COMP_CWORD=$#; _nfswalk; "
              "printf '%s\\n' \"${COMPREPLY[@]}\"")
    text, errors = output("bash", "-uc", script, "bash", *words)
    assert not errors, errors
    return set(text.split())


class Manual(unittest.TestCase):
    def test_the_page_has_no_mistakes_of_form(self):
        _, warnings = output("groff", "-man", "-Tutf8", "-wall", "-z", PAGE)
        self.assertEqual(warnings, "")

    def test_each_command_has_a_section(self):
        self.assertGreater(len(commands()), 8)
        text = page_text()
        for command in commands():
            self.assertTrue(section_of(text, command), command)

    def test_each_option_stands_where_its_command_does(self):
        text = page_text()
        for command in commands():
            known = text.split("COMMANDS\n")[0] + section_of(text, command)
            for option in options(command):
                self.assertRegex(known, rf"(?<![\w-]){option}(?![\w-])", f"{command} {option}")

    def test_the_page_names_no_option_that_is_not_there(self):
        everything = set().union(*(options(command) for command in commands()))
        named = set(re.findall(r"(?<![\w-])(--[a-z][a-z0-9-]*)", page_text()))
        self.assertEqual(named - everything, set())

    def test_each_exit_code_is_there(self):
        text, _ = output(PROGRAM, "--help")
        codes = re.findall(r"^  (\d)  ", text.split("Exit codes:\n")[1], re.MULTILINE)
        status = page_text().split("EXIT STATUS\n")[1].split("ENVIRONMENT\n")[0]
        self.assertEqual(re.findall(r"^ +(\d) +\w", status, re.MULTILINE), codes)


class Completion(unittest.TestCase):
    def test_commands_are_those_of_the_help_text(self):
        self.assertEqual(completed(""), set(commands()) | {"--help"})
        self.assertEqual(completed("re"), {"readlink"})

    def test_options_are_those_of_the_help_text(self):
        for command in commands():
            proposed = completed(command, "-")
            if command == "find":  # spelled as in find(1), too
                proposed = {word for word in proposed if not re.match(r"-[a-z]{2}", word)}
            self.assertEqual(proposed, options(command), command)

    def test_find_has_both_spellings(self):
        self.assertEqual(completed("find", "-maxd"), {"-maxdepth"})
        self.assertEqual(completed("find", "--maxd"), {"--maxdepth"})

    def test_values_are_proposed_where_they_are_few(self):
        self.assertEqual(completed("ls", "--color", "a"), {"auto", "always"})
        self.assertEqual(completed("ls", "--color", "=", "n"), {"never"})
        self.assertEqual(completed("ls", "--color", "="), {"auto", "always", "never"})
        self.assertEqual(completed("find", "-type", ""), set("fdlbcps"))
        self.assertEqual(completed("find", "--size", ""), set())

    def test_a_url_comes_first_and_local_files_where_cp_wants_them(self):
        self.assertEqual(completed("ls", ""), {"nfs://"})
        self.assertEqual(completed("cat", "nf"), {"nfs://"})
        url = ("nfs", ":", "//server/export")
        self.assertEqual(completed("cat", *url, ""), set())
        self.assertEqual(completed("cp", *url, "x", "docs/man/nf"), {PAGE})


if __name__ == "__main__":
    # The working directory of a Bazel test is its runfiles.
    os.environ["LC_ALL"] = "C.UTF-8"
    unittest.main()
